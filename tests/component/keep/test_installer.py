"""An installer: rules per object, parts with one inventory, owners of cluster scope."""

from collections.abc import Iterator
from functools import cache

import pytest
from msgspec import Struct, field

from certwright.apply import Action, Change, Declared, ObjectRef, Rules
from certwright.apply.cluster import Live
from certwright.apply.objectset.prune import NO_PRUNE
from certwright.keep import Installer, StatusInventory
from certwright.kube import JsonObject, Key, Object, crd_manifest, custom_resource
from certwright.kube.kinds import ConfigMap
from certwright.runtime import DONE, Context, Controller, Operator, OperatorHost, Outcome, Part
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import config_map


class SuiteSpec(Struct):
    parts: dict[str, list[str]] = {}


class SuiteStatus(Struct):
    inventory: list[str] = []


@custom_resource("demo.certwright.dev", "v1", scope="Cluster")
class Suite(Object):
    """ConfigMaps in several parts, for the whole cluster."""

    spec: SuiteSpec = field(default_factory=SuiteSpec)
    status: SuiteStatus = field(default_factory=SuiteStatus)


def placed(name: str) -> JsonObject:
    obj = config_map(name, {"part": name})
    return {**obj, "metadata": {**obj["metadata"], "namespace": "default"}}


class Rig:
    """The operator of Suites, and what its passes saw."""

    def __init__(self) -> None:
        self.repaired: list[ObjectRef] = []
        self.looked_at: list[str] = []
        self.declared = cache(lambda name: Declared(placed(name), rules(name)))
        self.operator = Operator("suites", self.build, kinds=[Suite])

    def build(self, host: OperatorHost) -> Iterator[Part]:
        installer = Installer(host, "suites", domain="demo.certwright.dev")

        async def reconcile(ctx: Context, key: Key) -> Outcome:
            suite = ctx.get(Suite, key)
            if suite is None:
                return DONE
            if suite.metadata.deletion_timestamp is not None:
                kept = [ObjectRef.parse(one) for one in suite.status.inventory if "keep" in one]
                inventory = StatusInventory(ctx, suite, suite.status.inventory)
                await installer.release(ctx, suite, inventory, kept)
                await installer.delete(ctx, suite, inventory)
                await installer.let_go(ctx, suite)
                return DONE
            parts = {
                part: [self.declared(name) for name in names]
                for part, names in suite.spec.parts.items()
            }
            later = [one.ref for names in parts.values() for one in names]
            inventory = StatusInventory(ctx, suite, suite.status.inventory, later)
            for part, objects in parts.items():
                changes = await installer.install(
                    ctx, suite, inventory, objects, options=NO_PRUNE, part=part, on_entry=self.look
                )
                self.repaired += changes.repaired
            return DONE

        yield installer.cache
        yield Controller(Suite, reconcile, channels=[installer.channel])

    def look(self, entry: Change, live: Live | None) -> None:
        del live
        if entry.action is not Action.KEPT:  # an object of another part
            self.looked_at.append(entry.ref.name)

    def seen(self) -> list[str]:
        """Return the objects that were looked at since this was asked last."""
        seen, self.looked_at = self.looked_at, []
        return sorted(seen)


def rules(name: str) -> Rules:
    return Rules(ignored=(("data", "theirs"),)) if name == "shared" else Rules()


def suite(**parts: list[str]) -> JsonObject:
    return {
        "apiVersion": "demo.certwright.dev/v1",
        "kind": "Suite",
        "metadata": {"name": "all"},
        "spec": {"parts": parts},
    }


@pytest.fixture
async def cluster(embedded_cluster: EmbeddedCluster) -> EmbeddedCluster:
    await embedded_cluster.install(crd_manifest(Suite))
    return embedded_cluster


async def test_all_parts_are_in_the_inventory_before_the_first(cluster: EmbeddedCluster) -> None:
    rig = Rig()
    await cluster.create(suite(first=["a"], second=["b", "c"]))
    calls = await cluster.settle(rig.operator)
    written = [call for call in calls if call.verb in {"create", "patch"}]
    kinds = [call.resource.kind for call in written if call.resource and call.resource.kind]
    assert kinds == ["Suite", "Suite", "ConfigMap", "ConfigMap", "ConfigMap"]
    listed = (await cluster.get(Suite, "all")).status.inventory
    assert listed == [f"v1/ConfigMap/default/{name}" for name in ("a", "b", "c")]


async def test_drift_in_a_part_wakes_an_owner_of_cluster_scope(cluster: EmbeddedCluster) -> None:
    rig = Rig()
    await cluster.create(suite(first=["a"], second=["b", "shared"]))
    await cluster.settle(rig.operator)
    await cluster.patch(ConfigMap, "b", {"data": {"part": "x"}})
    await cluster.patch(ConfigMap, "shared", {"data": {"theirs": "x"}})
    await cluster.settle()
    assert (await cluster.get(ConfigMap, "b"))["data"] == {"part": "b"}
    assert (await cluster.get(ConfigMap, "shared"))["data"] == {"part": "shared", "theirs": "x"}
    assert [ref.name for ref in rig.repaired] == ["b"]


async def touched(cluster: EmbeddedCluster, number: int) -> None:
    annotations = {"metadata": {"annotations": {"touched": str(number)}}}
    await cluster.patch(Suite, "all", annotations)
    await cluster.settle()


async def test_a_part_is_looked_at_again_when_it_changes(cluster: EmbeddedCluster) -> None:
    rig = Rig()
    await cluster.create(suite(first=["a"], second=["b", "c"]))
    await cluster.settle(rig.operator)
    await touched(cluster, 1)
    assert set(rig.seen()) == {"a", "b", "c"}
    await touched(cluster, 2)
    assert rig.seen() == []

    await cluster.patch(ConfigMap, "b", {"data": {"part": "x"}})
    await cluster.settle()
    assert set(rig.seen()) == {"b", "c"}
    assert (await cluster.get(ConfigMap, "b"))["data"] == {"part": "b"}

    await cluster.delete(ConfigMap, "a")
    await cluster.settle()
    assert "a" in rig.seen()
    assert await cluster.find(ConfigMap, "a") is not None

    change: JsonObject = {"status": {"inventory": []}}
    await cluster.patch(Suite, "all", change, subresource="status")
    await cluster.settle()
    assert len((await cluster.get(Suite, "all")).status.inventory) == 3

    await cluster.patch(Suite, "all", {"spec": {"parts": {"second": ["b", "c", "d"]}}})
    await cluster.settle()
    assert await cluster.find(ConfigMap, "d") is not None


async def test_what_is_released_stays(cluster: EmbeddedCluster) -> None:
    rig = Rig()
    await cluster.create(suite(first=["a", "keep"]))
    await cluster.settle(rig.operator)
    await cluster.delete(Suite, "all")
    await cluster.settle()
    assert await cluster.find(ConfigMap, "a") is None
    kept = await cluster.get(ConfigMap, "keep")
    assert "demo.certwright.dev/owner" not in kept["metadata"].get("annotations", {})
    assert await cluster.find(Suite, "all") is None
