"""Objects under a name: written down before they exist, struck off after they are gone."""

from dataclasses import replace
from typing import Any

import pytest
from tests.component.apply.conftest import Bench

from certwright.apply import (
    Action,
    ChangeSet,
    ConfigMapInventory,
    Declared,
    InventoryError,
    ObjectRef,
    ObjectSet,
    Owner,
    PruneOptions,
)
from certwright.client import Request, Response
from certwright.kube import Forbidden, JsonObject, Resource
from certwright.kube.kinds import ConfigMap
from certwright.testkit.builders import config_map, deployment
from certwright.testkit.calls import is_write

PRUNE = PruneOptions(prune=True)
PAGE = "certwright-inventory-app"


class Names:
    """An object set whose objects are given by name."""

    def __init__(self, bench: Bench, shard_bytes: int = 700_000) -> None:
        self.bench = bench
        namespace = bench.cluster.namespace
        self.inventory = ConfigMapInventory(bench.direct, namespace, "app", shard_bytes=shard_bytes)
        self.objects = ObjectSet(bench.engine, self.inventory, self.inventory.owner)

    async def apply(self, *names: str, options: PruneOptions = PRUNE, **more: Any) -> ChangeSet:
        wanted = [Declared(self.bench.placed(config_map(name))) for name in names]
        return (await self.objects.apply(wanted, options=options, **more)).all

    async def listed(self) -> set[str]:
        return {ref.name for ref in await self.objects.refs()}

    async def existing(self) -> set[str]:
        """Return the objects there are, the inventory aside."""
        found = await self.bench.cluster.names(ConfigMap)
        return {name for name in found if not name.startswith(("certwright-", "kube-root"))}


@pytest.fixture
def app(bench: Bench) -> Names:
    return Names(bench)


async def test_a_new_bundle_costs_one_write_more_than_its_objects(app: Names, bench: Bench) -> None:
    with bench.counted() as calls:
        await app.apply("a", "b")
    assert calls[0].writes == 3
    with bench.counted() as calls:
        changes = await app.apply("a", "b")
    assert calls[0].writes == 0
    assert not changes.changed


@pytest.mark.parametrize("name", ["", "a/b", "a\nv1/Secret/ns/b", "a b"])
async def test_names_that_cannot_be_are_not_written_down(app: Names, name: str) -> None:
    changes = await app.apply("good", name)
    assert {entry.ref.name: entry.action for entry in changes.entries} == {
        "good": "created",
        name: "failed",
    }
    assert await app.listed() == {"good"}


async def test_what_is_no_longer_wanted_goes_and_is_struck_off(app: Names, bench: Bench) -> None:
    await app.apply("a", "b", "c")
    with bench.counted() as calls:
        changes = await app.apply("a", "b")
    assert bench.told(changes)["ConfigMap/c"] == "deleted"
    assert calls[0].writes == 2
    assert await app.existing() == await app.listed() == {"a", "b"}


async def test_without_pruning_it_stays_and_stays_listed(app: Names, bench: Bench) -> None:
    await app.apply("a", "b")
    changes = await app.apply("a", options=PruneOptions())
    assert bench.told(changes)["ConfigMap/b"] == "kept"
    assert await app.existing() == await app.listed() == {"a", "b"}


async def test_objects_are_written_down_before_they_are_created(app: Names, bench: Bench) -> None:
    await app.apply("a")
    writes = [r for r in bench.log.all() if is_write(r)]
    assert PAGE.encode() in (writes[0].body or b"")
    assert writes[1].path.endswith("/a")


async def test_what_lingers_stays_listed(app: Names, bench: Bench) -> None:
    await app.apply("a", "b")
    hold = {"metadata": {"finalizers": ["example.com/hold"]}}
    await bench.cluster.patch(ConfigMap, "b", hold)
    changes = await app.apply("a")
    assert bench.told(changes)["ConfigMap/b"] == "blocked"
    assert await app.listed() == {"a", "b"}
    await bench.cluster.patch(ConfigMap, "b", {"metadata": {"finalizers": None}})
    await app.apply("a")
    assert await app.listed() == {"a"}


async def test_what_somebody_else_took_stays_and_is_struck_off(app: Names, bench: Bench) -> None:
    await app.apply("a", "b")
    other = ConfigMapInventory(bench.direct, bench.cluster.namespace, "other")
    mark = {other.owner.annotation: other.owner.value}
    await bench.cluster.patch(ConfigMap, "b", {"metadata": {"annotations": mark}})
    changes = await app.apply("a")
    assert bench.told(changes)["ConfigMap/b"] == "kept"
    assert await app.existing() == {"a", "b"}
    assert await app.listed() == {"a"}


async def test_two_bundles_do_not_share_an_object(app: Names, bench: Bench) -> None:
    await app.apply("a")
    inventory = ConfigMapInventory(bench.direct, bench.cluster.namespace, "other")
    other = ObjectSet(bench.engine, inventory, inventory.owner)
    changes = (await other.apply([Declared(bench.placed(config_map("a", {"k": "v"})))])).all
    assert changes.entries[0].action is Action.FAILED
    assert f"it belongs to {bench.cluster.namespace}/app" in changes.entries[0].reason


async def test_input_in_doubt_prunes_nothing(app: Names, bench: Bench) -> None:
    await app.apply("a", "b")
    doubtful = PruneOptions(prune=True, doubts="b.yaml cannot be read")
    changes = await app.apply("a", options=doubtful)
    entry = next(e for e in changes.entries if e.ref.name == "b")
    assert entry.action is Action.BLOCKED
    assert "b.yaml cannot be read" in entry.reason
    assert await app.existing() == {"a", "b"}


async def test_nothing_goes_while_something_wanted_is_missing(app: Names, bench: Bench) -> None:
    await app.apply("a", "b")
    apply = bench.direct.apply

    async def refuse(resource: Resource, obj: JsonObject, **options: bool) -> Any:
        if obj["metadata"]["name"] == "new":
            raise Forbidden("no")
        return await apply(resource, obj, **options)

    bench.direct.apply = refuse
    changes = await app.apply("a", "new")
    assert bench.told(changes) == {
        "ConfigMap/a": "unchanged",
        "ConfigMap/new": "failed",
        "ConfigMap/b": "blocked",
    }
    assert await app.listed() == {"a", "b", "new"}, "it may exist one day"


@pytest.mark.scenario("MR-70")
async def test_losing_most_objects_at_once_needs_a_confirmation(app: Names) -> None:
    names = [f"c{i}" for i in range(10)]
    await app.apply(*names)
    changes = await app.apply(*names[:4])
    blocked = changes.with_action(Action.BLOCKED)
    assert len(blocked) == 6
    assert "6 of 10 objects would go at once" in blocked[0].reason
    assert await app.existing() == set(names)
    await app.apply(*names[:4], options=PruneOptions(prune=True, confirmed=True))
    assert await app.existing() == await app.listed() == set(names[:4])


@pytest.mark.scenario("MR-70")
async def test_replacing_everything_at_once_needs_a_confirmation_too(app: Names) -> None:
    """What is new does not make the loss of what is old smaller."""
    old = [f"old-{i}" for i in range(10)]
    await app.apply(*old)
    changes = await app.apply(*(f"new-{i}" for i in range(10)))
    assert len(changes.with_action(Action.BLOCKED)) == 10
    assert await app.existing() >= set(old)


async def test_deleting_a_bundle_takes_the_inventory_along(app: Names, bench: Bench) -> None:
    await app.apply("a", "b")
    changes = await app.objects.delete()
    assert bench.told(changes) == {"ConfigMap/a": "deleted", "ConfigMap/b": "deleted"}
    assert await app.existing() == set()
    assert await bench.cluster.find(ConfigMap, PAGE) is None


async def test_a_dry_run_writes_nothing(app: Names, bench: Bench) -> None:
    await app.apply("a", "b")
    with bench.counted() as calls:
        changes = await app.apply("a", "c", dry_run=True)
    assert calls[0].writes == 0
    assert bench.told(changes) == {
        "ConfigMap/a": "unchanged",
        "ConfigMap/c": "created",
        "ConfigMap/b": "deleted",
    }


async def test_what_does_not_fit_goes_to_further_pages_and_none_moves(bench: Bench) -> None:
    app = Names(bench, shard_bytes=200)
    names = {f"object-{i}" for i in range(12)}
    await app.apply(*names)
    pages = {n for n in await bench.cluster.names(ConfigMap) if n.startswith(PAGE)}
    assert PAGE in pages
    assert f"{PAGE}.2" in pages
    assert await app.listed() == names
    await app.apply("object-0", options=PruneOptions(prune=True, confirmed=True))
    assert await app.listed() == await app.existing() == {"object-0"}
    pages = {n for n in await bench.cluster.names(ConfigMap) if n.startswith(PAGE)}
    assert len(pages) == 1


async def test_an_inventory_that_makes_no_sense_stops_everything(app: Names, bench: Bench) -> None:
    await app.apply("a", "b")
    await bench.cluster.patch(ConfigMap, PAGE, {"data": {"objects": "v1/ConfigMap/nonsense"}})
    with bench.counted() as calls, pytest.raises(InventoryError, match=PAGE):
        await app.apply("a")
    assert calls[0].writes == 0


async def test_two_at_a_time_lose_nothing(app: Names, bench: Bench) -> None:
    """Both loaded the same inventory; the second to write starts over from what is there."""
    await app.apply("a")
    stale = ConfigMapInventory(bench.direct, bench.cluster.namespace, "app")
    await stale.load()
    await app.apply("a", "b")
    ref = ObjectRef.of(bench.placed(config_map("c")))
    await stale.add([ref])
    assert await app.listed() == {"a", "b", "c"}


class Crash(BaseException):
    """The process ends here."""


@pytest.mark.scenario("MR-69")
@pytest.mark.parametrize("after", range(1, 14))
async def test_a_crash_after_any_write_leaks_nothing(embedded_bench: Bench, after: int) -> None:
    """Whatever the moment, all that exists is listed, and the next run gets everywhere."""
    bench = embedded_bench
    app = Names(bench, shard_bytes=120)
    await app.apply("a", "b", "c")
    transport: Any = bench.client.transport
    send, written = transport.send, 0

    async def counting(request: Request) -> Response:
        nonlocal written
        answer: Response = await send(request)
        written += is_write(request)
        if written == after:
            raise Crash
        return answer

    transport.send = counting
    crashed = False
    try:
        await app.apply("b", "d", "e")
        await app.apply(options=PruneOptions(prune=True, confirmed=True))
    except Crash:
        crashed = True
    transport.send = send
    assert crashed == (after <= written)
    assert await app.existing() <= await app.listed()
    bench.restart()
    await Names(bench, shard_bytes=120).apply(options=PruneOptions(prune=True, confirmed=True))
    assert await app.existing() == set()
    assert await app.listed() == set()


async def test_a_version_of_a_group_that_goes_out_of_use_is_replaced(
    app: Names, bench: Bench
) -> None:
    wanted = bench.placed(deployment("d"))
    old = ObjectRef("apps/v1beta1", "Deployment", bench.cluster.namespace, "d")
    await app.inventory.add([old])
    assert await app.inventory.load() == [old]
    changes = (await app.objects.apply([Declared(wanted)], options=PRUNE)).all
    assert bench.told(changes) == {"Deployment/d": "created"}
    assert await app.objects.refs() == [ObjectRef.of(wanted)]


async def test_what_never_came_to_be_is_struck_off(app: Names, bench: Bench) -> None:
    """What another owner has is not ours, either; what was listed before stays listed."""
    await app.apply("known")
    other = Owner(app.inventory.owner.annotation, "elsewhere/other")
    await bench.apply(config_map("theirs"), owner=other)
    bad = [bench.placed(config_map(name)) for name in ("Bad_Name", "theirs", "good")]
    unknown = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "t"}}
    wanted = [*map(Declared, bad), Declared(bench.placed(unknown))]
    done = await app.objects.apply(wanted)
    assert await app.listed() == {"known", "Bad_Name", "theirs", "good", "t"}
    with bench.counted() as calls:
        await app.objects.discard_missing(done)
    assert await app.listed() == {"known", "good"}
    assert calls[0].writes == 1


async def test_what_cannot_be_looked_at_stays_listed(app: Names, bench: Bench) -> None:
    """It may be there: an answer can be lost on its way."""
    done = await app.objects.apply([Declared(bench.placed(config_map("Bad_Name")))])

    async def read(*_: Any, **__: Any) -> Any:
        raise Forbidden("no")

    bench.direct.read = read
    await app.objects.discard_missing(done)
    assert await app.listed() == {"Bad_Name"}


async def test_what_is_protected_stays_and_stays_listed(app: Names) -> None:
    await app.apply("a", "b", "c")
    options = replace(PRUNE, protected=lambda ref: "it is precious" if ref.name == "b" else "")
    changes = await app.apply("a", options=options)
    told = {entry.ref.name: (entry.action, entry.reason) for entry in changes.entries}
    assert told["b"] == (Action.KEPT, "it is precious")
    assert told["c"][0] is Action.DELETED
    assert await app.existing() == await app.listed() == {"a", "b"}
