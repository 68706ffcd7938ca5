"""Kinds of a test's own, in a group of its own, and their objects."""

from collections.abc import Callable
from typing import Any

from tests.support.contract.samples import CRDS
from tests.support.contract.transcript import PATIENCE_SECONDS, Answer, Conversation
from tests.support.waits import until

from certwright.kube import JsonObject

Json = dict[str, Any]

TEXT = {"type": "string"}


def version(name: str, *, storage: bool = False, served: bool = True, **fields: Json) -> Json:
    spec = {"type": "object", "properties": {"size": {"type": "integer"}, **fields}}
    status = {"type": "object", "properties": {"phase": TEXT}}
    return {
        "name": name,
        "served": served,
        "storage": storage,
        "schema": {
            "openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}
        },
        "subresources": {"status": {}},
    }


def group_of(api: Conversation) -> str:
    return f"{api.namespace}.example.com"


def definition(api: Conversation, *versions: Json, plural: str = "things", **names: Any) -> Json:
    """A kind in a group of the test's own."""
    kind = {"plural": plural, "kind": "Thing", **names}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group_of(api)}"},
        "spec": {
            "group": group_of(api),
            "scope": "Namespaced",
            "names": kind,
            "versions": list(versions),
        },
    }


def two_versions(api: Conversation) -> Json:
    return definition(
        api,
        version("v1", storage=True, color={**TEXT, "default": "red"}, both=TEXT),
        version("v1beta1", hue={**TEXT, "default": "blue"}, both=TEXT),
    )


def twins(api: Conversation) -> Json:
    """Versions with the same fields: others lose their owners on the real server."""
    fields: JsonObject = {"color": {**TEXT, "default": "red"}, "both": TEXT}
    return definition(api, version("v1", storage=True, **fields), version("v1beta1", **fields))


class Things:
    """The objects of such a kind."""

    def __init__(self, api: Conversation) -> None:
        self._api = api

    def at(self, version: str, name: str = "") -> str:
        where = f"/apis/{group_of(self._api)}/{version}/namespaces/{{ns}}/things"
        return f"{where}/{name}" if name else where

    def new(self, version: str, name: str = "a", **rest: Any) -> Json:
        return {
            "apiVersion": f"{group_of(self._api)}/{version}",
            "kind": "Thing",
            "metadata": {"name": name, **rest.pop("metadata", {})},
            **rest,
        }


async def install(api: Conversation, manifest: Json, *versions: str) -> Things:
    """Make a kind known and wait until it answers in these versions.

    An earlier definition of the name may answer for a moment, until the new one is established.
    """
    await api.post(CRDS, manifest, recorded=False)
    things = Things(api)
    await answering(api, f"{CRDS}/{manifest['metadata']['name']}", is_("Established", "True"))
    for name in versions:
        await answering(api, things.at(name), lambda answer: answer.status == 200)
    return things


async def answering(api: Conversation, path: str, holds: Callable[[Answer], bool]) -> None:
    """Wait for what the server does a moment after a definition changed."""
    await api.until(path, holds, recorded=False)


async def taking(api: Conversation, path: str, obj: Json, *, accepted: bool) -> None:
    """Wait until a server that ends a kind takes new objects of it, or does not any more.

    What it does follows what the definition says a moment later.
    """

    async def holds() -> bool:
        tried = await api.post(f"{path}?dryRun=All", obj, recorded=False)
        return (tried.status == 201) is accepted

    await until(f"new objects at {path}: accepted={accepted}", holds, PATIENCE_SECONDS)


async def remove(api: Conversation, *plurals: str) -> None:
    """Leave nothing behind on a server that others use as well."""
    for plural in plurals or ("things",):
        await api.delete(f"{CRDS}/{plural}.{group_of(api)}", recorded=False)


def is_(kind: str, status: str, reason: str = "") -> Callable[[Answer], bool]:
    """Whether a condition has a status, and a reason if one is given."""

    def holds(answer: Answer) -> bool:
        conditions = (answer.body.get("status") or {}).get("conditions") or ()
        return any(
            (each["type"], each["status"]) == (kind, status) and reason in {"", each["reason"]}
            for each in conditions
        )

    return holds
