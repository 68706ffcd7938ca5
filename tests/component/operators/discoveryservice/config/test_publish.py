"""From an EnvoyConfig to what Envoys are given."""

import asyncio

from tests.component.operators.discoveryservice.config.conftest import Serving, clusters
from tests.support.envoy.resources import cluster

from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.runtime import Manager


async def test_a_config_becomes_a_revision_and_is_served(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a")))
    await serving.settle()
    config = await serving.config()
    [revision] = (await serving.revisions()).values()
    assert revision.metadata.name == f"gateway-v3-{config.status.desired_version}"
    assert revision.metadata.labels["marin3r.3scale.net/node-id"] == "gateway"
    assert revision.status.published is True
    assert config.status.cache_state == "InSync"
    assert config.status.published_version == config.status.desired_version
    assert [one.version for one in config.status.revisions] == [revision.spec.version]
    assert serving.names() == {"Cluster": {"a"}}


async def test_at_rest_nothing_is_written_also_after_a_restart(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a")))
    await serving.settle()
    await asyncio.sleep(600)
    assert not (await serving.settle()).writes
    assert not (await serving.cluster.restart()).writes
    assert serving.names() == {"Cluster": {"a"}}


async def test_a_change_makes_a_new_revision(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a")))
    await serving.settle()
    first = (await serving.config()).status.desired_version
    await serving.change(resources=clusters(cluster("a"), cluster("b")))
    calls = await serving.settle()
    second = (await serving.config()).status.desired_version
    revisions = await serving.revisions()
    assert {version: one.status.published for version, one in revisions.items()} == {
        first: False,
        second: True,
    }
    assert serving.names() == {"Cluster": {"a", "b"}}
    assert calls.writes <= 5


async def test_a_version_that_was_before_is_served_from_its_revision(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a")))
    await serving.settle()
    await serving.change(resources=clusters(cluster("b")))
    await serving.settle()
    await serving.change(resources=clusters(cluster("a")))
    await serving.settle()
    assert serving.names() == {"Cluster": {"a"}}
    assert len(await serving.revisions()) == 2
    assert (await serving.config()).status.cache_state == "InSync"


async def test_ten_revisions_are_kept(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("c0")))
    for number in range(13):
        await serving.change(resources=clusters(cluster(f"c{number}")))
        await serving.settle()
        await asyncio.sleep(1)
    assert len(await serving.revisions()) == 10
    assert serving.names() == {"Cluster": {"c12"}}


async def test_with_the_config_goes_what_is_served(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a")))
    await serving.settle()
    await serving.cluster.delete(EnvoyConfig, "gateway")
    for name in await serving.cluster.names(EnvoyConfigRevision):
        await serving.cluster.gone(EnvoyConfigRevision, name)
    await serving.settle()
    assert serving.snapshot() is None


async def test_another_node_id_moves_the_configuration(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a")))
    await serving.settle()
    await serving.change(nodeID="other")
    await serving.settle()
    assert serving.snapshot() is None
    assert serving.names("other") == {"Cluster": {"a"}}


async def test_two_for_one_node_id_are_not_mixed(serving: Serving) -> None:
    await serving.create("first", node="n", resources=clusters(cluster("a")))
    await serving.settle()
    await asyncio.sleep(5)
    await serving.create("second", node="n", resources=clusters(cluster("b")))
    await serving.settle()
    assert serving.names("n") == {"Cluster": {"a"}}
    status, reason, message = (await serving.conditions("second"))["CacheOutOfSync"]
    assert (status, reason) == ("True", "NodeIDConflict")
    assert "EnvoyConfig first is older" in message
    assert (await serving.config("first")).status.cache_state == "InSync"
    await serving.cluster.delete(EnvoyConfig, "first")
    for name in await serving.cluster.names(EnvoyConfigRevision):
        await serving.cluster.gone(EnvoyConfigRevision, name)
    await serving.settle()
    assert serving.names("n") == {"Cluster": {"b"}}
    assert (await serving.config("second")).status.cache_state == "InSync"


async def test_a_revision_that_was_edited_is_not_served(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a")))
    await serving.settle()
    [name] = await serving.cluster.names(EnvoyConfigRevision)
    change = {"spec": {"resources": clusters(cluster("evil"))}}
    await serving.cluster.patch(EnvoyConfigRevision, name, change)
    await serving.settle()
    assert serving.names() == {"Cluster": {"a"}}
    status, _, message = (await serving.conditions())["RollbackFailed"]
    assert status == "True"
    assert "revisions are not to be edited" in message


async def test_a_replica_is_ready_when_it_serves_all_that_is_published(serving: Serving) -> None:
    await serving.create(resources=clusters(cluster("a")))
    await serving.settle()
    await serving.cluster.stop()
    fresh = Serving(serving.cluster)
    manager = Manager(
        serving.cluster.client, [fresh.standby("second")], clock=serving.cluster.clock
    )

    def problems() -> list[str]:
        return [one.problem for one in manager.readiness() if one.problem]

    assert "not all published revisions are served yet" in problems()
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await asyncio.sleep(5)
        assert problems() == []
        assert fresh.names() == {"Cluster": {"a"}}
        manager.stop()
