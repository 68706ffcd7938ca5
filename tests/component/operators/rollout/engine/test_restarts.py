"""Workloads restart exactly once when the contents their pods consume change, and otherwise not."""

from base64 import b64decode

import orjson
import pytest
from tests.component.operators.rollout.engine.conftest import EmbeddedRolling
from tests.support.rollout import HOME, ISSUED, KINDS, pod_spec, restarts_in

from certwright.kube.kinds import ConfigMap, Deployment, Secret
from certwright.operators.rollout.dialects.ibm import CONFIG_MAP, DISABLE, OPT_IN
from certwright.operators.rollout.dialects.redhat import (
    ALLOW_RESTART,
    CONTENT_HASHES,
    RESOURCE_VERSIONS,
    TIME_RESTARTED,
)
from certwright.operators.rollout.policy import RECORD
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import namespace as namespace_object

POD_KINDS = ["Deployment", "StatefulSet", "DaemonSet"]


@pytest.mark.scenario("CMD-69")
@pytest.mark.parametrize("kind", POD_KINDS)
async def test_a_renewed_certificate_restarts_once(rolling: EmbeddedRolling, kind: str) -> None:
    await rolling.secret()
    await rolling.workload(kind=kind)
    await rolling.run()
    assert await rolling.restarts(kind=kind) == 0
    before = await rolling.annotations(kind=kind)
    await rolling.renew()
    calls = await rolling.wait()
    assert restarts_in(calls) == ["web"]
    assert await rolling.restarts(kind=kind) == 1
    after = await rolling.annotations(kind=kind)
    secret = await rolling.cluster.get(Secret, "web-tls")
    versions = orjson.loads(after[RESOURCE_VERSIONS])
    assert versions == {"web-tls": secret["metadata"]["resourceVersion"]}
    assert after[CONTENT_HASHES] != before[CONTENT_HASHES]
    assert after[RECORD] != before[RECORD]
    obj = await rolling.cluster.get(KINDS[kind], "web")
    label = obj["metadata"]["labels"][TIME_RESTARTED]
    assert obj["spec"]["template"]["metadata"]["labels"][TIME_RESTARTED] == label
    calls = await rolling.wait(minutes=60)
    assert calls.writes == 0


@pytest.mark.scenario("CMD-70")
@pytest.mark.parametrize("value", [None, "True", "1", "false", ""])
async def test_without_permission_nothing_happens(
    rolling: EmbeddedRolling, value: str | None
) -> None:
    await rolling.secret(annotations={"cert-manager.io/issuer-kind": ""})
    await rolling.workload(annotations=None if value is None else {ALLOW_RESTART: value})
    await rolling.workload("allowed")
    await rolling.run()
    await rolling.renew()
    calls = await rolling.wait()
    assert restarts_in(calls) == ["allowed"]
    assert await rolling.restarts() == 0
    assert not await rolling.record()


PODS = {
    "projected": pod_spec(volumes=[])
    | {"volumes": [{"name": "all", "projected": {"sources": [{"secret": {"name": "web-tls"}}]}}]},
    "env": {
        "containers": [
            {
                "name": "main",
                "image": "app",
                "env": [
                    {
                        "name": "KEY",
                        "valueFrom": {"secretKeyRef": {"name": "web-tls", "key": "tls.key"}},
                    }
                ],
            }
        ]
    },
    "envFrom": {
        "containers": [
            {"name": "main", "image": "app", "envFrom": [{"secretRef": {"name": "web-tls"}}]}
        ]
    },
    "init container": {
        "containers": [{"name": "main", "image": "app"}],
        "initContainers": [
            {"name": "init", "image": "app", "envFrom": [{"secretRef": {"name": "web-tls"}}]}
        ],
    },
}


@pytest.mark.scenario("CMD-71")
@pytest.mark.parametrize("way", sorted(PODS))
async def test_every_way_into_a_pod_counts(rolling: EmbeddedRolling, way: str) -> None:
    await rolling.secret()
    await rolling.workload(pod=PODS[way])
    await rolling.run()
    await rolling.renew()
    await rolling.wait()
    assert await rolling.restarts() == 1


@pytest.mark.scenario("CMD-72")
async def test_metadata_of_a_secret_restarts_nothing(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.run()
    change = {"metadata": {"annotations": {"a": "b"}, "labels": {"c": "d"}}}
    await rolling.cluster.patch(Secret, "web-tls", change)
    calls = await rolling.wait()
    assert calls.writes == 0
    assert await rolling.restarts() == 0


@pytest.mark.scenario("CMD-73")
async def test_a_restart_of_the_operator_restarts_what_changed_meanwhile(
    rolling: EmbeddedRolling,
) -> None:
    for name in ("a", "b", "c"):
        await rolling.secret(f"{name}-tls")
        await rolling.workload(name, [f"{name}-tls"])
    await rolling.run()
    calls = await rolling.restart()
    assert calls.writes == 0
    calls = await rolling.wait()
    assert calls.writes == 0
    await rolling.embedded.stop()
    await rolling.renew("b-tls")
    assert rolling.operator is not None
    await rolling.embedded.settle(rolling.operator)
    calls = await rolling.wait()
    assert restarts_in(rolling.embedded.calls) == ["b"]
    assert [await rolling.restarts(name) for name in ("a", "b", "c")] == [0, 1, 0]


@pytest.mark.scenario("CMD-74")
async def test_two_renewals_within_a_minute_leave_no_stale_pod(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.run()
    await rolling.renew(number=2)
    await rolling.wait(10)
    first = await rolling.record()
    await rolling.renew(number=3)
    await rolling.wait(10)
    assert await rolling.restarts() == 2
    second = await rolling.record()
    assert first != second
    await rolling.renew(number=4)
    await rolling.wait(2)
    await rolling.renew(number=5)
    await rolling.wait(10)
    assert await rolling.restarts() == 3
    assert await rolling.record() not in {first, second}


@pytest.mark.scenario("CMD-75")
async def test_two_secrets_of_a_workload_are_one_restart(rolling: EmbeddedRolling) -> None:
    await rolling.secret("one")
    await rolling.secret("two")
    await rolling.workload(volumes=["one", "two"])
    await rolling.run()
    await rolling.renew("one", 2)
    await rolling.wait(3)
    await rolling.renew("two", 3)
    calls = await rolling.wait(3)
    assert restarts_in(calls) == [], "the second renewal begins the quiet window anew"
    calls = await rolling.wait()
    assert restarts_in(calls) == ["web"]
    versions = orjson.loads((await rolling.annotations())[RESOURCE_VERSIONS])
    for name in ("one", "two"):
        live = await rolling.cluster.get(Secret, name)
        assert versions[name] == live["metadata"]["resourceVersion"]
    [note] = await rolling.notes("PodRefresh")
    assert "Secret one" in note
    assert "Secret two" in note
    assert await rolling.restarts() == 1


@pytest.mark.scenario("CMD-80")
async def test_a_secret_that_comes_back_with_other_contents(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.run()
    await rolling.cluster.delete(Secret, "web-tls")
    calls = await rolling.wait()
    assert calls.writes == 0
    await rolling.secret(number=1)
    await rolling.wait()
    assert await rolling.restarts() == 0
    await rolling.cluster.delete(Secret, "web-tls")
    await rolling.wait()
    await rolling.secret(number=2)
    await rolling.wait()
    assert await rolling.restarts() == 1


@pytest.mark.scenario("CMD-81")
async def test_secrets_of_others_do_not_count(rolling: EmbeddedRolling) -> None:
    await rolling.secret(annotations={})
    await rolling.workload()
    await rolling.run()
    await rolling.renew()
    calls = await rolling.wait()
    assert calls.writes == 0
    await rolling.cluster.patch(Secret, "web-tls", {"metadata": {"annotations": ISSUED}})
    await rolling.wait()
    assert await rolling.restarts() == 0
    await rolling.renew(number=3)
    await rolling.wait()
    assert await rolling.restarts() == 1


# IBM's operator


WATCHER = {CONFIG_MAP: "default/settings"}


@pytest.mark.scenario("CM-58")
async def test_a_changed_config_map_restarts_once(rolling: EmbeddedRolling) -> None:
    await rolling.config("settings", a="1")
    await rolling.workload(volumes=[], annotations=WATCHER, labels={OPT_IN: "true"})
    await rolling.run()
    await rolling.config("settings", a="2")
    calls = await rolling.wait()
    assert restarts_in(calls) == ["web"]
    await rolling.cluster.patch(ConfigMap, "settings", {"metadata": {"labels": {"x": "y"}}})
    calls = await rolling.wait()
    assert calls.writes == 0
    assert await rolling.restarts() == 1


@pytest.mark.scenario("CM-59")
async def test_two_changes_within_a_minute_end_with_the_latest(rolling: EmbeddedRolling) -> None:
    await rolling.config("settings", a="1")
    await rolling.workload(volumes=[], annotations=WATCHER, labels={OPT_IN: "true"})
    await rolling.run()
    await rolling.config("settings", a="2")
    await rolling.wait()
    first = await rolling.digest()
    await rolling.config("settings", a="3")
    await rolling.wait()
    assert await rolling.digest() != first
    assert await rolling.restarts() == 2


@pytest.mark.scenario("CM-60")
async def test_only_the_namespace_of_the_certificate_counts(rolling: EmbeddedRolling) -> None:
    await rolling.cluster.create(namespace_object("other"))
    for namespace in ("default", "other"):
        await rolling.secret(namespace=namespace)
        await rolling.workload(annotations=None, namespace=namespace)
    await rolling.workload("out", annotations={DISABLE: "true"})
    await rolling.run()
    await rolling.renew()
    await rolling.wait()
    names = ("web", "out", "other/web")
    assert [await rolling.restarts(name) for name in names] == [1, 0, 0]


@pytest.mark.scenario("CM-61")
@pytest.mark.parametrize("way", ["envFrom", "init container"])
async def test_env_from_and_init_containers_count(rolling: EmbeddedRolling, way: str) -> None:
    await rolling.secret()
    await rolling.workload(annotations=None, pod=PODS[way])
    await rolling.run()
    await rolling.renew()
    await rolling.wait()
    assert await rolling.restarts() == 1


# Beyond


async def test_events_and_annotations_never_show_contents(rolling: EmbeddedRolling) -> None:
    await rolling.secret(data={"password": "hunter2-hunter2"})
    await rolling.workload()
    await rolling.run()
    await rolling.renew(data={"password": "correct-horse"})
    await rolling.wait()
    assert await rolling.restarts() == 1
    workload = orjson.dumps(await rolling.cluster.get(Deployment, "web"))
    shown = workload + orjson.dumps(await rolling.events())
    for value in ("hunter2-hunter2", "correct-horse"):
        assert value.encode() not in shown


async def test_a_workload_that_comes_later_is_recorded_at_the_price_of_one_read(
    rolling: EmbeddedRolling,
) -> None:
    await rolling.secret()
    await rolling.run()
    await rolling.workload()
    calls = await rolling.wait()
    assert calls.reads == 1
    assert calls.writes == 1
    await rolling.renew()
    calls = await rolling.wait()
    assert calls.reads == 0
    assert await rolling.restarts() == 1


async def test_a_template_edit_is_recorded_and_restarts_nothing(rolling: EmbeddedRolling) -> None:
    await rolling.secret("one")
    await rolling.secret("two")
    await rolling.workload(volumes=["one"])
    await rolling.run()
    await rolling.cluster.patch(
        Deployment, "web", {"spec": {"template": {"spec": pod_spec(["two"])}}}
    )
    await rolling.wait()
    assert await rolling.restarts() == 0
    await rolling.renew("one", 3)
    calls = await rolling.wait()
    assert calls.writes == 0
    await rolling.renew("two", 3)
    await rolling.wait()
    assert await rolling.restarts() == 1


async def test_a_lost_key_is_made_again_and_restarts_nothing(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.run()
    first = await rolling.cluster.get(Secret, str(HOME))
    assert len(b64decode(first["data"]["key"])) == 32
    await rolling.cluster.delete(Secret, str(HOME))
    await rolling.wait()
    again = await rolling.cluster.get(Secret, str(HOME))
    assert again["data"] == first["data"]
    await rolling.embedded.stop()
    await rolling.cluster.delete(Secret, str(HOME))
    assert rolling.operator is not None
    await rolling.embedded.settle(rolling.operator)
    await rolling.wait()
    assert await rolling.restarts() == 0
    await rolling.renew()
    await rolling.wait()
    assert await rolling.restarts() == 1


async def test_a_cron_job_has_the_digest_in_its_template(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload(kind="CronJob")
    await rolling.run()
    await rolling.renew()
    await rolling.wait()
    assert await rolling.restarts(kind="CronJob") == 1


async def test_a_source_that_is_missing_is_read_once_at_most(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload(volumes=["web-tls", "missing"])
    await rolling.run()
    assert (await rolling.wait()).reads == 0  # all Secrets passed by when they were listed
    await rolling.workload("later", volumes=["web-tls", "other"])
    assert (await rolling.wait()).reads == 1
    await rolling.cluster.delete(Secret, "web-tls")
    await rolling.annotate("web", {"note": "look again"})
    await rolling.annotate("later", {"note": "look again"})
    assert (await rolling.wait()).reads == 0
    for name in ("web-tls", "missing", "other"):
        await rolling.secret(name, 2)
    calls = await rolling.wait()
    assert calls.reads == 0
    assert sorted(restarts_in(calls)) == ["later", "web"]


async def test_all_restarts_cost_one_write_each(embedded_cluster: EmbeddedCluster) -> None:
    rolling = EmbeddedRolling(embedded_cluster)
    for number in range(20):
        await rolling.secret(f"s{number}")
        await rolling.workload(f"w{number}", [f"s{number}"])
    await rolling.run()
    for number in range(20):
        await rolling.renew(f"s{number}", 2)
    calls = await rolling.wait()
    assert sorted(restarts_in(calls)) == sorted(f"w{number}" for number in range(20))
    assert calls.writes - len(calls.of("Event")) == 20
    assert calls.reads == 0
