"""Waiting until a server serves a kind it has just been told about."""

import asyncio
from collections.abc import Iterator
from typing import Final

from certwright.client.client import Client
from certwright.kube import JsonObject, NotFound, Resource

POLL_SECONDS: Final = 0.05
PATIENCE_SECONDS: Final = 30.0


async def until_served(
    client: Client, definition: JsonObject, *, seconds: float = PATIENCE_SECONDS
) -> None:
    """Return when every served version of a CustomResourceDefinition answers.

    Servers take a moment to notice a definition, and another one to tell of it in discovery.

    Raises:
        TimeoutError: it does not within so many seconds.
    """
    async with asyncio.timeout(seconds):
        for resource in _served_versions(definition["spec"]):
            while not await _answers(client, resource):  # noqa: ASYNC110 - nobody tells us
                await asyncio.sleep(POLL_SECONDS)


def _served_versions(spec: JsonObject) -> Iterator[Resource]:
    names = spec["names"]
    for version in spec["versions"]:
        if version.get("served", True):
            yield Resource(
                spec["group"],
                version["name"],
                names["kind"],
                names["plural"],
                namespaced=spec["scope"] == "Namespaced",
            )


async def _answers(client: Client, resource: Resource) -> bool:
    try:
        await client.list(resource)
        client.discovery.invalidate()  # it follows a moment later
        await client.discovery.resource_for(resource.gvk)
    except NotFound:
        return False
    return True
