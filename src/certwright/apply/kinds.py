"""Whether a cluster has a kind: what discovery says, and what is certain.

What discovery says is remembered for some seconds, and a server lists a new kind there a moment
after it serves it. For applying objects that is good enough: it is tried again. An object does not
count as gone, however, because its kind seems to be: its definition would be deleted next, and
with it whatever is there.
"""

import orjson

from certwright.client import Client
from certwright.kube import (
    Forbidden,
    GroupVersionKind,
    JsonObject,
    NotFound,
    Resource,
    is_true,
)
from certwright.kube.conditions import conditions_of
from certwright.kube.kinds import CustomResourceDefinition


class UnknownKind(NotFound):
    """The cluster does not serve a kind (yet); the message names it and says what to do."""

    def __init__(self, gvk: GroupVersionKind) -> None:
        super().__init__(
            f'no matches for kind "{gvk.kind}" in version "{gvk.api_version}"; install its '
            "CustomResourceDefinition, or correct apiVersion and kind"
        )
        self.gvk = gvk


def is_of_kind(error: NotFound) -> bool:
    """Return whether it is the kind that was not found, or what answered is no API server.

    Of an object that it does not have, an API server says which one.
    """
    return not error.details


async def other_version(client: Client, gvk: GroupVersionKind) -> Resource | None:
    """Return how the server lists a kind, in whatever version: objects outlive versions."""
    listed = await client.discovery.resources()
    found = [one for one in listed if (one.group, one.kind) == (gvk.group, gvk.kind)]
    return min(found, key=lambda one: one.version != gvk.version, default=None)


async def defined_kind(client: Client, gvk: GroupVersionKind) -> Resource | None:
    """Return how a CustomResourceDefinition says that a kind is served; None if none defines it.

    None also for a user that may not list definitions.
    """
    if "." not in gvk.group:
        return None  # those of Kubernetes itself are not defined this way
    try:
        pages = client.pages(CustomResourceDefinition, metadata_only=True)
        names = [_name(bytes(item)) async for page in pages for item in page.items]
        for name in names:
            if name.partition(".")[2] != gvk.group:
                continue
            # Not by its name: who may list definitions may not always get them.
            only = await client.list(CustomResourceDefinition, fields=f"metadata.name={name}")
            for definition in only.items:
                if (found := served_by(definition, gvk)) is not None:
                    return found
    except Forbidden:
        pass
    return None


def served_by(definition: JsonObject, gvk: GroupVersionKind) -> Resource | None:
    """Return how a definition serves a kind, in another version if need be; None if it does not.

    As long as its names were not accepted, it has no objects.
    """
    spec, conditions = definition["spec"], conditions_of(definition)
    if (spec["group"], spec["names"]["kind"]) != (gvk.group, gvk.kind):
        return None
    if not is_true(conditions, "NamesAccepted") and not is_true(conditions, "Established"):
        return None
    versions = sorted(
        spec["versions"],
        key=lambda one: (not one.get("served"), one["name"] != gvk.version),
    )
    names, namespaced = spec["names"], spec["scope"] == "Namespaced"
    return Resource(gvk.group, versions[0]["name"], gvk.kind, names["plural"], namespaced)


def _name(raw: bytes) -> str:
    return str(orjson.loads(raw)["metadata"]["name"])
