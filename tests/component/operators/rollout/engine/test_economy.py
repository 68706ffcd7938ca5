"""What restarts cost: calls, memory, and what is watched at all."""

import tracemalloc

import pytest
from tests.component.operators.rollout.engine.conftest import EmbeddedRolling
from tests.support.rollout import (
    ALLOWED,
    HOME,
    ISSUED,
    pair,
    pod_spec,
    restarts_in,
    secret_object,
    workload_object,
)

from certwright.kube import Key
from certwright.kube.kinds import ConfigMap, Deployment, PodDisruptionBudget, Secret
from certwright.kube.objects import exact_json
from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.dialects.redhat import RedhatDialect
from certwright.operators.rollout.dialects.restraint import QUIET
from certwright.operators.rollout.engine import contents
from certwright.operators.rollout.engine.consumers import CONSUMED, Consumers
from certwright.operators.rollout.engine.contents import DigestedContents
from certwright.operators.rollout.engine.views import COMPRESSION, ReducedWorkload
from certwright.operators.rollout.workload import SourceKind, SourceRef, WorkloadKind
from certwright.runtime.cache.decode import EntryDecoder
from certwright.runtime.cache.store import Store


@pytest.mark.scenario("CMD-82")
async def test_disabled_it_reads_no_secret(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.run(dialects=[])
    await rolling.renew()
    await rolling.wait()
    assert len(rolling.cluster.calls) == 0
    await rolling.embedded.stop()
    await rolling.run(dialects=[RedhatDialect()])
    watched = rolling.cluster.calls.by_kind
    assert watched["Secret"] > 0
    assert watched[ConfigMap.kind] == 0


async def test_metrics(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.run()
    await rolling.renew()
    await rolling.wait(2)
    text = await rolling.cluster.scrape()
    assert 'certwright_rollout_pending{reason="quiet-window"} 1.0' in text
    await rolling.wait()
    text = await rolling.cluster.scrape()
    assert 'certwright_rollout_pending{reason="quiet-window"} 0.0' in text
    assert 'certwright_rollout_restarts_total{dialect="redhat",outcome="restarted"} 1.0' in text
    assert 'certwright_rollout_restarts_total{dialect="redhat",outcome="recorded"} 1.0' in text
    assert 'certwright_rollout_delay_seconds_count{dialect="redhat"} 1.0' in text
    assert "certwright_rollout_next_certificate_expiry_timestamp_seconds 4.1" in text


KEY = DigestKey(b"k" * 32)
SECRET = SourceKind.SECRET


def grown(store: Store, objects: list[bytes]) -> int:
    """Return by how many bytes a store grows."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for raw in objects:
            store.upsert(store.decoder.entry(raw))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    return after - before


def test_secrets_that_no_workload_consumes_take_no_room() -> None:
    transform = DigestedContents(SourceKind.SECRET, KEY, lambda _: False)
    store = Store(EntryDecoder(Secret, transform=transform), keep=lambda _: False)
    store.keep_no_refused()
    template = secret_object("NAME", pair(1), ISSUED)
    objects = [exact_json(template).replace(b"NAME", b"s%d" % number) for number in range(500)]
    assert grown(store, objects) < 500 * 20
    assert len(store) == 0


def test_a_workload_takes_less_than_two_kilobytes() -> None:
    store = Store(EntryDecoder(Deployment, transform=ReducedWorkload(WorkloadKind.DEPLOYMENT)))
    long = {"command": ["/bin/sh"] * 50, "resources": {"limits": {"cpu": "1"}}, "ports": [{}] * 20}
    pod = pod_spec(["web-tls", "other"])
    pod["containers"][0] |= long
    template = workload_object("NAME", pod, annotations={"note": "x" * 100})
    template["metadata"]["namespace"] = "default"
    objects = [exact_json(template).replace(b"NAME", b"w%d" % number) for number in range(200)]
    assert grown(store, objects) < 200 * 1500
    assert store.get(Key("default", "w7")) is not None


def test_a_workload_with_two_secrets_takes_less_than_two_kilobytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # What is remembered as it was read last has an upper limit, and does not count.
    monkeypatch.setattr("certwright.operators.rollout.engine.consumers.RECENT", 0)
    kind = WorkloadKind.DEPLOYMENT
    consumers = Consumers([RedhatDialect()])
    workloads = Store(
        EntryDecoder(Deployment, transform=ReducedWorkload(kind), compression=COMPRESSION),
        indexes={CONSUMED: consumers.index(kind)},
    )
    consumers.stores[kind] = workloads
    digested = DigestedContents(SECRET, KEY, consumers.exist)
    secrets = Store(EntryDecoder(Secret, transform=digested, compression=contents.COMPRESSION))
    names = ["NAME-one", "NAME-two"]
    templates = [workload_object("NAME", pod_spec(names), annotations=ALLOWED)]
    templates += [secret_object(name, {"a": "1", "b": "2"}) for name in names]
    for template in templates:
        template["metadata"] |= {"namespace": "default", "uid": "u" * 36, "resourceVersion": "7"}
    made = [exact_json(template) for template in templates]

    def objects(which: int) -> list[bytes]:
        return [made[which].replace(b"NAME", b"w%d" % number) for number in range(500)]

    taken = grown(workloads, objects(0)) + grown(secrets, objects(1) + objects(2))
    assert consumers.exist(SourceRef(SECRET, "default", "w7-one"))
    assert len(workloads) + len(secrets) == 1500
    assert taken < 500 * 2000


async def test_secrets_of_others_cost_no_calls(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    await rolling.run()
    for number in range(50):
        await rolling.secret(f"other{number}")
    calls = await rolling.wait()
    assert len(calls) == 0
    assert restarts_in(calls) == []


PASSES = 'controller_runtime_reconcile_total{controller="rollout-deployment"'


async def passes(rolling: EmbeddedRolling) -> int:
    """Return how many passes over Deployments there were."""
    lines = (await rolling.cluster.scrape()).splitlines()
    return int(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(PASSES)))


async def two_secrets(rolling: EmbeddedRolling) -> int:
    """Run the operator with a workload of two Secrets; return how many passes that took."""
    for name in ("one", "two"):
        await rolling.secret(name)
    await rolling.workload(volumes=["one", "two"])
    await rolling.run()
    await rolling.rolled_out()
    await rolling.wait()
    return await passes(rolling)


async def test_secrets_renewed_together_take_one_pass_at_the_end_of_the_window(
    rolling: EmbeddedRolling,
) -> None:
    before = await two_secrets(rolling)
    await rolling.renew("one")
    await rolling.wait(0.05)
    await rolling.renew("two")
    await rolling.wait(1)
    assert await passes(rolling) - before == 0
    await rolling.wait()
    assert await rolling.restarts() == 1
    assert await passes(rolling) - before == 1  # and none for our own write


async def test_a_change_in_a_quiet_window_puts_its_end_off(rolling: EmbeddedRolling) -> None:
    before = await two_secrets(rolling)
    await rolling.renew("one")
    await rolling.wait(4)
    await rolling.renew("two")
    await rolling.wait(4)
    assert await rolling.restarts() == 0
    await rolling.wait(1.5)
    assert await rolling.restarts() == 1
    assert await passes(rolling) - before == 2
    [note] = await rolling.notes("PodRefresh")
    assert "Secret one" in note
    assert "Secret two" in note


async def test_each_of_many_workloads_takes_one_pass_and_one_write(
    rolling: EmbeddedRolling,
) -> None:
    names = [f"web{number}" for number in range(20)]
    for name in names:
        for which in ("one", "two"):
            await rolling.secret(f"{name}-{which}")
        await rolling.workload(name, volumes=[f"{name}-one", f"{name}-two"])
    await rolling.run()
    for name in names:
        await rolling.rolled_out(name)
    await rolling.wait()
    before = await passes(rolling)
    for which in ("one", "two"):
        for name in names:
            await rolling.renew(f"{name}-{which}")
    calls = await rolling.wait()
    assert sorted(restarts_in(calls)) == sorted(names)
    assert calls.by_kind[Deployment.kind] == len(names)
    assert calls.by_kind[Secret.kind] == 0
    assert await passes(rolling) - before == len(names)


async def test_a_source_written_with_the_same_contents_takes_no_pass(
    rolling: EmbeddedRolling,
) -> None:
    before = await two_secrets(rolling)
    await rolling.cluster.patch(Secret, "one", {"type": "Opaque", "immutable": False})
    await rolling.wait()
    assert await passes(rolling) == before


async def test_a_source_that_appears_takes_a_pass_at_once(rolling: EmbeddedRolling) -> None:
    await rolling.secret("one")
    await rolling.workload(volumes=["one", "two"])
    await rolling.run()
    await rolling.rolled_out()
    await rolling.wait()
    await rolling.renew("one")  # the quiet window has begun
    await rolling.wait(1)
    before = await passes(rolling)
    await rolling.secret("two")
    await rolling.wait(1)
    assert await passes(rolling) - before == 1


async def test_a_quiet_window_of_its_own_counts_from_the_change(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload(annotations={**ALLOWED, QUIET: "2s"})
    await rolling.run()
    await rolling.rolled_out()
    await rolling.wait()
    await rolling.renew()
    await rolling.wait(1.5)
    assert await rolling.restarts() == 0
    await rolling.wait(1)
    assert await rolling.restarts() == 1


async def test_a_status_at_rest_takes_no_pass_and_one_under_way_does(
    rolling: EmbeddedRolling,
) -> None:
    before = await two_secrets(rolling)
    condition = {"type": "Available", "status": "True", "reason": "Enough"}
    await rolling.status("web", conditions=[condition])
    await rolling.wait()
    assert await passes(rolling) == before
    await rolling.status("web", availableReplicas=0)
    await rolling.wait()
    assert await passes(rolling) == before + 1
    await rolling.rolled_out()
    await rolling.renew("one")
    await rolling.wait()
    assert await rolling.restarts() == 1
    restarted = await passes(rolling)
    await rolling.status("web", replicas=2, updatedReplicas=1)
    await rolling.wait()
    assert await passes(rolling) > restarted


async def test_budgets_wake_only_those_they_hold_back(rolling: EmbeddedRolling) -> None:
    before = await two_secrets(rolling)
    selector = {"matchLabels": {"app": "another"}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    await rolling.cluster.create({**budget, "spec": {"minAvailable": 1, "selector": selector}})
    for allowed in (0, 1, 0, 1):
        status = {"disruptionsAllowed": allowed, "currentHealthy": 1, "desiredHealthy": 1}
        patch = {"status": {**status, "expectedPods": 1}}
        await rolling.cluster.patch(PodDisruptionBudget, "b", patch, subresource="status")
        await rolling.wait()
    assert await passes(rolling) == before


async def test_of_one_namespace_only_what_is_in_it_is_watched(rolling: EmbeddedRolling) -> None:
    await rolling.secret()
    await rolling.workload()
    calls = await rolling.run(namespace=rolling.cluster.namespace)
    inside = f"/namespaces/{rolling.cluster.namespace}/"
    outside = [call for call in calls if call.verb == "watch" and inside not in call.path]
    assert {dict(call.query).get("fieldSelector") for call in outside} == {
        f"metadata.name={name}" for name in (rolling.cluster.namespace, HOME.name)
    }
    assert calls.by_kind["PodDisruptionBudget"] > 0
    await rolling.renew()
    await rolling.wait()
    assert await rolling.restarts() == 1
