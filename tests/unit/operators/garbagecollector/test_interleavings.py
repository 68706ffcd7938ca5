"""Ten thousand passes, with users at work between any two requests of each, and crashes.

Users keep the rules: who is about to use an object creates it, or takes the note away that
nothing uses it, and uses it within the minimum lifetime. Who stops using an object for a moment
uses it again within that time, and does not do so again before a whole pass has seen it in use.
Then nothing that is in use, or about to be, may ever be deleted; and in the end nothing that is
not may be left. Without a minimum lifetime an object is used from the moment it is created.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from random import Random

import orjson
import pytest

from certwright.client import Client, Request, Response, Stream
from certwright.kube import JsonObject, format_time
from certwright.kube.patches import apply_merge_patch
from certwright.managed.references import Reference, annotations_for
from certwright.managed.unique import COLLECTABLE, UNUSED_SINCE
from certwright.operators.garbagecollector import CollectorSettings, collect
from certwright.operators.garbagecollector.collect import FIELD_MANAGER

LIFETIME = timedelta(minutes=10)
HISTORY = 64
"""How many versions back a list may ask."""
USERS = ("pods", "deployments", "serviceaccounts", "managedresources")


class Crashed(BaseException):
    """The collector's process ends here."""


class World:
    """A cluster with a history, reduced to what the collector asks of it; also its clock."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.now_is = datetime(2026, 1, 1, tzinfo=UTC)
        self.revision = 1000
        self.objects: dict[tuple[str, str], JsonObject] = {}
        self.history: dict[int, dict[tuple[str, str], JsonObject]] = {1000: {}}
        self.deleted: list[str] = []
        self.crash_in = 0
        self.between: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        return self.now_is

    def monotonic(self) -> float:
        return self.now_is.timestamp()

    def put(self, plural: str, name: str, obj: JsonObject | None) -> None:
        self.revision += 1
        objects = dict(self.objects)
        if obj is None:
            del objects[plural, name]
        else:
            old = objects.get((plural, name), {"metadata": {}})["metadata"]
            metadata = {
                "namespace": "ns",
                "name": name,
                "uid": old.get("uid") or f"u{self.revision}",
                "creationTimestamp": old.get("creationTimestamp") or format_time(self.now_is),
                **obj.get("metadata", {}),
                "resourceVersion": str(self.revision),
            }
            objects[plural, name] = {**obj, "metadata": metadata}
        self.objects = self.history[self.revision] = objects
        self.history.pop(self.revision - HISTORY, None)

    # Transport

    async def send(self, request: Request) -> Response:
        self.crash_in -= 1
        before = self.crash_in == 0 and self.rng.random() < 0.5
        if before:
            raise Crashed
        self.between()
        response = self.answer(request)
        self.between()
        if self.crash_in == 0:
            raise Crashed
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError

    async def close(self) -> None:
        pass

    def answer(self, request: Request) -> Response:
        assert request.resource is not None
        plural = request.resource.plural
        if request.verb == "list":
            return self.list(plural, dict(request.query))
        name = request.path.rpartition("/")[2]
        stored = self.objects.get((plural, name))
        body = orjson.loads(request.body or b"")
        if stored is None:
            return status(404)
        guard = body.get("preconditions") or body["metadata"]
        for field in ("uid", "resourceVersion"):
            if stored["metadata"][field] != guard.get(field, stored["metadata"][field]):
                return status(409)
        if request.verb == "delete":
            self.deleted.append(name)
            self.put(plural, name, None)
            return Response(200, {}, b'{"kind":"Status"}')
        assert ("fieldManager", FIELD_MANAGER) in request.query
        self.put(plural, name, apply_merge_patch(stored, body))
        return Response(200, {}, orjson.dumps(self.objects[plural, name]))

    def list(self, plural: str, query: dict[str, str]) -> Response:
        revision = int(query.get("resourceVersion") or self.revision)
        if revision not in self.history:
            return status(410)
        found = self.history[revision]
        collectable = "labelSelector" in query
        items = [obj for (kind, _), obj in found.items() if kind == plural]
        assert not items or collectable == (plural == "configmaps")
        metadata = {"resourceVersion": str(revision)}
        return Response(200, {}, orjson.dumps({"metadata": metadata, "items": items}))


def status(code: int) -> Response:
    return Response(code, {}, orjson.dumps({"kind": "Status", "code": code}))


class Owner:
    """Somebody who uses one ConfigMap now and then, through objects of changing kinds."""

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.name = name
        self.user: tuple[str, str] | None = None
        self.must_exist_until: datetime | None = None
        self.used_from: datetime | None = None
        self.seen_in_use = False
        self.serial = 0

    def act(self) -> None:
        """Do something."""
        rng = self.world.rng
        if self.user is not None:
            rng.choice([self.move, self.pause, self.leave, self.meddle])()
        elif self.must_exist_until is not None:
            if rng.random() < 0.3:
                self.use()
        elif rng.random() < 0.12:
            self.ensure()

    def ensure(self) -> None:
        """Create the ConfigMap, or take away the note that nothing uses it."""
        stored = self.world.objects.get(("configmaps", self.name))
        fresh = {"metadata": {"labels": {COLLECTABLE: "true"}}}
        if stored is not None:
            fresh = apply_merge_patch(stored, {"metadata": {"annotations": {UNUSED_SINCE: None}}})
        self.world.put("configmaps", self.name, fresh)
        self.promise()

    def promise(self) -> None:
        self.must_exist_until = self.world.now_is + LIFETIME

    def use(self) -> None:
        kind = self.world.rng.choice(USERS)
        self.serial += 1
        if self.user is None:
            self.used_from = self.world.now_is
        self.user = (kind, f"{self.name}-{self.serial}")
        self.world.put(*self.user, using(kind, self.name))
        self.must_exist_until = None

    def move(self) -> None:
        """Let another object use it, and then the old one no longer."""
        old = self.user
        assert old is not None
        self.use()
        self.world.put(*old, None)

    def pause(self) -> None:
        """Stop using it, for a moment: the user is being recreated."""
        if self.seen_in_use:
            self.leave()
            self.promise()

    def leave(self) -> None:
        assert self.user is not None
        self.world.put(*self.user, None)
        self.user = None
        self.seen_in_use = False

    def meddle(self) -> None:
        """Change the ConfigMap for reasons of one's own."""
        stored = self.world.objects["configmaps", self.name]
        label = {"metadata": {"labels": {"mood": str(self.world.revision)}}}
        self.world.put("configmaps", self.name, apply_merge_patch(stored, label))

    def keep_promise(self) -> None:
        if self.must_exist_until and self.must_exist_until - self.world.now_is < LIFETIME / 6:
            self.use()

    def finish(self) -> None:
        if self.must_exist_until is not None:
            self.use()
        if self.user is not None:
            self.leave()

    def after_pass(self, began: datetime) -> None:
        if self.user is not None and self.used_from and self.used_from <= began:
            self.seen_in_use = True

    def check(self) -> None:
        if self.user is not None or self.must_exist_until is not None:
            assert ("configmaps", self.name) in self.world.objects, f"{self.name} was in use"


def using(kind: str, name: str) -> JsonObject:
    if kind == "pods":
        return {"spec": {"volumes": [{"name": "v", "configMap": {"name": name}}]}}
    if kind == "managedresources":
        entry = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "ns", "name": name}
        return {"status": {"resources": [entry]}}
    return {"metadata": {"annotations": annotations_for([Reference("ConfigMap", name)])}}


class HastyOwner(Owner):
    """One who knows that nothing is waited for."""

    def act(self) -> None:
        if self.user is not None:
            self.world.rng.choice([self.move, self.move, self.leave, self.meddle])()
        elif ("configmaps", self.name) not in self.world.objects:
            self.ensure()
            self.use()


async def live(
    seed: int, passes: int, lifetime: timedelta, owner_type: type[Owner]
) -> Counter[str]:
    """Let users and passes interleave at random; return what happened."""
    rng = Random(seed)  # noqa: S311 - chance that repeats is the point
    world = World(rng)
    owners = [owner_type(world, f"c{number}") for number in range(8)]
    client = Client(world, clock=world)
    settings = CollectorSettings(enabled=True, minimum_lifetime=lifetime)
    seen: Counter[str] = Counter()

    def between() -> None:
        for owner in owners:
            owner.check()
        world.now_is += timedelta(seconds=rng.random() * 4)
        if rng.random() < 0.15:
            rng.choice(owners).act()
        for owner in owners:
            owner.keep_promise()

    world.between = between
    for _ in range(passes):
        world.crash_in = rng.randrange(1, 60) if rng.random() < 0.3 else 0
        began = world.now_is
        try:
            await collect(client, settings, world)
            for owner in owners:
                owner.after_pass(began)
        except* Crashed:
            seen["crashed"] += 1
        for _ in range(rng.randrange(12)):
            world.now_is += timedelta(seconds=rng.random() * 60)
            between()
    seen["deleted"] = len(world.deleted)
    world.between = lambda: None
    world.crash_in = 0
    for owner in owners:
        owner.finish()
    for _ in range(3):
        await collect(client, settings, world)
        world.now_is += LIFETIME
    assert not world.objects, "everything is collected in the end"
    return seen


@pytest.mark.parametrize("part", range(3))
def test_nothing_in_use_is_ever_deleted(part: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(part, 75, 3):
        seen += asyncio.run(live(seed, 100, LIFETIME, Owner))
    assert seen["deleted"] > 200
    assert seen["crashed"] > 200


def test_without_a_lifetime_nothing_in_use_is_deleted_either() -> None:
    seen: Counter[str] = Counter()
    for seed in range(25):
        seen += asyncio.run(live(seed, 100, timedelta(), HastyOwner))
    assert seen["deleted"] > 200
    assert seen["crashed"] > 200
