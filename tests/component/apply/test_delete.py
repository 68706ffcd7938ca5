"""What a deletion takes, in which order, and what it says about what stays."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.component.apply.conftest import Bench, Toys

from certwright.apply import Action, DeleteRules, Live, ObjectRef, Owner
from certwright.kube import Conflict, Forbidden, JsonObject, Key, Resource
from certwright.kube.kinds import (
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    Namespace,
    PersistentVolumeClaim,
    Service,
)
from certwright.testkit.builders import config_map, deployment, job, namespace, stateful_set

FINALIZER = "example.com/hold"
MARK = "example.com/owner"
OURS = Owner(MARK, "ours")


async def release(bench: Bench, kind: Resource, name: str) -> None:
    await bench.cluster.patch(kind, name, {"metadata": {"finalizers": None}})


async def test_what_is_gone_costs_nothing_more(bench: Bench) -> None:
    await bench.apply(config_map("a"), config_map("b"))
    with bench.counted() as calls:
        changes = await bench.delete(config_map("a"), config_map("b"))
    assert bench.told(changes) == {"ConfigMap/a": "deleted", "ConfigMap/b": "deleted"}
    assert calls[0].writes == 2
    with bench.counted() as calls:
        changes = await bench.delete(config_map("a"), config_map("b"))
    assert {e.action for e in changes.entries} == {Action.UNCHANGED}
    assert calls[0].writes == 0
    assert changes.complete


async def test_exactly_what_was_looked_at_is_deleted(bench: Bench) -> None:
    await bench.apply(config_map("a"))
    await bench.delete(config_map("a"))
    request = next(r for r in bench.log.all() if r.verb == "delete")
    assert b'"uid":' in (request.body or b"")
    assert b'"resourceVersion":' in (request.body or b"")


async def test_a_kind_that_is_not_served_has_no_objects(bench: Bench, toy: Toys) -> None:
    changes = await bench.delete(toy("a"))
    assert changes.entries[0].action is Action.UNCHANGED


@pytest.mark.scenario("MR-67")
async def test_what_belongs_to_somebody_else_by_now_stays(bench: Bench) -> None:
    await bench.apply(config_map("a"), owner=Owner(MARK, "theirs"))
    changes = await bench.delete(config_map("a"), owner=OURS)
    assert changes.entries[0].action is Action.KEPT
    assert "belongs to theirs" in changes.entries[0].reason
    assert await bench.cluster.find(ConfigMap, "a") is not None


async def test_what_carries_no_mark_was_ours(bench: Bench) -> None:
    await bench.apply(config_map("a"))
    changes = await bench.delete(config_map("a"), owner=OURS)
    assert changes.entries[0].action is Action.DELETED


@pytest.mark.scenario("MR-56")
async def test_the_live_object_says_whether_it_is_kept(bench: Bench) -> None:
    def keep(_ref: ObjectRef, live: Live) -> str:
        return "it asks to be kept" if live.annotations.get("keep") == "true" else ""

    await bench.apply(config_map("a", annotations={"keep": "true"}), config_map("b"))
    changes = await bench.delete(config_map("a"), config_map("b"), rules=DeleteRules(keep=keep))
    assert bench.told(changes) == {"ConfigMap/a": "kept", "ConfigMap/b": "deleted"}
    assert await bench.cluster.find(ConfigMap, "a") is not None


@pytest.mark.scenario("MR-59")
async def test_what_lingers_says_what_holds_it_and_for_how_long(bench: Bench) -> None:
    await bench.apply(config_map("a", finalizers=[FINALIZER]))
    changes = await bench.delete(config_map("a"))
    entry = changes.entries[0]
    assert entry.action is Action.BLOCKED
    assert entry.reason.startswith(f"held by finalizer {FINALIZER} for ")
    with bench.counted() as calls:
        await bench.delete(config_map("a"))
    assert calls[0].writes == 0, "it was told to go already"
    await release(bench, ConfigMap, "a")
    assert (await bench.delete(config_map("a"))).complete


def patience(live: Live) -> timedelta:
    text = live.annotations["after"]
    if not text.isdecimal():
        raise ValueError(f"time: invalid duration {text!r}")
    return timedelta(seconds=int(text))


@pytest.mark.scenario("MR-60")
async def test_finalizers_are_cleared_after_a_while_and_not_before(
    embedded_bench: Bench, pass_time: Callable[[float], Awaitable[None]]
) -> None:
    bench = embedded_bench
    rules = DeleteRules(finalize_after=patience)
    await bench.apply(config_map("a", finalizers=[FINALIZER], annotations={"after": "3600"}))
    assert (await bench.delete(config_map("a"), rules=rules)).entries[0].action is Action.BLOCKED
    await pass_time(3599)
    assert (await bench.delete(config_map("a"), rules=rules)).entries[0].action is Action.BLOCKED
    await pass_time(1)
    changes = await bench.delete(config_map("a"), rules=rules)
    assert changes.entries[0].action is Action.DELETED
    assert FINALIZER in changes.entries[0].reason
    assert await bench.cluster.find(ConfigMap, "a") is None


@pytest.mark.scenario("MR-60")
async def test_finalizers_are_cleared_at_once_if_that_is_said(bench: Bench) -> None:
    """The same on every server, without the waiting: the first pass only deletes."""
    rules = DeleteRules(finalize_after=patience)
    await bench.apply(config_map("a", finalizers=[FINALIZER], annotations={"after": "0"}))
    assert (await bench.delete(config_map("a"), rules=rules)).entries[0].action is Action.BLOCKED
    assert (await bench.delete(config_map("a"), rules=rules)).entries[0].action is Action.DELETED
    assert await bench.cluster.find(ConfigMap, "a") is None


@pytest.mark.scenario("MR-60")
async def test_an_unclear_patience_is_told(bench: Bench) -> None:
    rules = DeleteRules(finalize_after=patience)
    await bench.apply(config_map("a", finalizers=[FINALIZER], annotations={"after": "bogus"}))
    await bench.delete(config_map("a"), rules=rules)
    entry = (await bench.delete(config_map("a"), rules=rules)).entries[0]
    assert entry.action is Action.BLOCKED
    assert "invalid duration 'bogus'" in entry.reason
    await release(bench, ConfigMap, "a")


@pytest.mark.scenario("MR-60")
async def test_a_namespace_is_finalized_too(bench: Bench) -> None:
    name = f"{bench.cluster.namespace}-held"
    held = namespace(name, finalizers=[FINALIZER], annotations={"after": "0"})
    await bench.apply_as_is(held)
    rules = DeleteRules(finalize_after=patience)
    await bench.delete_as_is(held, rules=rules)
    await bench.delete_as_is(held, rules=rules)
    await bench.cluster.gone(Namespace, name)


@pytest.mark.scenario("MR-60")
async def test_a_namespace_does_not_wait_for_stuck_content_for_ever(
    embedded_bench: Bench, pass_time: Callable[[float], Awaitable[None]]
) -> None:
    bench = embedded_bench
    stuck = config_map("c", finalizers=[FINALIZER], namespace="held")
    await bench.apply_as_is(namespace("held", annotations={"after": "60"}), stuck)
    rules = DeleteRules(finalize_after=patience)
    held = namespace("held")
    assert (await bench.delete_as_is(held, rules=rules)).entries[0].action is Action.BLOCKED
    await pass_time(59)
    entry = (await bench.delete_as_is(held, rules=rules)).entries[0]
    assert entry.action is Action.BLOCKED
    assert entry.reason.startswith("held by finalizer kubernetes for ")
    await pass_time(1)
    assert (await bench.delete_as_is(held, rules=rules)).entries[0].action is Action.DELETED
    assert await bench.cluster.find(Namespace, "held") is None


@pytest.mark.scenario("MR-61")
async def test_warnings_about_a_service_that_lingers_are_shown(bench: Bench) -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s", "finalizers": [FINALIZER]},
        "spec": {"ports": [{"port": 80}]},
    }
    await bench.apply(service)
    for number in range(7):
        await bench.cluster.create(warning(bench, number))
    reason = (await bench.delete(service)).entries[0].reason
    head, _, block = reason.partition("\n\n")
    assert head.startswith(f"held by finalizer {FINALIZER}")
    lines = block.splitlines()
    assert lines[0] == "-> Events:"
    assert len(lines) == 6
    assert lines[-1].startswith("* cloud reported ")
    assert lines[-1].endswith(": no quota 6")
    assert "(x3 over " in lines[-1]
    await release(bench, Service, "s")


def warning(bench: Bench, number: int) -> JsonObject:
    seen = f"2026-01-01T00:00:0{number}Z"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"e{number}"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Service",
            "name": "s",
            "namespace": bench.cluster.namespace,
        },
        "type": "Warning",
        "reason": "SyncLoadBalancerFailed",
        "message": f"no quota {number}",
        "source": {"component": "cloud"},
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": seen,
        "count": 3,
    }


def claiming(name: str) -> JsonObject:
    workload = stateful_set(name, replicas=0)
    requests = {"requests": {"storage": "1Gi"}}
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": requests},
    }
    workload["spec"]["volumeClaimTemplates"] = [claim]
    return workload


async def claims(bench: Bench) -> None:
    for name, app in (("data-s-0", "s"), ("data-other-0", "other")):
        claim = claiming("s")["spec"]["volumeClaimTemplates"][0]
        head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        metadata = {"name": name, "labels": {"app": app}}
        await bench.cluster.create({**head, "metadata": metadata, "spec": claim["spec"]})


async def remaining(bench: Bench) -> set[str]:
    """Return the claims nobody deleted; something may still hold those that were."""
    found = await bench.cluster.list(PersistentVolumeClaim)
    return {c["metadata"]["name"] for c in found if "deletionTimestamp" not in c["metadata"]}


@pytest.mark.scenario("MR-62")
@pytest.mark.parametrize("along", [True, False], ids=["along", "kept"])
async def test_claims_go_along_with_their_stateful_set_if_asked_to(
    bench: Bench, *, along: bool
) -> None:
    await bench.apply(claiming("s"))
    await claims(bench)
    await bench.delete(claiming("s"), rules=DeleteRules(claims=along))
    assert await remaining(bench) == {"data-other-0"} | (set() if along else {"data-s-0"})
    deleted = [(r.resource and r.resource.kind) for r in bench.log.all() if r.verb == "delete"]
    assert deleted == (["PersistentVolumeClaim", "StatefulSet"] if along else ["StatefulSet"])


async def test_claims_that_go_already_are_not_told_again(bench: Bench) -> None:
    await bench.apply(claiming("s"))
    await claims(bench)
    await bench.cluster.patch(
        PersistentVolumeClaim, "data-s-0", {"metadata": {"finalizers": [FINALIZER]}}
    )
    await bench.cluster.delete(PersistentVolumeClaim, "data-s-0")
    await bench.delete(claiming("s"), rules=DeleteRules(claims=True))
    deleted = [(r.resource and r.resource.kind) for r in bench.log.all() if r.verb == "delete"]
    assert deleted == ["StatefulSet"]
    await release(bench, PersistentVolumeClaim, "data-s-0")


@pytest.mark.scenario("MR-62")
async def test_trouble_with_claims_is_told(bench: Bench) -> None:
    await bench.apply(claiming("s"))

    async def forbidden(*_args: str | Resource, **_options: str) -> None:
        raise Forbidden("no")

    bench.direct.list = forbidden
    entry = (await bench.delete(claiming("s"), rules=DeleteRules(claims=True))).entries[0]
    assert entry.action is Action.FAILED
    assert entry.reason == "failed cleaning up PersistentVolumeClaims of StatefulSet: no"


@pytest.mark.scenario("MR-63")
async def test_dependents_of_workloads_go_first(bench: Bench) -> None:
    objects = [config_map("c"), deployment("d", replicas=0), job("j")]
    await bench.apply(*objects)
    await bench.delete(objects[1], objects[2])
    await bench.delete(objects[0])
    bodies: dict[Any, Any] = {
        (r.resource and r.resource.kind): r.body for r in bench.log.all() if r.verb == "delete"
    }
    assert b'"propagationPolicy":"Foreground"' in bodies["Deployment"]
    assert b'"propagationPolicy":"Foreground"' in bodies["Job"]
    assert b"propagationPolicy" not in bodies["ConfigMap"]


@pytest.mark.scenario("MR-65")
async def test_configuration_stays_until_who_uses_it_is_gone(bench: Bench) -> None:
    objects = [config_map("c"), deployment("d", replicas=0, finalizers=[FINALIZER])]
    await bench.apply(*objects)
    changes = await bench.delete(*objects)
    assert bench.told(changes) == {"Deployment/d": "blocked", "ConfigMap/c": "blocked"}
    assert "waits for Deployment" in changes.entries[1].reason
    assert await bench.cluster.find(ConfigMap, "c") is not None
    await release(bench, Deployment, "d")
    await bench.cluster.gone(Deployment, "d")
    await bench.delete(*objects)
    assert await bench.cluster.find(ConfigMap, "c") is None


@pytest.mark.scenario("MR-66")
async def test_custom_resources_go_before_their_definition(bench: Bench, toy: Toys) -> None:
    held = bench.placed({**toy("a")})
    held["metadata"]["finalizers"] = [FINALIZER]
    applied = await bench.apply_as_is(toy.crd(), held)
    assert bench.told(applied)["Toy/a"] == "created"
    changes = await bench.delete_as_is(toy.crd(), held)
    assert bench.told(changes)["Toy/a"] == "blocked"
    found = await bench.cluster.get(CustomResourceDefinition, toy.resource.qualified)
    assert "deletionTimestamp" not in found["metadata"]
    await release(bench, toy.resource, "a")
    changes = await bench.delete_as_is(toy.crd(), held)
    assert changes.entries[-1].ref.kind == "CustomResourceDefinition"
    assert await bench.cluster.find(toy.resource, "a") is None
    await bench.cluster.gone(CustomResourceDefinition, toy.resource.qualified)


async def test_a_failed_deletion_is_no_wait(bench: Bench) -> None:
    await bench.apply(config_map("a"))

    async def forbidden(*_args: Live | Resource, **_options: Any) -> None:
        raise Forbidden("you may not")

    bench.direct.delete = forbidden
    entry = (await bench.delete(config_map("a"))).entries[0]
    assert (entry.action, entry.reason) == (Action.FAILED, "you may not")


async def test_an_object_that_changed_meanwhile_is_looked_at_again(bench: Bench) -> None:
    """The second look is at the server: what a cache shows has just proved to be old."""
    await bench.apply(config_map("a"), config_map("b"))
    delete, read = bench.direct.delete, bench.direct.read
    cached = {}
    for name in ("a", "b"):
        key = bench.cluster.key(ConfigMap, name)
        cached[key] = await read(ConfigMap, key)
    turns = []

    async def late(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        return await read(resource, key) if fresh else cached[key]

    bench.direct.read = late

    async def changed(resource: Resource, live: Live, **options: Any) -> Any:
        name = live.metadata["name"]
        turns.append(name)
        if turns.count(name) == 1:
            mark = {"annotations": {MARK: "theirs"}} if name == "b" else {"labels": {"x": "y"}}
            await bench.cluster.patch(ConfigMap, name, {"metadata": mark})
        return await delete(resource, live, **options)

    bench.direct.delete = changed
    changes = await bench.delete(config_map("a"), config_map("b"), owner=OURS)
    assert bench.told(changes) == {"ConfigMap/b": "kept", "ConfigMap/a": "deleted"}


async def test_what_never_stops_changing_fails(bench: Bench) -> None:
    await bench.apply(config_map("a"))

    async def conflict(*_args: Live | Resource, **_options: Any) -> None:
        raise Conflict("changed")

    bench.direct.delete = conflict
    assert (await bench.delete(config_map("a"))).entries[0].action is Action.FAILED


async def test_a_dry_run_deletes_nothing(bench: Bench) -> None:
    await bench.apply(config_map("a"), deployment("d"))
    with bench.counted() as calls:
        changes = await bench.delete(config_map("a"), deployment("d"), dry_run=True)
    assert {e.action for e in changes.entries} == {Action.DELETED}
    assert calls[0].writes == 0
    assert await bench.cluster.find(ConfigMap, "a") is not None


async def test_an_object_unseen_is_looked_for_once(bench: Bench) -> None:
    """A cache of some objects may miss one that is still there; what we deleted is trusted."""
    await bench.apply(config_map("a", finalizers=[FINALIZER]))
    looks = []

    async def unseen(resource: Resource, key: Key, *, fresh: bool = False) -> Any:
        looks.append(fresh)
        return await type(bench.direct).read(bench.direct, resource, key) if fresh else None

    bench.direct.read = unseen
    bench.direct.sees_all = False
    assert (await bench.delete(config_map("a"))).entries[0].action is Action.BLOCKED
    assert looks == [False, True]
    looks.clear()
    assert (await bench.delete(config_map("a"))).entries[0].action is Action.UNCHANGED
    assert looks == [False]
    await bench.cluster.client.patch(
        ConfigMap, Key(bench.cluster.namespace, "a"), {"metadata": {"finalizers": None}}
    )
