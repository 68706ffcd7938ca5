"""What cannot be served, by our own checks and by what Envoys say."""

import asyncio

import pytest
from tests.component.operators.discoveryservice.config.conftest import Serving, clusters
from tests.support.envoy.resources import cluster, routes

from certwright.kube import JsonObject
from certwright.kube.kinds import Pod
from certwright.xds.typeurls import CLUSTER

BROKEN = [
    ([{"type": "cluster", "value": {"nme": "x"}}], "spec.resources[0].value.nme: envoy.config.cluster.v3.Cluster has no such field"),
    (clusters(cluster("a", connect_timeout="-1s")), "spec.resources[0].value.connect_timeout: must be greater than 0s"),
    ([{"type": "route", "value": routes("r", "gone")}], "spec.resources[0].value.virtual_hosts[0].routes[0].route.cluster: there is no cluster 'gone'"),
    (clusters(cluster("a", transport_socket={"name": "t", "typed_config": {"@type": "x/y.Z"}})), "spec.resources[0].value.transport_socket.typed_config.@type: is not a type of this schema"),
]  # fmt: skip


@pytest.mark.parametrize(("resources", "problem"), BROKEN)
async def test_what_does_not_fit_the_schema_is_tainted_and_the_last_stays_served(
    serving: Serving, resources: list[JsonObject], problem: str
) -> None:
    await serving.create(resources=clusters(cluster("good")))
    await serving.settle()
    good = (await serving.config()).status.desired_version
    await serving.change(resources=resources)
    await serving.settle()
    config = await serving.config()
    assert serving.names() == {"Cluster": {"good"}}
    assert config.status.cache_state == "Rollback"
    assert config.status.published_version == good
    status, reason, message = (await serving.conditions())["CacheOutOfSync"]
    assert (status, reason) == ("True", "CantPublishDesiredVersion")
    assert problem in message
    tainted = (await serving.revisions())[config.status.desired_version]
    assert tainted.status.tainted is True
    [condition] = [one for one in tainted.status.conditions if one.type == "RevisionTainted"]
    assert (condition.reason, condition.message) == ("FailedLoadingResources", problem)
    assert (await serving.conditions())["RollbackFailed"][0] == "False"


async def test_if_the_first_version_does_not_fit_nothing_is_served(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a", connect_timeout="-1s")))
    await serving.settle()
    assert serving.snapshot() is None
    status, reason, _ = (await serving.conditions())["RollbackFailed"]
    assert (status, reason) == ("True", "AllRevisionsTainted")
    await serving.change(resources=clusters(cluster("a")))
    await serving.settle()
    assert serving.names() == {"Cluster": {"a"}}
    assert (await serving.conditions())["RollbackFailed"][0] == "False"


def refusing(name: str) -> object:
    def verdict(url: str, names: frozenset[str]) -> str:
        return f"cluster {name}: no" if url == CLUSTER and name in names else ""

    return verdict


@pytest.mark.scenario("DS-64")
async def test_a_version_that_envoys_reject_is_rolled_back(serving: Serving) -> None:
    """Exactly that version is marked, its message is in the status, and others keep InSync."""
    await serving.create(resources=clusters(cluster("good")))
    await serving.create("other", resources=clusters(cluster("bad")))
    await serving.settle()
    good = (await serving.config()).status.desired_version
    serving.envoy("10.0.0.1:7", verdict=refusing("bad"))  # type: ignore[arg-type]
    serving.envoy("10.0.0.2:7", "other")
    await serving.change(resources=clusters(cluster("good"), cluster("bad")))
    await serving.settle()
    await asyncio.sleep(30)
    await serving.settle()
    config = await serving.config()
    bad = config.status.desired_version
    revisions = await serving.revisions()
    assert revisions[bad].status.tainted is True
    assert revisions[good].status.tainted is not True
    assert config.status.cache_state == "Rollback"
    assert config.status.published_version == good
    assert serving.names() == {"Cluster": {"good"}}
    [rejection] = config.status.rejections
    assert (rejection.envoy, rejection.type, rejection.version, rejection.message) == (
        "10.0.0.1:7",
        "Cluster",
        bad,
        "cluster bad: no",
    )
    assert "cluster bad: no" in (await serving.conditions())["CacheOutOfSync"][2]
    assert [(one.version, one.envoys) for one in config.status.envoys] == [(good, 1)]
    other = await serving.config("other")
    assert other.status.cache_state == "InSync"
    assert not other.status.rejections


async def test_a_rejection_names_the_pod_of_its_envoy(serving: Serving) -> None:
    for name, address in (("web", "10.0.0.1"), ("one", "10.0.0.2"), ("two", "10.0.0.2")):
        await serving.cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": name},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            }
        )
        status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
        await serving.cluster.patch(Pod, name, {"status": status}, subresource="status")
    await serving.create(resources=clusters(cluster("good")))
    await serving.settle()
    for address in ("10.0.0.1:7", "10.0.0.2:7", "10.0.0.3:7"):
        serving.envoy(address, verdict=refusing("bad"))  # type: ignore[arg-type]
    await serving.change(resources=clusters(cluster("bad")))
    await serving.settle()
    await asyncio.sleep(30)
    await serving.settle()
    config = await serving.config()
    assert {one.envoy for one in config.status.rejections} == {
        "web (10.0.0.1:7)",
        "10.0.0.2:7",  # of two, which share the address of their node
        "10.0.0.3:7",
    }
    assert "web (10.0.0.1:7) rejected Cluster" in (await serving.conditions())["CacheOutOfSync"][2]


async def test_a_version_that_one_envoy_accepts_is_kept(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("good")))
    await serving.settle()
    serving.envoy("a", verdict=refusing("bad"))  # type: ignore[arg-type]
    serving.envoy("b")
    await serving.change(resources=clusters(cluster("bad")))
    await serving.settle()
    await asyncio.sleep(30)
    await serving.settle()
    config = await serving.config()
    assert config.status.cache_state == "InSync"
    assert serving.names() == {"Cluster": {"bad"}}
    assert [one.envoy for one in config.status.rejections] == ["a"]


async def test_a_client_that_rejects_everything_gets_each_version_once(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a")))
    await serving.settle()
    envoy = serving.envoy(verdict=lambda _type, _names: "no")
    await asyncio.sleep(60)
    await serving.settle()
    assert envoy.answers == 2, "one of clusters, one of listeners"
    config = await serving.config()
    assert config.status.cache_state == "RollbackFailed"
    assert serving.names() == {"Cluster": {"a"}}, "the last stays served"


async def test_a_thousand_envoys_take_a_version_with_few_writes(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a")))
    await serving.settle()
    for number in range(1000):
        serving.envoy(f"e{number}")
    await asyncio.sleep(30)
    await serving.settle()
    await serving.change(resources=clusters(cluster("b")))
    calls = await serving.settle()
    writes = calls.writes
    await asyncio.sleep(60)
    writes += (await serving.settle()).writes
    config = await serving.config()
    assert [(one.version, one.envoys) for one in config.status.envoys] == [
        (config.status.desired_version, 1000)
    ]
    assert writes <= 6


async def test_envoys_of_another_replica_have_a_say(serving: Serving) -> None:
    """Each replica knows its own Envoys only; what one of them took is not given up."""
    other = Serving(serving.cluster)
    await serving.create(resources=clusters(cluster("good")))
    await serving.settle()
    await serving.cluster.settle(other.standby("second"))
    serving.envoy("a", verdict=refusing("bad"))  # type: ignore[arg-type]
    taking = other.envoy("b")
    await serving.change(resources=clusters(cluster("bad")))
    await serving.settle()
    await asyncio.sleep(90)
    await serving.settle()
    config = await serving.config()
    assert config.status.cache_state == "InSync"
    assert [one.envoy for one in config.status.rejections] == ["a"]
    taking.leave()
    other.envoy("c", verdict=refusing("worse"))  # type: ignore[arg-type]
    serving.envoy("d", verdict=refusing("worse"))  # type: ignore[arg-type]
    await serving.change(resources=clusters(cluster("bad"), cluster("worse")))
    await serving.settle()
    await asyncio.sleep(90)
    await serving.settle()
    config = await serving.config()
    assert config.status.cache_state == "Rollback"
    assert {one.envoy for one in config.status.rejections} >= {"c", "d"}
    assert other.names() == serving.names() == {"Cluster": {"bad"}}
