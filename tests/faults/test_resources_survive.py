"""ManagedResources under every fault at every point: the same end, and nobody else's object lost.

Each story is what users do; the operator is killed, misled and refused on the way. A bystander
that looks like a managed object and an object that is wanted all the time are watched: the one
must not be touched, the other not be replaced.
"""

import base64
from dataclasses import replace

import orjson
import pytest

from certwright.api.resources import ManagedResource
from certwright.kube.kinds import ConfigMap, Secret
from certwright.operators.resources import Configuration, Controllers, resource_operator
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
    survives,
)
from certwright.testkit.faults import At, Crash, Refuse
from certwright.testkit.replay import Replay

MR = ManagedResource.resource
PREFIX = "resources.gardener.cloud"
OURS = "resources.certwright.dev"
HELD = "example.com/held"
PASSING = ["ManagedResource.metadata.annotations"]
"""What was intended at first depends on when the first look was taken."""
SEEDS = 65
"""Of each story; over two thousand together."""


def operator(resource_class="resources"):
    controllers = replace(Controllers(), resource_class=resource_class)
    return resource_operator(replace(Configuration(), controllers=controllers))


def config(name, text="one", *, annotations=None, labels=None, **fields):
    metadata = {"name": name, "namespace": "default"}
    if annotations:
        metadata["annotations"] = annotations
    if labels:
        metadata["labels"] = labels
    data = {"text": text}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data, **fields}


def secret(name, *objects):
    text = b"\n".join(
        obj.encode() if isinstance(obj, str) else orjson.dumps(obj) for obj in objects
    )
    data = {"objects": base64.b64encode(text).decode()} if objects else {}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def unit(name, *secrets, annotations=None, **spec):
    metadata = {"name": name, "namespace": "default", "annotations": annotations or {}}
    references = [{"name": reference} for reference in secrets or (name,)]
    kind = {"apiVersion": MR.api_version, "kind": MR.kind}
    return {**kind, "metadata": metadata, "spec": {"secretRefs": references, **spec}}


def job(name, image, *, annotations):
    container = {"name": "main", "image": image}
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    metadata = {"name": name, "namespace": "default", "annotations": annotations}
    spec = {"template": template}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}


def gizmo(name):
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": metadata, "spec": {}}


ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
GIZMOS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gizmos.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Gizmo", "plural": "gizmos", "singular": "gizmo"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": ANYTHING}}},
            }
        ],
    },
}


async def declare(cluster, name, *objects, **spec):
    await cluster.create(secret(name, *objects))
    await cluster.create(unit(name, **spec))


async def rewrite(cluster, name, *objects):
    await cluster.patch(Secret, name, {"data": {"objects": None, **secret(name, *objects)["data"]}})


async def annotate(cluster, name, **annotations):
    await cluster.patch(MR, name, {"metadata": {"annotations": annotations}})


async def done(cluster):
    """Let everything be done that is possible: what comes next presupposes it.

    `settle` is content when nothing moves, which may be because all wait for a second attempt.
    """
    await cluster.advance(minutes=6)  # longer than any back-off


# Stories: what users do. `steady` is wanted from beginning to end.

STORIES = []


def story(play):
    """Note a story. Its first step declares at least the ConfigMap ``steady`` by `web`."""
    STORIES.append(play)
    return play


@story
async def create(cluster):
    await declare(cluster, "web", config("steady"), config("b"))


@story
async def change(cluster):
    await declare(cluster, "web", config("steady"), config("b"))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady", "two"), config("b"))


@story
async def add(cluster):
    await declare(cluster, "web", config("steady"))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"), config("b"), config("c"))


@story
async def prune(cluster):
    await declare(cluster, "web", config("steady"), config("b"), config("c"))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"))


@story
async def prune_while_starting(cluster):
    await declare(cluster, "web", config("steady"), config("b"))
    await rewrite(cluster, "web", config("steady"), config("c"))


@story
async def prune_and_add_back(cluster):
    await declare(cluster, "web", config("steady"), config("b"))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"))
    await cluster.advance(seconds=30)
    await rewrite(cluster, "web", config("steady"), config("b", "two"))


@story
async def delete(cluster):
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"), config("c"))
    await cluster.settle()
    await cluster.delete(MR, "api")


@story
async def delete_with_secret(cluster):
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"))
    await cluster.delete(Secret, "api")
    await cluster.delete(MR, "api")


@story
async def keep_all(cluster):
    await declare(cluster, "web", config("steady"), keepObjects=True)
    await done(cluster)
    await cluster.delete(MR, "web")


@story
async def keep_one(cluster):
    kept = config("steady", annotations={f"{PREFIX}/keep-object": "true"})
    await declare(cluster, "web", kept, config("b"))
    await done(cluster)
    await rewrite(cluster, "web", config("c"))


@story
async def drift(cluster):
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    await cluster.patch(ConfigMap, "steady", {"data": {"text": "edited", "more": "kept"}})
    await cluster.delete(ConfigMap, "b")


@story
async def move(cluster):
    ignored = config("steady", annotations={f"{PREFIX}/mode": "Ignore"})
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    await rewrite(cluster, "web", ignored, config("b"))
    await done(cluster)
    await declare(cluster, "api", config("steady", "two"))


@story
async def take_over(cluster):
    taken = config("steady", "two", annotations={f"{OURS}/take-over": "true"})
    await declare(cluster, "web", config("steady"))
    await done(cluster)
    await declare(cluster, "api", taken)
    await done(cluster)  # who drops an object before it is taken, deletes it
    await rewrite(cluster, "web", config("b"))


@story
async def refused(cluster):
    await declare(cluster, "web", config("steady"))
    await done(cluster)
    await declare(cluster, "api", config("steady", "two"), config("b"))
    await done(cluster)
    await cluster.delete(MR, "api")


@story
async def class_change(cluster):
    await declare(cluster, "web", config("steady"))
    await declare(cluster, "api", config("b"), **{"class": "seed"})
    await cluster.settle(operator("seed"))  # a process of its own
    await cluster.patch(MR, "api", {"spec": {"class": "resources"}})


@story
async def recreate(cluster):
    marks = {f"{PREFIX}/delete-on-invalid-update": "true"}
    await declare(cluster, "web", config("steady"), job("run", "one", annotations=marks))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"), job("run", "two", annotations=marks))


@story
async def immutable(cluster):
    await declare(cluster, "web", config("steady"), config("b", immutable=True))
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"), config("b", "two", immutable=True))


@story
async def undecodable(cluster):
    await declare(cluster, "web", config("steady"), config("b"))
    await cluster.settle()
    await rewrite(cluster, "web", config("b", "two"), "\n---\n: not [yaml")
    await cluster.settle()
    await rewrite(cluster, "web", config("steady", "two"), config("c"))


@story
async def secret_comes_late(cluster):
    await cluster.create(unit("web", "web", "more"))
    await cluster.create(secret("web", config("steady")))
    await cluster.settle()
    await cluster.create(secret("more", config("b")))


@story
async def secret_goes(cluster):
    await declare(cluster, "web", config("steady"))
    await cluster.settle()
    await cluster.delete(Secret, "web")
    await cluster.settle()
    await cluster.create(secret("web", config("steady"), config("b")))


@story
async def definition(cluster):
    await declare(cluster, "web", config("steady"), gizmo("a"), GIZMOS)
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"))


@story
async def unknown_kind(cluster):
    await declare(cluster, "web", config("steady"), gizmo("a"))
    await cluster.settle()
    await cluster.install(GIZMOS)


@story
async def ignored(cluster):
    await declare(cluster, "web", config("steady"))
    await done(cluster)
    await annotate(cluster, "web", **{f"{PREFIX}/ignore": "true"})
    await done(cluster)
    await cluster.patch(ConfigMap, "steady", {"data": {"text": "edited"}})
    await annotate(cluster, "web", **{f"{PREFIX}/ignore": None})


@story
async def ensure_exists(cluster):
    once = config("steady", annotations={f"{PREFIX}/mode": "EnsureExists"})
    await declare(cluster, "web", once)
    await done(cluster)
    await cluster.patch(ConfigMap, "steady", {"data": {"text": "edited"}})
    await cluster.settle()
    await rewrite(cluster, "web", once, config("b"))


@story
async def held_back(cluster):
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    await cluster.patch(ConfigMap, "b", {"metadata": {"finalizers": [HELD]}})
    await rewrite(cluster, "web", config("steady"), config("c"))
    await cluster.settle()
    await cluster.patch(ConfigMap, "b", {"metadata": {"finalizers": None}})


@story
async def wanted_again(cluster):
    await declare(cluster, "web", config("steady"), config("b"))
    await done(cluster)
    await cluster.patch(ConfigMap, "b", {"metadata": {"finalizers": [HELD]}})
    await cluster.delete(ConfigMap, "b")
    await rewrite(cluster, "web", config("steady", "two"), config("b"))
    await cluster.settle()
    await cluster.patch(ConfigMap, "b", {"metadata": {"finalizers": None}})


@story
async def depends(cluster):
    await declare(cluster, "api", config("b"), dependsOn=[{"name": "web"}])
    await cluster.settle()
    await declare(cluster, "web", config("steady"))


@story
async def suspended(cluster):
    await declare(cluster, "web", config("steady"), config("b"))
    await cluster.settle()
    await cluster.patch(MR, "web", {"spec": {"suspend": True}})
    await cluster.settle()
    await rewrite(cluster, "web", config("steady", "two"))
    await cluster.settle()
    await cluster.patch(MR, "web", {"spec": {"suspend": None}})


@story
async def mass_deletion(cluster):
    await declare(cluster, "web", config("steady"), *[config(f"m{n}") for n in range(10)])
    await cluster.settle()
    await rewrite(cluster, "web", config("steady"))
    await cluster.settle()
    await annotate(cluster, "web", **{f"{OURS}/confirm-prune": "10"})
    await cluster.advance(minutes=6)  # who is shown the past brings them back, and asks again
    await annotate(cluster, "web", **{f"{OURS}/confirm-prune": "10"})


@story
async def labels(cluster):
    await declare(cluster, "web", config("steady"), injectLabels={"team": "a", "old": "x"})
    await cluster.settle()
    await cluster.patch(MR, "web", {"spec": {"injectLabels": {"team": "b", "old": None}}})


@story
async def forced_pass(cluster):
    await declare(cluster, "web", config("steady"))
    await cluster.settle()
    await annotate(cluster, "web", **{"gardener.cloud/operation": "reconcile"})


@story
async def inventory_beside(cluster):
    """Somebody deletes the ConfigMap with what of the inventory does not fit."""
    large = [config(f"c{n}", annotations={"n": "x" * 250_000}) for n in range(3)]
    await declare(cluster, "web", config("steady"), *large)
    await done(cluster)
    for name in await cluster.names(ConfigMap, labels=f"{OURS}/inventory"):
        await cluster.delete(ConfigMap, name)
        await done(cluster)
        # Who dies in that moment cannot know what it said; all that is wanted is listed again.
        await annotate(cluster, "web", **{f"{OURS}/forget-inventory": name})
    await done(cluster)
    await rewrite(cluster, "web", config("steady"))


# Watching


def uids_of(name, cluster):
    """Return a set that is told the uid of each ConfigMap of this name there ever is."""
    uids = set()

    def note(_old, new):
        if new is not None and new["kind"] == "ConfigMap" and new["metadata"]["name"] == name:
            uids.add(new["metadata"]["uid"])

    cluster.server.on_change(note)
    return uids


def watched(play):
    """Return a story during which nothing may be lost."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        await cluster.settle()  # which also installs the definition
        uids = uids_of("steady", cluster)
        marks = {f"{PREFIX}/origin": "default/somebody-else"}
        labels = {f"{PREFIX}/managed-by": "gardener"}
        await cluster.create(config("bystander", annotations=marks, labels=labels))
        before = (await cluster.get(ConfigMap, "bystander"))["metadata"]["resourceVersion"]
        await play(cluster)
        await done(cluster)
        after = (await cluster.get(ConfigMap, "bystander"))["metadata"]["resourceVersion"]
        assert after == before, "a foreign object was touched"
        assert len(uids) == 1, "an object that is wanted all the time was replaced"

    scenario.__name__ = play.__name__
    return scenario


# Tortures

LONG = Replay.is_campaign()
"""Whether somebody asked for a campaign: then every combination is tried, however long it takes."""


def restart_into_the_past(calm):
    """Kill the process at each write and show its successor the latest past, and the earliest."""
    for number, seen in enumerate(calm.seen_at_write, start=1):
        for behind in {1, seen}:
            yield At(writes={number: Crash(behind=behind)})


def refuse_in_turn(calm):
    """Refuse each write once, each in another way."""
    faults = [Refuse(409), Refuse(429, retry_after_seconds=1), Refuse(500), Refuse(503)]
    for number in range(1, calm.writes + 1):
        yield At(writes={number: faults[number % len(faults)]})


def survive(play, *tortures):
    return survives(watched(play), operator(), *tortures, ignore=PASSING)


each_story = pytest.mark.parametrize("play", STORIES, ids=lambda play: play.__name__)


@each_story
def test_crashes_at_every_write(play) -> None:
    assert survive(play, crash_after_every_write) >= 8


@each_story
def test_views_of_the_past(play) -> None:
    assert survive(play, stale_restart if LONG else restart_into_the_past) >= 4


@each_story
def test_every_single_event_dropped(play) -> None:
    assert survive(play, drop_each_event) > 5


@each_story
def test_writes_that_are_refused_or_answered_by_nobody(play) -> None:
    survive(play, refuse_every_write if LONG else refuse_in_turn, lose_every_answer)


@pytest.mark.parametrize("play", STORIES if LONG else [drift, held_back], ids=lambda p: p.__name__)
def test_watches_and_requests_that_fail(play) -> None:
    survive(play, break_each_watch, fail_every_request, repeat_each_event, delay_each_event)


@each_story
def test_storms(play) -> None:
    campaign = simulate(watched(play), operator(), seeds=range(SEEDS), ignore=PASSING)
    assert campaign.crashes > 0
