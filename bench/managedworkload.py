"""ManagedResources of three small objects each, and what a witness sees become of them."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import msgspec

from certwright.api.managedresources import ManagedResource
from certwright.client import Client
from certwright.kube import JsonObject, Key, Object, Resource
from certwright.kube.kinds import ConfigMap, Secret, ServiceAccount
from certwright.runtime import Cache, Entry

KINDS = (ConfigMap, Secret, ServiceAccount)
BATCH = 50

_OBJECTS = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
  namespace: {namespace}
  labels:
    app: {name}
data:
  settings.yaml: |
    logLevel: info
    endpoints: [one.example.com, two.example.com]
---
apiVersion: v1
kind: Secret
metadata:
  name: {name}
  namespace: {namespace}
type: Opaque
data:
  token: c2VjcmV0LXRva2Vu
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {name}
  namespace: {namespace}
automountServiceAccountToken: false
"""


def names(count: int) -> list[str]:
    """Return the names of that many ManagedResources."""
    return [f"unit-{number:04d}" for number in range(count)]


def keys(namespace: str, count: int) -> list[Key]:
    """Return their keys."""
    return [Key(namespace, name) for name in names(count)]


def manifests(namespace: str, name: str) -> str:
    """Return the three objects of one ManagedResource."""
    return _OBJECTS.format(namespace=namespace, name=name)


def source(namespace: str, name: str) -> JsonObject:
    """Return the Secret with the manifests."""
    text = manifests(namespace, name).encode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"managedresource-{name}", "namespace": namespace},
        "data": {"objects.yaml": base64.b64encode(text).decode()},
    }


def unit(namespace: str, name: str) -> JsonObject:
    """Return the ManagedResource."""
    return {
        "apiVersion": "resources.gardener.cloud/v1alpha1",
        "kind": "ManagedResource",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"secretRefs": [{"name": f"managedresource-{name}"}]},
    }


async def create_all(client: Client, objects: Iterable[JsonObject]) -> None:
    """Create objects, some at a time."""
    await _each([partial(client.create, obj) for obj in objects])


async def delete_all(client: Client, kind: type[Object] | Resource, of: Iterable[Key]) -> None:
    """Delete objects one by one, some at a time.

    In a request for all of them the API server deletes one after the other: a subject that
    waits for that cannot be faster, and 30,000 take longer than it gives a request.
    """
    await _each([partial(client.delete, kind, key) for key in of])


async def _each(calls: Sequence[Callable[[], Coroutine[Any, Any, object]]]) -> None:
    for first in range(0, len(calls), BATCH):
        async with asyncio.TaskGroup() as group:
            for call in calls[first : first + BATCH]:
                group.create_task(call())


class _Condition(msgspec.Struct):
    type: str
    status: str


class _Status(msgspec.Struct):
    conditions: list[_Condition] = []


class _Unit(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


_UNIT = msgspec.json.Decoder(_Unit)
_WELL = {("ResourcesApplied", "True"), ("ResourcesHealthy", "True")}


class Witness:
    """Sees ManagedResources become applied and healthy, and disappear."""

    def __init__(self) -> None:
        self._well: set[Key] = set()
        self._there: set[Key] = set()

    def on_change(self, old: Entry | None, new: Entry | None) -> None:
        if new is None:
            assert old is not None
            self._there.discard(old.key)
            self._well.discard(old.key)
            return
        self._there.add(new.key)
        conditions = _UNIT.decode(new.raw).status.conditions
        if {(c.type, c.status) for c in conditions} >= _WELL:
            self._well.add(new.key)
        else:
            self._well.discard(new.key)

    async def sees_well(self, count: int) -> None:
        """Return when so many are applied and healthy."""
        while len(self._well) < count:
            await asyncio.sleep(0.005)

    async def sees_none(self) -> None:
        """Return when all are gone."""
        while self._there:
            await asyncio.sleep(0.005)


@asynccontextmanager
async def witnessed(client: Client, namespace: str) -> AsyncIterator[Witness]:
    """Watch the ManagedResources of a namespace for the duration of the context."""
    witness, cache = Witness(), Cache(client)
    async with asyncio.TaskGroup() as group:
        share = cache.store(ManagedResource, namespace=namespace)
        share.listen(witness.on_change)
        watching = group.create_task(cache.run())
        await share.synced()
        yield witness
        watching.cancel()
