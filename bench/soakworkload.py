"""Random requests of users and controllers; at any time a bounded number of objects is left."""

import asyncio
import contextlib
from base64 import b64encode
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

import orjson

from bench.issuingworkload import USAGES, signing_requests
from certwright.api.certmanager import CertificateRequest
from certwright.api.managedresources import ManagedResource
from certwright.client import Client, Propagation, Selection, WatchOptions
from certwright.issuers.ca import app
from certwright.kube import ApiError, JsonObject, Key, Resource, resource_of
from certwright.kube.kinds import (
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    Event,
    Job,
    Namespace,
    Role,
    Secret,
    Service,
    ServiceAccount,
)

KEPT = 30
"""How many objects of a kind exist at most; the oldest goes when there are more."""
LARGE = 30_000
NAMESPACE = "default"
MANAGED = resource_of(ManagedResource)
SAMPLE = "sample"
"""The issuer that ``certwright up`` brings."""


@dataclass(frozen=True)
class Sort:
    """A sort of object: its kind, and how one of a name is made, and changed."""

    kind: Resource
    make: Callable[["Visitor", str], JsonObject]
    change: Callable[["Visitor"], JsonObject] | None = None


class Visitor:
    """Does one thing after the other; what it makes, it deletes some time later."""

    def __init__(self, client: Client, rng: Random) -> None:
        self._client = client
        self.rng = rng
        self.requests = 0
        self._number = 0
        self._alive: dict[Resource, deque[str]] = {sort.kind: deque() for sort in SORTS}
        self._requests = [*signing_requests([f"soak-{n}" for n in range(20)]).values()]

    def __str__(self) -> str:
        return f"{sum(map(len, self._alive.values()))} objects"

    async def act(self) -> None:
        """Do something at random."""
        weights = [weight for weight, _ in ACTIONS]
        _, action = self.rng.choices(ACTIONS, weights)[0]
        self.requests += 1
        await action(self)

    async def leave(self) -> None:
        """Delete what is left."""
        for kind, names in self._alive.items():
            while names:
                await self._delete(kind, names.popleft())

    # What objects are made of

    def text(self) -> str:
        """Return a text that is seldom long."""
        size = LARGE if self.rng.random() < 0.02 else self.rng.randrange(1, 500)
        return f"{self.rng.random()}".ljust(size, "x")

    def signing_request(self) -> str:
        """Return one of a few signing requests: making keys is not what is measured."""
        return b64encode(self.rng.choice(self._requests)).decode()

    # What it does

    async def create(self) -> None:
        """Create an object under a new name, and delete the oldest of its kind."""
        sort = self.rng.choice(SORTS)
        self._number += 1
        name = f"soak-{self._number}"
        if sort.kind == MANAGED:
            await self._client.create(_manifests(name))
        await self._client.create(sort.make(self, name))
        names = self._alive[sort.kind]
        names.append(name)
        while len(names) > (3 if sort.kind in FEW else KEPT):
            self.requests += 1
            await self._delete(sort.kind, names.popleft())

    async def change(self) -> None:
        """Change an object, by a merge patch or by apply under one of several managers."""
        sort = self.rng.choice([sort for sort in SORTS if sort.change is not None])
        names = self._alive[sort.kind]
        if not names or sort.change is None:
            return
        name, patch = self.rng.choice(names), sort.change(self)
        manager = f"manager-{self.rng.randrange(40)}"
        if self.rng.random() < 0.5:
            key = _key(sort.kind, name)
            await self._client.patch(sort.kind, key, patch, field_manager=manager)
        else:
            head = _head(sort.kind, name)
            metadata = head["metadata"] | patch.pop("metadata", {})
            applied = {**head, **patch, "metadata": metadata}
            await self._client.apply(applied, field_manager=manager)

    async def delete(self) -> None:
        """Delete an object."""
        kind, names = self.rng.choice(list(self._alive.items()))
        if names:
            await self._delete(kind, names.popleft())

    async def read(self) -> None:
        """Read an object, or one that does not exist."""
        kind, names = self.rng.choice(list(self._alive.items()))
        name = self.rng.choice(names) if names and self.rng.random() < 0.7 else f"no-{self._number}"
        await self._client.get(kind, _key(kind, name))

    async def list(self) -> None:
        """List a kind, whole, in pages, or by a label."""
        kind = self.rng.choice([*self._alive, Event])
        labels = f"app=soak-{self._number}" if self.rng.random() < 0.3 else ""
        await self._client.list(kind, labels=labels)

    async def watch(self) -> None:
        """Watch a kind for a moment."""
        kind = self.rng.choice([*self._alive, Event])
        chosen, options = Selection(), WatchOptions(resource_version="")
        with contextlib.suppress(TimeoutError):
            async with (
                asyncio.timeout(self.rng.random() * 3),
                self._client.watch(kind, chosen, options) as lines,
            ):
                async for _ in lines:
                    pass

    async def review(self) -> None:
        """Ask what an account may do, and get a token of it."""
        attributes = {"verb": "get", "resource": f"r-{self._number}", "namespace": NAMESPACE}
        head = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview"}
        spec = {"user": f"user-{self._number}", "resourceAttributes": attributes}
        await self._client.create({**head, "spec": spec})
        request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
        await self._client.create_subresource(
            ServiceAccount,
            Key(NAMESPACE, "default"),
            "token",
            {**request, "spec": {"expirationSeconds": 600}},
        )

    async def err(self) -> None:
        """Send what the server refuses."""
        bad = {**_head(Deployment, f"bad-{self._number}"), "spec": {self.text()[:50]: 1}}
        await self._client.create(bad)

    async def _delete(self, kind: Resource, name: str) -> None:
        with contextlib.suppress(ApiError):
            # By itself the deletion of a Job leaves its pods behind, for good.
            await self._client.delete(kind, _key(kind, name), propagation=Propagation.BACKGROUND)
            if kind == MANAGED:
                await self._client.delete(Secret, Key(NAMESPACE, f"{name}-manifests"))


def _key(kind: Resource, name: str) -> Key:
    if kind == CustomResourceDefinition:
        name = f"{_plural(name)}.example.com"
    return Key(NAMESPACE if kind.namespaced else "", name)


def _head(kind: Resource, name: str) -> JsonObject:
    metadata = {"name": name, "labels": {"app": name}}
    if kind.namespaced:
        metadata["namespace"] = NAMESPACE
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


def _plural(name: str) -> str:
    return name.replace("-", "") + "s"


def _data(visitor: Visitor) -> JsonObject:
    return {"data": {f"key-{visitor.rng.randrange(5)}": visitor.text()}}


def _secret(visitor: Visitor, name: str) -> JsonObject:
    return {**_head(Secret, name), "stringData": {"key": visitor.text()}}


def _pod(name: str, **more: str) -> JsonObject:
    spec = {"containers": [{"name": "c", "image": "nginx"}], **more}
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def _deployment(visitor: Visitor, name: str) -> JsonObject:
    selector = {"matchLabels": {"app": name}}
    spec = {"replicas": visitor.rng.randrange(4), "selector": selector, "template": _pod(name)}
    return {**_head(Deployment, name), "spec": spec}


def _job(_: Visitor, name: str) -> JsonObject:
    return {**_head(Job, name), "spec": {"template": _pod(name, restartPolicy="Never")}}


def _service(_: Visitor, name: str) -> JsonObject:
    return {**_head(Service, name), "spec": {"ports": [{"port": 80}], "selector": {"app": name}}}


def _role(_: Visitor, name: str) -> JsonObject:
    rule = {"apiGroups": [""], "resources": [name], "verbs": ["get"]}
    return {**_head(Role, name), "rules": [rule]}


def _definition(_: Visitor, name: str) -> JsonObject:
    plural, group = _plural(name), "example.com"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    spec = {
        "group": group,
        "scope": "Namespaced",
        "names": {"plural": plural, "singular": plural[:-1], "kind": plural.title()},
        "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
    }
    return {**_head(CustomResourceDefinition, f"{plural}.{group}"), "spec": spec}


def _certificate_request(visitor: Visitor, name: str) -> JsonObject:
    assert app.namespaced_kind is not None
    issuer = app.namespaced_kind.resource
    reference = {"name": SAMPLE, "kind": issuer.kind, "group": issuer.group}
    request = visitor.signing_request()
    spec = {"request": request, "issuerRef": reference, "usages": USAGES}
    return {**_head(CertificateRequest.resource, name), "spec": spec}


def _managed_resource(_: Visitor, name: str) -> JsonObject:
    reference = {"name": f"{name}-manifests"}
    return {**_head(MANAGED, name), "spec": {"secretRefs": [reference]}}


def _manifests(name: str) -> JsonObject:
    """Return the Secret that a ManagedResource refers to."""
    kept = _head(ConfigMap, f"{name}-kept")
    text = orjson.dumps({**kept, "data": {"color": "blue"}}).decode()
    return {**_head(Secret, f"{name}-manifests"), "stringData": {"objects.yaml": text}}


def _annotation(visitor: Visitor) -> JsonObject:
    return {"metadata": {"annotations": {"example.com/soak": visitor.text()[:50]}}}


def _event(visitor: Visitor, name: str) -> JsonObject:
    regarding = {"kind": "ConfigMap", "name": name, "namespace": NAMESPACE}
    return {
        **_head(Event, name),
        "eventTime": "2030-01-02T03:04:05.000001Z",
        "reportingController": "soak",
        "reportingInstance": "soak",
        "action": "Soak",
        "reason": "Soaked",
        "note": visitor.text()[:900],
        "regarding": regarding,
        "type": "Normal",
    }


SORTS = (
    Sort(ConfigMap, lambda visitor, name: {**_head(ConfigMap, name), **_data(visitor)}, _data),
    Sort(Secret, _secret, lambda visitor: {"stringData": {"key": visitor.text()}}),
    Sort(Deployment, _deployment, lambda v: {"spec": {"replicas": v.rng.randrange(4)}}),
    Sort(Job, _job),
    Sort(Service, _service),
    Sort(ServiceAccount, lambda _, name: _head(ServiceAccount, name)),
    Sort(Role, _role),
    Sort(Namespace, lambda _, name: _head(Namespace, name)),
    Sort(CustomResourceDefinition, _definition),
    Sort(resource_of(CertificateRequest), _certificate_request),
    Sort(MANAGED, _managed_resource, _annotation),
    Sort(Event, _event),
)
FEW = (CustomResourceDefinition, Namespace)
ACTIONS: tuple[tuple[int, Callable[[Visitor], Awaitable[None]]], ...] = (
    (40, Visitor.create),
    (35, Visitor.change),
    (5, Visitor.delete),
    (8, Visitor.read),
    (4, Visitor.list),
    (2, Visitor.watch),
    (3, Visitor.review),
    (3, Visitor.err),
)
