"""ManagedResources under every fault at every point: the same end, and nobody else's object lost.

Each scenario is what users do; the operator is killed, misled and refused on the way. A bystander
that looks like a managed object and an object that is wanted all the time are watched: the one
must not be touched, the other not be replaced.
"""

import pytest
from tests.support.faults.resourcescenarios import (
    GIZMOS,
    HELD,
    LONG,
    MR,
    OURS,
    PASSING,
    PREFIX,
    add_to_all,
    add_to_steady,
    annotate,
    config,
    crash_in_turn,
    declare,
    done,
    gizmo,
    job,
    operator,
    refuse_in_turn,
    restart_into_the_past,
    rewrite,
    secret,
    survive,
    unit,
    watched,
)

from certwright.kube.kinds import ConfigMap, Secret
from certwright.testkit import (
    EmbeddedCluster,
    break_each_watch,
    crash_after_every_write,
    delay_each_event,
    drop_each_event,
    fail_every_request,
    lose_every_answer,
    refuse_every_write,
    repeat_each_event,
    simulate,
    stale_restart,
)
from certwright.testkit.faults.simulation import Play, Scenario, storm

SEEDS, FEWER_SEEDS = 68, 20
"""Of each scenario, and of each of those that take long; over two thousand together."""


# Stories: what users do. `steady` is wanted from beginning to end.

SCENARIOS: list[Scenario] = []


def scenario(play: Scenario) -> Scenario:
    """Note a scenario. Its first step declares at least the ConfigMap ``steady`` by `web`."""
    SCENARIOS.append(play)
    return play


@scenario
async def create(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))


@scenario
async def change(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady", "two"), config("b"))


@scenario
async def add(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"), config("b"), config("c"))


@scenario
async def prune(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"), config("c"))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"))


@scenario
async def prune_while_starting(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await rewrite(cluster, "web", config("steady"), config("c"))


@scenario
async def prune_and_add_back(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"))
    await cluster.advance(seconds=30)
    await rewrite(cluster, "web", config("steady"), config("b", "two"))


@scenario
async def delete(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"), config("c"))
    await cluster.settle()
    await cluster.delete(MR, "api")


@scenario
async def delete_with_secret(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"))
    await cluster.delete(Secret, "api")
    await cluster.delete(MR, "api")


@scenario
async def keep_all(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), keepObjects=True)
    await done(cluster)
    await cluster.delete(MR, "web")


@scenario
async def keep_one(cluster: EmbeddedCluster) -> None:
    kept = config("steady", annotations={f"{PREFIX}/keep-object": "true"})
    await declare(cluster, "web", kept, config("b"))
    await done(cluster)
    await rewrite(cluster, "web", config("c"))


@scenario
async def drift(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    await cluster.patch(ConfigMap, "steady", {"data": {"text": "edited", "more": "kept"}})
    await cluster.delete(ConfigMap, "b")


@scenario
async def additions(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    await add_to_all(cluster)
    marks = {f"{OURS}/digest": None, "theirs": "stays"}
    await cluster.patch(
        ConfigMap, "b", {"data": {"text": None}, "metadata": {"annotations": marks}}
    )
    await cluster.patch(ConfigMap, "steady", {"metadata": {"managedFields": [{}]}})
    await done(cluster)
    for name in ("steady", "b"):
        found = await cluster.get(ConfigMap, name)
        assert (found["data"], "binaryData" in found) == ({"text": "one"}, False)


@scenario
async def move(cluster: EmbeddedCluster) -> None:
    ignored = config("steady", annotations={f"{PREFIX}/mode": "Ignore"})
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    await rewrite(cluster, "web", ignored, config("b"))
    await done(cluster)
    await declare(cluster, "api", config("steady", "two"))


@scenario
async def take_over(cluster: EmbeddedCluster) -> None:
    taken = config("steady", "two", annotations={f"{OURS}/take-over": "true"})
    await declare(cluster, "web", config("steady"))
    await done(cluster)
    await declare(cluster, "api", taken)
    await done(cluster)  # who drops an object before it is taken, deletes it
    await rewrite(cluster, "web", config("b"))


@scenario
async def refused(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await done(cluster)
    await declare(cluster, "api", config("steady", "two"), config("b"))
    await done(cluster)
    await cluster.delete(MR, "api")


@scenario
async def class_change(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"), **{"class": "seed"})
    await cluster.settle(operator("seed"))  # a process of its own
    await cluster.patch(MR, "api", {"spec": {"class": "resources"}})


@scenario
async def recreate(cluster: EmbeddedCluster) -> None:
    marks = {f"{PREFIX}/delete-on-invalid-update": "true"}
    await declare(cluster, "web", config("steady"), job("run", "one", annotations=marks))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"), job("run", "two", annotations=marks))


@scenario
async def immutable(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b", immutable=True))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"), config("b", "two", immutable=True))


@scenario
async def undecodable(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await cluster.settle()
    await rewrite(cluster, "web", config("b", "two"), "\n---\n: not [yaml")
    await cluster.settle()
    await rewrite(cluster, "web", config("steady", "two"), config("c"))


@scenario
async def secret_comes_late(cluster: EmbeddedCluster) -> None:
    await cluster.create(unit("web", "web", "more"))
    await cluster.create(secret("web", config("steady")))
    await cluster.settle()
    await cluster.create(secret("more", config("b")))


@scenario
async def secret_goes(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await cluster.settle()
    await cluster.delete(Secret, "web")
    await cluster.settle()
    await cluster.create(secret("web", config("steady"), config("b")))


@scenario
async def definition(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), gizmo("a"), GIZMOS)
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"))


@scenario
async def unknown_kind(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), gizmo("a"))
    await cluster.settle()
    await cluster.install(GIZMOS)


@scenario
async def ignored(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await done(cluster)
    await annotate(cluster, "web", **{f"{PREFIX}/ignore": "true"})
    await done(cluster)
    await cluster.patch(ConfigMap, "steady", {"data": {"text": "edited"}})
    await annotate(cluster, "web", **{f"{PREFIX}/ignore": None})


@scenario
async def ensure_exists(cluster: EmbeddedCluster) -> None:
    once = config("steady", annotations={f"{PREFIX}/mode": "EnsureExists"})
    await declare(cluster, "web", once)
    await done(cluster)
    await cluster.patch(ConfigMap, "steady", {"data": {"text": "edited"}})
    await cluster.settle()
    await rewrite(cluster, "web", once, config("b"))


@scenario
async def held_back(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    await cluster.patch(ConfigMap, "b", {"metadata": {"finalizers": [HELD]}})
    await rewrite(cluster, "web", config("steady"), config("c"))
    await cluster.settle()
    await cluster.patch(ConfigMap, "b", {"metadata": {"finalizers": None}})


@scenario
async def wanted_again(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    await cluster.patch(ConfigMap, "b", {"metadata": {"finalizers": [HELD]}})
    await cluster.delete(ConfigMap, "b")
    await rewrite(cluster, "web", config("steady", "two"), config("b"))
    await cluster.settle()
    await cluster.patch(ConfigMap, "b", {"metadata": {"finalizers": None}})


@scenario
async def depends(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "api", config("b"), dependsOn=[{"name": "web"}])
    await cluster.settle()
    await declare(cluster, "web", config("steady"))


@scenario
async def suspended(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), config("b"))
    await cluster.settle()
    await cluster.patch(MR, "web", {"spec": {"suspend": True}})
    await cluster.settle()
    await rewrite(cluster, "web", config("steady", "two"))
    await cluster.settle()
    await cluster.patch(MR, "web", {"spec": {"suspend": None}})


@scenario
async def mass_deletion(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), *[config(f"m{n}") for n in range(10)])
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"))
    await cluster.settle()
    await annotate(cluster, "web", **{f"{OURS}/confirm-prune": "10"})
    await cluster.advance(minutes=6)  # who is shown the past brings them back, and asks again
    await annotate(cluster, "web", **{f"{OURS}/confirm-prune": "10"})


@scenario
async def labels(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"), injectLabels={"team": "a", "old": "x"})
    await cluster.settle()
    await cluster.patch(MR, "web", {"spec": {"injectLabels": {"team": "b", "old": None}}})


@scenario
async def forced_pass(cluster: EmbeddedCluster) -> None:
    await declare(cluster, "web", config("steady"))
    await cluster.settle()
    await annotate(cluster, "web", **{"gardener.cloud/operation": "reconcile"})


# Tortures

each_scenario = pytest.mark.parametrize("play", SCENARIOS, ids=lambda play: play.__name__)
SMALL = {
    create, change, delete_with_secret, secret_comes_late, ignored, labels, forced_pass, ensure_exists
}  # fmt: skip
"""Played under some of the faults unless a campaign is asked for: others of the more than twenty-five
scenarios write and see the same, and more."""
LARGE = {mass_deletion, take_over, class_change, immutable, refused}
"""Each takes as long as two or three others: fewer seeds and points, unless a campaign is asked for."""
SOME, MORE = 6, 10


def most_of(play: Scenario) -> int | None:
    """Return at how many points faults are tried, evenly spread; None is all."""
    return SOME if play in SMALL else MORE if play in LARGE else None


def seeds_of(play: Scenario) -> range:
    """Return the storms over a scenario; a campaign has as many over each."""
    return range(FEWER_SEEDS if play in LARGE else SEEDS)


@each_scenario
def test_crashes_at_every_write(play: Scenario) -> None:
    torture = crash_after_every_write if LONG else crash_in_turn
    assert survive(play, torture, most=most_of(play)) >= 4


@each_scenario
def test_views_of_the_past(play: Scenario) -> None:
    torture = stale_restart if LONG else restart_into_the_past
    assert survive(play, torture, most=most_of(play)) >= 4


@each_scenario
def test_every_single_event_dropped(play: Scenario) -> None:
    assert survive(play, drop_each_event, most=most_of(play)) > 5


@each_scenario
def test_writes_that_are_refused_or_answered_by_nobody(play: Scenario) -> None:
    survive(play, refuse_every_write if LONG else refuse_in_turn, lose_every_answer, most=SOME)


@pytest.mark.parametrize("play", SCENARIOS if LONG else [drift], ids=lambda p: p.__name__)
def test_watches_and_requests_that_fail(play: Scenario) -> None:
    tortures = (break_each_watch, fail_every_request, repeat_each_event, delay_each_event)
    survive(play, *tortures, most=24)


GIVEN_UP = {keep_all, keep_one, ensure_exists}
"""The scenarios in which `steady` is not kept to the end: what others add to it then stays."""


def test_the_same_seed_takes_the_same_way() -> None:
    play = Play(watched(definition), (operator(),), PASSING)
    assert len({storm(play, seed=62).digest for _ in range(4)}) == 1


@each_scenario
def test_storms(play: Scenario) -> None:
    meddle = None if play in GIVEN_UP else add_to_steady
    campaign = simulate(
        watched(play), operator(), seeds=seeds_of(play), ignore=PASSING, meddle=meddle
    )
    assert campaign.crashes > 0
