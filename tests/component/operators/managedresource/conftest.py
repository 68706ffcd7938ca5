"""ManagedResources on a cluster, in few words.

::

    @pytest.mark.scenario("MR-23")
    async def test_reverts_edits(keeping):
        await keeping.declare("web", config_map("settings", {"color": "blue"}))
        await keeping.settle()
        await keeping.cluster.patch(ConfigMap, "settings", {"data": {"color": "red"}})
        calls = await keeping.settle()
        assert (await keeping.find(ConfigMap, "settings"))["data"] == {"color": "blue"}
        assert calls.by_kind["ConfigMap"] == 1

``keeping`` runs on both servers, ``embedded_keeping`` on the embedded one, where time can be
advanced. Objects without a namespace go into that of the test; the installation's label has the
name of that namespace too, so tests on a shared server do not see each other.

Scenarios run with our definition of ManagedResource and with the one that Gardener installs.
"""

import base64
import os
from collections.abc import Callable
from datetime import timedelta
from functools import cache, partial
from typing import Any

import orjson
import pytest
from msgspec.structs import replace
from tests.support.waits import until

from certwright.api.managedresources import ManagedResource
from certwright.apply import pack_brotli
from certwright.client import Client
from certwright.kube import JsonObject, Object, Resource, crd_manifest, resource_of
from certwright.kube.kinds import BUILT_IN, Event, Secret
from certwright.operators.managedresource import Configuration, resource_operator
from certwright.operators.managedresource.configuration import (
    ClientConnection,
    Controllers,
    GarbageCollectorSettings,
    HealthSettings,
    ManagedResourceSettings,
)
from certwright.runtime import Operator
from certwright.testkit import Calls, Cluster, EmbeddedCluster
from certwright.testkit.controlplane import AssetsMissing
from certwright.testkit.gardener import gardener_definition

CLUSTER_WIDE = {kind.kind for kind in BUILT_IN if not kind.namespaced}
MR = ManagedResource.resource
CERTWRIGHT, GARDENER = "certwright", "gardener"
"""Whose definition of ManagedResource is installed."""
CHOSEN = os.environ.get("CERTWRIGHT_TEST_DEFINITION", "")
"""The only one to test with. Without it, tests use ours, and of those that show a scenario one on
the embedded server uses Gardener's as well. `make test-real` runs them all with Gardener's."""
NOTED: dict[str, tuple[str, Callable[[Any], str | None]]] = {
    "suspend": ("resources.certwright.dev/suspend", lambda value: "true" if value else None),
    "dependsOn": (
        "resources.certwright.dev/depends-on",
        lambda value: ",".join(one["name"] for one in value),
    ),
}
"""What annotations say where Gardener's definition has no field for it."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    shown = _one_of_each_scenario(items)
    chosen = [item for item in items if _is_chosen(item, shown)]
    if len(chosen) < len(items):
        left_out = set(items).difference(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = chosen


def _definition_of(item: pytest.Item) -> str | None:
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    found: str | None = parameters.get("definition")
    return found


def _one_of_each_scenario(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return for each scenario one test with Gardener's definition on the embedded server."""
    theirs = [
        item
        for item in items
        if _definition_of(item) == GARDENER and not item.get_closest_marker("real")
    ]
    theirs.sort(key=lambda item: item.nodeid, reverse=True)
    first = {each.args[0]: item for item in theirs for each in item.iter_markers("scenario")}
    return set(first.values())


def _is_chosen(item: pytest.Item, shown: set[pytest.Item]) -> bool:
    definition = _definition_of(item)
    if definition is None:
        return True
    if CHOSEN:
        return definition == CHOSEN
    return definition == CERTWRIGHT or item in shown


class Keeping:
    """A cluster, an operator that keeps ManagedResources on it, and words for both."""

    def __init__(self, cluster: Cluster, definition: str = CERTWRIGHT) -> None:
        self.definition = definition
        self.cluster: Any = cluster  # tests on the embedded one advance its time
        self.kind = MR
        self.namespace = cluster.namespace
        self.label = f"resources.gardener.cloud/managed-by={cluster.namespace}"
        self.running: Operator | None = None
        self._installed = False

    # Declaring

    def secret_with(
        self,
        name: str,
        *documents: str | JsonObject,
        key: str = "objects.yaml",
        brotli: bool = False,
        **metadata: Any,
    ) -> JsonObject:
        """Return a Secret that holds objects, or texts as they are; all of it as YAML."""
        value = b"# YAML, as the first character says\n"
        value += b"---\n".join(self._document(document) for document in documents)
        if brotli:
            value, key = pack_brotli(value), f"{key}.br"
        data = {key: base64.b64encode(value).decode()} if documents else {}
        return self.secret_of(name, data, **metadata)

    def secret_of(self, name: str, data: dict[str, str], **metadata: Any) -> JsonObject:
        """Return a Secret with data as the API has it."""
        metadata = {"name": name, "namespace": self.namespace, **metadata}
        return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}

    def managed_resource(
        self, name: str, *secrets: str, annotations: Any = None, **spec: Any
    ) -> JsonObject:
        """Return a ManagedResource that refers to Secrets by name; *spec* is as in the API."""
        spec, noted = self._spec(spec)
        annotations = {**(annotations or {}), **noted}
        metadata = {"name": name, "namespace": self.namespace, "annotations": annotations}
        references = [{"name": secret} for secret in secrets]
        return {
            "apiVersion": MR.api_version,
            "kind": MR.kind,
            "metadata": metadata,
            "spec": {"secretRefs": references, **spec},
        }

    async def declare(
        self,
        name: str,
        *documents: str | JsonObject,
        annotations: Any = None,
        **spec: Any,
    ) -> None:
        """Create a Secret with objects and a ManagedResource that refers to it, both *name*."""
        await self.install()
        await self.cluster.create(self.secret_with(name, *documents))
        await self.cluster.create(
            self.managed_resource(name, name, annotations=annotations, **spec)
        )

    async def declare_data(self, name: str, data: JsonObject, **spec: Any) -> None:
        """Create a Secret whose keys hold texts or bytes as they are, and its ManagedResource."""
        await self.install()
        await self.cluster.create(self.secret_of(name, encoded(data)))
        await self.cluster.create(self.managed_resource(name, name, **spec))

    async def rewrite_data(self, name: str, data: JsonObject) -> None:
        """Let a Secret have other keys with texts or bytes as they are."""
        current = (await self.cluster.get(Secret, name)).get("data") or {}
        gone = {key: None for key in current if key not in data}
        await self.cluster.patch(Secret, name, {"data": {**encoded(data), **gone}})

    async def rewrite(self, name: str, *documents: str | JsonObject, **keywords: Any) -> None:
        """Let a Secret hold other objects."""
        current = (await self.cluster.get(Secret, name)).get("data") or {}
        data = self.secret_with(name, *documents, **keywords)["data"]
        gone = {key: None for key in current if key not in data}
        await self.cluster.patch(Secret, name, {"data": {**data, **gone}})

    async def annotate(self, name: str, annotation: str, value: str | None) -> None:
        """Put an annotation on a ManagedResource, or take it off with None."""
        await self.cluster.patch(MR, name, {"metadata": {"annotations": {annotation: value}}})

    async def change(self, name: str, **spec: Any) -> None:
        """Change fields of the spec of a ManagedResource."""
        spec, noted = self._spec(spec)
        await self.cluster.patch(MR, name, {"spec": spec, "metadata": {"annotations": noted}})

    @property
    def reports_objects(self) -> bool:
        """Whether the definition has the fields of the status that list objects in trouble."""
        return self.definition == CERTWRIGHT

    def _spec(self, spec: JsonObject) -> tuple[JsonObject, JsonObject]:
        """Return what the spec says, and annotations for what its definition does not have."""
        if self.reports_objects:
            return spec, {}
        rest = {name: value for name, value in spec.items() if name not in NOTED}
        return rest, {key: note(spec[name]) for name, (key, note) in NOTED.items() if name in spec}

    async def install(self) -> None:
        """Install the definition of ManagedResource, once."""
        if not self._installed:
            self._installed = True
            await self.cluster.provide(self.definition_manifest())

    def definition_manifest(self) -> JsonObject:
        """Return the definition of ManagedResource; skip the test if it cannot be had here."""
        try:
            manifest: JsonObject = orjson.loads(_manifest(self.definition))
        except AssetsMissing as missing:
            pytest.skip(f"{missing}; then run python -m certwright.testkit.gardener")
        return manifest

    def placed(self, obj: JsonObject) -> JsonObject:
        """Return an object in the namespace of the test, if its kind has one."""
        metadata = obj.get("metadata") or {}
        if obj.get("kind") in CLUSTER_WIDE or "namespace" in metadata:
            return obj
        return {**obj, "metadata": {**metadata, "namespace": self.namespace}}

    def json(self, obj: JsonObject) -> str:
        """Return an object in the namespace of the test, as JSON on one line."""
        return orjson.dumps(self.placed(obj)).decode()

    def _document(self, document: str | JsonObject) -> bytes:
        text = document if isinstance(document, str) else self.json(document)
        return text.encode() + b"\n"

    # Running

    def operator(
        self,
        *,
        target: Client | None = None,
        identity: str = "",
        resource_class: str = "resources",
        garbage_collector: GarbageCollectorSettings | None = None,
        health: bool = True,
        health_period: timedelta = timedelta(minutes=1),
        target_namespaces: list[str] | tuple[Any, ...] = (),
        **settings: Any,
    ) -> Operator:
        """Return an operator confined to the test's namespace; *settings* are managedResource's."""
        managed = ManagedResourceSettings(managed_by_label_value=self.namespace)
        return resource_operator(
            Configuration(
                source_client_connection=ClientConnection(namespaces=(self.namespace,)),
                target_client_connection=ClientConnection(namespaces=tuple(target_namespaces)),
                controllers=Controllers(
                    resource_class=resource_class,
                    managed_resource=replace(managed, **settings),
                    health=HealthSettings(enabled=health, sync_period=health_period),
                    garbage_collector=garbage_collector or GarbageCollectorSettings(),
                ),
            ),
            target=target,
            identity=identity,
        )

    async def settle(self, operator: Operator | None = None) -> Calls:
        """Run the operator until it rests; return what it asked of the server."""
        await self.install()
        self.running = operator or self.running or self.operator()
        calls: Calls = await self.cluster.settle(self.running)
        return calls

    async def restart(self) -> Calls:
        """Start the operator again with nothing in mind, and let it rest."""
        assert self.running is not None
        calls: Calls = await self.cluster.restart(self.running)
        return calls

    async def until_healthy(self, name: str) -> Calls:
        """Wait for what only time brings (a retry, another controller), and settle."""

        async def healthy() -> bool:
            return await self.conditions(name) == HEALTHY

        await until(f"ManagedResource {name} is healthy", healthy)
        return await self.settle()

    # Looking

    async def get(self, name: str) -> JsonObject:
        """Return a ManagedResource."""
        found: JsonObject = await self.cluster.get(MR, name)
        return found

    async def status(self, name: str) -> JsonObject:
        """Return the status of a ManagedResource."""
        return (await self.get(name)).get("status") or {}

    async def conditions(self, name: str) -> JsonObject:
        """Return the conditions, by type without "Resources": ``{"Applied": "True/…", …}``."""
        return {
            condition["type"].removeprefix("Resources"): (
                f"{condition['status']}/{condition['reason']}"
            )
            for condition in (await self.status(name)).get("conditions", ())
        }

    async def message(self, name: str, type_: str = "Applied") -> str:
        """Return the message of a condition."""
        for condition in (await self.status(name)).get("conditions", ()):
            if condition["type"].removeprefix("Resources") == type_:
                value: str = condition["message"]
                return value
        raise LookupError(f"{name} has no condition {type_}")

    async def inventory(self, name: str) -> list[str]:
        """Return the inventory as ``Kind/name``, in its order."""
        resources = (await self.status(name)).get("resources", ())
        return [f"{e['kind']}/{e['name']}" for e in resources if "fieldPath" not in e]

    async def shards(self, name: str) -> list[str]:
        """Return the names of the ConfigMaps that hold the rest of an inventory."""
        resources = (await self.status(name)).get("resources", ())
        return [e["name"] for e in resources if e.get("fieldPath") == "data.inventory"]

    async def find(self, kind: type[Object] | Resource, name: str) -> Any:
        """Return an object, or None."""
        return await self.cluster.find(kind, name)

    async def exists(self, kind: type[Object] | Resource, *names: str) -> set[str]:
        """Return which of these objects exist."""
        return {name for name in names if await self.cluster.find(kind, name) is not None}

    async def events(self, reason: str) -> list[str]:
        """Return the notes of the events with a reason."""
        found = await self.cluster.list(resource_of(Event))
        return [event["note"] for event in found if event["reason"] == reason]


@cache
def _manifest(definition: str) -> bytes:
    """Return a definition as JSON: to read Gardener's YAML takes longer than most tests."""
    ours = definition == CERTWRIGHT
    return orjson.dumps(crd_manifest(ManagedResource) if ours else gardener_definition())


def encoded(data: JsonObject) -> JsonObject:
    """Return texts or bytes as the data of a Secret."""
    stored = {key: v.encode() if isinstance(v, str) else v for key, v in data.items()}
    return {key: base64.b64encode(value).decode() for key, value in stored.items()}


class Toys:
    """A custom kind whose group is the test's own: definitions are cluster-wide."""

    def __init__(self, namespace: str) -> None:
        self.group = f"{namespace}.certwright.dev"
        self.resource = Resource(self.group, "v1", "Toy", "toys")
        self.name = f"toys.{self.group}"

    def definition(self) -> JsonObject:
        names = {"kind": "Toy", "plural": "toys", "singular": "toy", "listKind": "ToyList"}
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": anything},
            "subresources": {"status": {}},
        }
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "names": names,
                "scope": "Namespaced",
                "versions": [version],
            },
        }

    def toy(self, name: str, **spec: Any) -> JsonObject:
        return {
            "apiVersion": f"{self.group}/v1",
            "kind": "Toy",
            "metadata": {"name": name},
            "spec": spec,
        }


HEALTHY = {
    "Applied": "True/ApplySucceeded",
    "Healthy": "True/ResourcesHealthy",
    "Progressing": "False/ResourcesRolledOut",
    "Ready": "True/ResourcesHealthy",
}


@pytest.fixture(params=[CERTWRIGHT, GARDENER])
def definition(request: pytest.FixtureRequest) -> str:
    """Return whose definition of ManagedResource is installed."""
    whose: str = request.param
    return whose


@pytest.fixture
def keeping(cluster: Cluster, definition: str) -> Keeping:
    return Keeping(cluster, definition)


@pytest.fixture
def embedded_keeping(embedded_cluster: EmbeddedCluster, definition: str) -> Keeping:
    return Keeping(embedded_cluster, definition)


KeepingOn = Callable[[Cluster], Keeping]


@pytest.fixture
def keeping_on(definition: str) -> KeepingOn:
    """Make an operator for a cluster of the test's own."""
    return partial(Keeping, definition=definition)


@pytest.fixture
def toys(request: pytest.FixtureRequest) -> Toys:
    """A custom kind that is not served yet."""
    name = "embedded_keeping" if "embedded_keeping" in request.fixturenames else "keeping"
    return Toys(request.getfixturevalue(name).namespace)


@pytest.fixture
def healthy() -> JsonObject:
    """What the conditions of a ManagedResource say when all is well."""
    return HEALTHY
