"""More that users do with ManagedResources, in combinations: several of them, others' objects, ends.

Each scenario is played under a few faults; a campaign (``--certwright-seeds``) plays it under all.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.support.faults.clocks import outlast_jumps
from tests.support.faults.resourcescenarios import (
    GIZMOS,
    HELD,
    LONG,
    MR,
    OURS,
    PASSING,
    PREFIX,
    add_to_steady,
    annotate,
    config,
    declare,
    done,
    gizmo,
    job,
    operator,
    rewrite,
    secret,
    survive,
    unit,
    watched,
)

from certwright.kube import JsonObject, Key, NotFound
from certwright.kube.kinds import (
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    Job,
    Namespace,
    Secret,
)
from certwright.managed import annotate as with_references
from certwright.managed import make_unique
from certwright.operators.garbagecollector import CollectorSettings, garbage_collector
from certwright.operators.managedresource import Configuration, resource_operator
from certwright.operators.managedresource.configuration import Controllers, GarbageCollectorSettings
from certwright.operators.tokenrequestor import token_requestor
from certwright.operators.tokenrequestor.request import ACCOUNT_NAME, ACCOUNT_NAMESPACE, PURPOSE
from certwright.runtime import Controller, Operator
from certwright.testkit import (
    EmbeddedCluster,
    break_each_watch,
    crash_after_every_write,
    delay_each_event,
    drop_each_event,
    lose_every_answer,
    refuse_every_write,
    repeat_each_event,
    simulate,
    stale_restart,
)
from certwright.testkit.builders import deployment
from certwright.testkit.faults.simulation import Scenario

HOLD = {"metadata": {"finalizers": [HELD]}}
LET_GO = {"metadata": {"finalizers": None}}
IGNORED = {f"{PREFIX}/mode": "Ignore"}
FALL_BACK = {f"{PREFIX}/mode": "FallBack"}
TAKEN = {f"{OURS}/take-over": "true"}
RECREATED = {f"{PREFIX}/delete-on-invalid-update": "true"}
SPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "space"}}

SCENARIOS: dict[Scenario, tuple[Any, ...]] = {}


def scenario(play: Scenario) -> Scenario:
    """Note a scenario that only needs the operator."""
    SCENARIOS[play] = (operator(),)
    return play


def scenario_with(*operators: Any) -> Callable[[Scenario], Scenario]:
    """Note a scenario that needs others, too."""

    def note(play: Scenario) -> Scenario:
        SCENARIOS[play] = operators
        return play

    return note


async def gone(cluster: EmbeddedCluster, kind: Any, name: str) -> None:
    """Return as soon as an object is gone."""
    for _ in range(900):
        try:
            await cluster.get(kind, name)
        except NotFound:
            return
        await asyncio.sleep(1)
    raise AssertionError(f"{name} is still there")


def large(number: Any) -> Any:
    """Return an object of which two fill the inventory in a status."""
    return config(f"c{number}", annotations={"n": "x" * 250_000})


def in_space(obj: Any) -> JsonObject:
    return {**obj, "metadata": {**obj["metadata"], "namespace": "space"}}


# Inventories


@scenario
async def inventory_beside(cluster: EmbeddedCluster) -> None:
    """Somebody deletes the ConfigMap with what of the inventory does not fit."""
    await declare(cluster, "web", config("steady"), *map(large, range(3)))
    await done(cluster)
    for name in await cluster.names(ConfigMap, labels=f"{OURS}/inventory"):
        await cluster.delete(ConfigMap, name)
        await done(cluster)
        # Who dies in that moment cannot know what it said; all that is wanted is listed again.
        await annotate(cluster, "web", **{f"{OURS}/forget-inventory": name})
    await done(cluster)
    await rewrite(cluster, "web", config("steady"))


@scenario
async def inventory_grows_and_shrinks(cluster: EmbeddedCluster) -> None:
    await cluster.create(secret("web", config("steady"), large(0), large(1)))
    await cluster.create(secret("more", large(2), large(3)))
    await cluster.create(unit("web", "web", "more"))
    await cluster.settle()
    await rewrite(cluster, "more", large(2), large(3), large(4))
    await cluster.settle()
    await rewrite(cluster, "more", large(5))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"))


@scenario
async def large_and_born_again(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", large(0), large(1), large(2))
    await cluster.settle()
    await cluster.delete(MR, "api")
    await gone(cluster, MR, "api")
    await cluster.create(unit("api"))


# Objects of others


@scenario
async def fall_back(cluster: EmbeddedCluster) -> None:
    await cluster.create(config("b", "theirs"))
    await declare(cluster, "web", config("steady"), config("b", annotations=FALL_BACK))
    await done(cluster)
    await cluster.delete(ConfigMap, "b")
    await done(cluster)
    await rewrite(cluster, "web", config("steady"), config("b", "two", annotations=FALL_BACK))


@scenario
async def fall_back_that_was_never_needed(cluster: EmbeddedCluster) -> None:
    await cluster.create(config("b", "theirs"))
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b", annotations=FALL_BACK), config("c"))
    await done(cluster)
    await cluster.delete(MR, "api")


@scenario
async def adopted_when_asked(cluster: EmbeddedCluster) -> None:
    wary = {f"{OURS}/adopt": "IfLabelled"}
    await cluster.create(config("b", "theirs"))
    await declare(cluster, "web", config("steady"), config("b", annotations=wary))
    await done(cluster)
    label = {f"{PREFIX}/managed-by": "gardener"}
    await cluster.patch(ConfigMap, "b", {"metadata": {"labels": label}})
    await done(cluster)
    await done(cluster)  # an attempt in between may have failed
    await rewrite(cluster, "web", config("steady"))


@scenario
async def never_adopted(cluster: EmbeddedCluster) -> None:
    await cluster.create(config("b", "theirs"))
    await declare(cluster, "web", config("steady"))
    wary = {f"{OURS}/adopt": "Never"}
    await declare(cluster, "api", config("b"), config("c"), annotations=wary)
    await done(cluster)
    await cluster.delete(MR, "api")


@scenario
async def marks_removed(cluster: EmbeddedCluster) -> None:
    """Somebody takes the labels and annotations off; somebody else writes another owner."""
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"), config("c"))
    await done(cluster)
    await annotate(cluster, "api", **{f"{PREFIX}/ignore": "true"})
    await done(cluster)
    await cluster.patch(ConfigMap, "steady", {"metadata": {"labels": None, "annotations": None}})
    await cluster.patch(ConfigMap, "b", {"metadata": {"labels": None}})
    theirs = {f"{PREFIX}/origin": "default/somebody"}
    await cluster.patch(ConfigMap, "c", {"metadata": {"annotations": theirs}})
    await cluster.delete(MR, "api")


@scenario
async def fight_by_deletion(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    for _ in range(8):
        if await cluster.find(ConfigMap, "b") is not None:
            await cluster.delete(ConfigMap, "b")
        await asyncio.sleep(1)


# Several of them


@scenario
async def swapped(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await declare(cluster, "api", config("c"))
    await done(cluster)
    await rewrite(cluster, "web", config("steady"), config("c", "web"))
    await rewrite(cluster, "api", config("b", "api"))


@scenario
async def swapped_by_force(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await declare(cluster, "api", config("c"))
    await done(cluster)
    await rewrite(cluster, "web", config("steady"), config("c", "web", annotations=TAKEN))
    await rewrite(cluster, "api", config("b", "api", annotations=TAKEN))


@scenario
async def taken_from_one_that_goes(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"), config("c"))
    await done(cluster)
    await declare(cluster, "new", config("b", "new", annotations=TAKEN))
    await cluster.delete(MR, "api")


@scenario
async def inherited(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"), config("c"))
    await done(cluster)
    await declare(cluster, "new", config("b", "new"))
    await cluster.settle()
    await cluster.delete(MR, "api")


@scenario
async def one_secret_for_two(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await cluster.create(secret("both", config("b")))
    await cluster.create(unit("one", "both"))
    await done(cluster)
    await cluster.create(unit("two", "both"))
    await done(cluster)
    await rewrite(cluster, "both", config("b", "two"))
    await cluster.settle()
    await cluster.delete(MR, "one")
    await done(cluster)
    await cluster.delete(Secret, "both")
    await cluster.settle()
    await cluster.delete(MR, "two")


@scenario
async def nested(cluster: EmbeddedCluster) -> None:
    """One keeps another, which goes with it."""
    await declare(cluster, "web", config("steady"))
    inner = (secret("inner", config("b"), config("c")), unit("inner"))
    await declare(cluster, "outer", *inner)
    await done(cluster)
    await rewrite(cluster, "outer", secret("inner", config("b")), unit("inner"))
    await done(cluster)
    await cluster.delete(MR, "outer")


@scenario
async def cycle(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "one", config("b"), dependsOn=[{"name": "two"}])
    await declare(cluster, "two", config("c"), dependsOn=[{"name": "three"}])
    await declare(cluster, "three", config("d"), dependsOn=[{"name": "one"}])
    await cluster.settle()
    await cluster.patch(MR, "one", {"spec": {"dependsOn": [{"name": "web"}]}})
    await cluster.settle()
    await cluster.patch(MR, "three", {"spec": {"dependsOn": None}})


@scenario
async def dependants_deleted(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "db", config("d"))
    await declare(cluster, "api", config("b"), dependsOn=[{"name": "db"}])
    await done(cluster)
    await cluster.delete(Secret, "db")
    await rewrite(cluster, "api", config("c"))
    await cluster.settle()
    await cluster.delete(MR, "db")
    await cluster.delete(MR, "api")


# Input


@scenario
async def secrets_with_new_names(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await cluster.settle()
    for old, new in (("web", "web-1"), ("web-1", "web-2"), ("web-2", "web-3")):
        await cluster.create(secret(new, config("steady", new)))
        await cluster.patch(MR, "web", {"spec": {"secretRefs": [{"name": new}]}})
        await cluster.delete(Secret, old)


@scenario
async def from_secret_to_secret(cluster: EmbeddedCluster) -> None:
    await cluster.create(secret("web", config("steady"), config("b")))
    await cluster.create(secret("more", config("c")))
    await cluster.create(unit("web", "web", "more"))
    await done(cluster)
    await rewrite(cluster, "more", config("c"), config("steady"))
    await cluster.settle()
    await rewrite(cluster, "web", config("b"))
    await cluster.settle()
    await cluster.patch(MR, "web", {"spec": {"secretRefs": [{"name": "more"}]}})
    await cluster.delete(Secret, "web")


@scenario
async def many_edits(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    for number in range(6):
        await asyncio.sleep(0.004)  # in the middle of a pass
        odd = [config("b", str(number))] if number % 2 else []
        await rewrite(cluster, "web", config("steady", str(number)), config(f"x{number}"), *odd)
    await rewrite(cluster, "web", config("steady", "end"), config("x0"))


@scenario
async def ignored_and_back(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    await rewrite(cluster, "web", config("steady", annotations=IGNORED), config("b"))
    await done(cluster)
    await cluster.patch(ConfigMap, "steady", {"data": {"text": "theirs"}})
    await cluster.settle()
    await rewrite(cluster, "web", config("steady", "back"), config("b", annotations=IGNORED))


@scenario
async def mass_deletion_reverted(cluster: EmbeddedCluster) -> None:
    many = [config(f"m{number}") for number in range(10)]
    await declare(cluster, "web", config("steady"), *many)
    await done(cluster)
    await rewrite(cluster, "web", config("steady"))
    await done(cluster)
    await rewrite(cluster, "web", config("steady"), *many)


# Kinds and namespaces


@scenario
async def namespace_and_content(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), in_space(config("a")), SPACE)
    await done(cluster)
    await rewrite(cluster, "web", config("steady"))
    await asyncio.sleep(1)
    await rewrite(cluster, "web", config("steady"), in_space(config("a", "two")), SPACE)
    await done(cluster)
    await cluster.delete(Namespace, "space")


@scenario
async def namespace_of_their_own_goes(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await cluster.create(SPACE)
    await cluster.create(in_space(secret("api", config("b"), in_space(config("a")))))
    await cluster.create(in_space(unit("api")))
    await cluster.settle()
    await cluster.delete(Namespace, "space")
    await gone(cluster, Namespace, "space")


@scenario
async def definition_and_back(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), gizmo("a"), GIZMOS)
    await done(cluster)
    await rewrite(cluster, "web", config("steady"))
    await asyncio.sleep(0.02)  # in the middle of a pass
    await rewrite(cluster, "web", config("steady"), gizmo("a"), gizmo("b"), GIZMOS)
    await done(cluster)
    await cluster.delete(CustomResourceDefinition, "gizmos.example.com")


@scenario
async def definition_of_another(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "kinds", GIZMOS)
    await declare(cluster, "api", gizmo("a"), config("b"), dependsOn=[{"name": "kinds"}])
    await done(cluster)
    await cluster.delete(MR, "kinds")
    await cluster.delete(MR, "api")


# Slow ends


@scenario
async def recreated_slowly(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), job("run", "one", annotations=RECREATED))
    await done(cluster)
    await cluster.patch(Job, "run", HOLD)
    await rewrite(cluster, "web", config("steady"), job("run", "two", annotations=RECREATED))
    await done(cluster)
    await cluster.patch(Job, "run", LET_GO)


async def hold_up_a_deletion(cluster: EmbeddedCluster) -> None:
    """Delete a ManagedResource one of whose objects somebody holds."""
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"), config("c"))
    await done(cluster)
    await cluster.patch(ConfigMap, "b", HOLD)
    await cluster.delete(MR, "api")


@scenario
async def changed_while_going(cluster: EmbeddedCluster) -> None:
    """None of it stops a deletion."""
    await hold_up_a_deletion(cluster)
    await cluster.settle()
    await annotate(cluster, "api", **{f"{PREFIX}/ignore": "true"})
    await cluster.patch(MR, "api", {"spec": {"suspend": True}})
    await cluster.settle()
    await cluster.patch(ConfigMap, "b", LET_GO)


@scenario
async def kept_while_going(cluster: EmbeddedCluster) -> None:
    await hold_up_a_deletion(cluster)
    await done(cluster)
    await cluster.patch(MR, "api", {"spec": {"keepObjects": True}})
    await done(cluster)
    await cluster.patch(ConfigMap, "b", LET_GO)


@scenario
async def deleted_by_force(cluster: EmbeddedCluster) -> None:
    await hold_up_a_deletion(cluster)
    await done(cluster)
    await annotate(cluster, "api", **{f"{OURS}/force-delete": "true"})
    await outlast_jumps(cluster)


@scenario
async def class_there_and_back(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"), config("c"))
    await cluster.settle(operator("seed"))  # a process of its own
    await done(cluster)
    for resource_class in ("seed", None, "seed", "resources"):
        await cluster.patch(MR, "api", {"spec": {"class": resource_class}})
        await asyncio.sleep(0.01)  # in the middle of the change


@scenario
async def on_and_off(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"))
    for _ in range(3):
        await asyncio.sleep(0.006)  # in the middle of a pass
        await cluster.delete(MR, "api")
        await gone(cluster, MR, "api")
        await cluster.create(unit("api"))


# With others in the same process


def with_garbage_collector() -> tuple[Operator, Controller]:
    collector = replace(GarbageCollectorSettings(), enabled=True)
    controllers = replace(Controllers(), garbage_collector=collector)
    often = CollectorSettings(enabled=True, period=timedelta(minutes=20), home=Key("default", "gc"))
    return (
        resource_operator(replace(Configuration(), controllers=controllers)),
        garbage_collector(often),
    )


def rollout(text: str) -> Any:
    """Return contents under a name of their own, and who uses them."""
    contents = make_unique(config("contents", text))
    volume = {"name": "v", "configMap": {"name": contents["metadata"]["name"]}}
    user = deployment("d", replicas=0, namespace="default")
    user["spec"]["template"]["spec"]["volumes"] = [volume]
    return contents, with_references(user)


@scenario_with(*with_garbage_collector())
async def contents_rotated(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), *rollout("1"))
    await done(cluster)
    for text in ("2", "1", "3"):  # and back, before the old contents are collected
        await rewrite(cluster, "web", config("steady"), *rollout(text))
        await cluster.advance(minutes=15)
        used = rollout(text)[0]["metadata"]["name"]
        assert await cluster.find(ConfigMap, used) is not None
    await outlast_jumps(cluster)


@scenario_with(operator(), token_requestor())
async def token_kept(cluster: EmbeddedCluster) -> None:
    def asking(account: Any) -> JsonObject:
        wish = {ACCOUNT_NAME: account, ACCOUNT_NAMESPACE: "default"}
        labels = {PURPOSE: "token-requestor"}
        metadata = {"name": "t", "namespace": "default", "labels": labels, "annotations": wish}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}

    await declare(cluster, "web", config("steady"), asking("one"))
    await done(cluster)
    await rewrite(cluster, "web", config("steady"), asking("two"))
    await done(cluster)
    await rewrite(cluster, "web", config("steady"))


@scenario
async def acting_as_accounts(cluster: EmbeddedCluster) -> None:
    """Rights are asked for before anything is read, also by processes that have just started."""
    rbac = "rbac.authorization.k8s.io"
    binding = {"apiVersion": f"{rbac}/v1", "kind": "RoleBinding", "metadata": {"name": "accounts"}}
    role = {"apiGroup": rbac, "kind": "ClusterRole", "name": "edit"}
    accounts = {"apiGroup": rbac, "kind": "Group", "name": "system:serviceaccounts:default"}
    await cluster.create({**binding, "roleRef": role, "subjects": [accounts]})
    await declare(cluster, "web", config("steady"), serviceAccountName="one")
    await declare(cluster, "api", config("b"), config("c"), serviceAccountName="one")
    await done(cluster)
    await cluster.patch(MR, "api", {"spec": {"serviceAccountName": "two"}})
    await cluster.patch(ConfigMap, "b", {"data": {"text": "theirs"}})
    await done(cluster)
    await rewrite(cluster, "api", config("b", "two"))
    await done(cluster)
    await cluster.delete(MR, "api")


@scenario
async def dependency_not_ready(cluster: EmbeddedCluster) -> None:
    """A dependant is deleted while what it waits for is not ready."""
    await declare(cluster, "web", config("steady"), deployment("d", namespace="default"))
    await declare(cluster, "api", config("b"), dependsOn=[{"name": "web"}])
    await cluster.settle()
    counts = (
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
    )
    ready = dict.fromkeys(counts, 1)
    up = {"conditions": [{"type": "Available", "status": "True"}]}
    down = {"conditions": [{"type": "Available", "status": "False"}]}
    await done(cluster)
    await cluster.patch(Deployment, "d", {"status": {**ready, **up}}, subresource="status")
    await done(cluster)
    await cluster.patch(Deployment, "d", {"status": down}, subresource="status")
    await rewrite(cluster, "api", config("c"))
    await done(cluster)
    await cluster.delete(MR, "api")


# Tortures

TORTURES = (
    crash_after_every_write,
    stale_restart,
    drop_each_event,
    repeat_each_event,
    delay_each_event,
    break_each_watch,
    refuse_every_write,
    lose_every_answer,
)
SEEDS = 2
"""Of each scenario: a campaign finds what is left."""

each_scenario = pytest.mark.parametrize("play", SCENARIOS, ids=lambda play: play.__name__)


COSTLY = {
    # A pass whose status is refused is repeated until the cache has seen why, ever more seldom;
    # each time, two objects are refused whose definition is just being deleted.
    definition_and_back: {"extra_writes": 20},
    # Two controllers write one Secret; a new process has to find that out from the beginning.
    token_kept: {"extra_writes": 64},
}


@each_scenario
def test_faults(play: Scenario) -> None:
    tortures, budget = TORTURES if LONG else TORTURES[:1], COSTLY.get(play, {})
    assert survive(play, *tortures, operators=SCENARIOS[play], most=2, **budget) >= 2


@each_scenario
def test_storms(play: Scenario) -> None:
    simulate(
        watched(play),
        *SCENARIOS[play],
        seeds=range(SEEDS),
        ignore=PASSING,
        meddle=add_to_steady,
    )
