"""Objects as they change: read once, then told by the server."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from typing import Final

from certwright.client import (
    Client,
    ConnectFailed,
    ConnectionLost,
    Selection,
    Timeout,
    WatchOptions,
)
from certwright.client.responses import to_event
from certwright.kube import (
    ApiError,
    Gone,
    InternalError,
    JsonObject,
    Key,
    Resource,
    ServerTimeout,
    ServiceUnavailable,
    TooManyRequests,
)

_PASSING: Final = (
    ConnectFailed, ConnectionLost, Timeout,
    Gone, InternalError, ServerTimeout, ServiceUnavailable, TooManyRequests,
)  # fmt: skip
"""What a watch meets that the next one may not."""

_PAUSE_SECONDS: Final = (0.1, 0.5, 1.0, 2.0, 5.0)
"""How long to wait before watching again; the last repeats."""


async def follow(
    client: Client, resource: Resource, selection: Selection
) -> AsyncGenerator[Mapping[Key, JsonObject], None]:
    """Yield the selected objects of a kind as they are, and again after each change.

    Never ends. Watches that break are started again and miss nothing that lasts. Raises `ApiError`
    if the objects cannot be read at all: no access, no such kind.
    """
    head = {"apiVersion": resource.api_version, "kind": resource.kind}
    failures = 0
    while True:
        listing = await client.list(
            resource, selection.namespace, labels=selection.labels, fields=selection.fields
        )
        objects = {_key(item): {**head, **item} for item in listing.items}
        yield objects
        options = WatchOptions(resource_version=listing.resource_version, bookmarks=False)
        try:
            async with client.watch(resource, selection, options) as batches:
                async for lines in batches:
                    for line in lines:
                        _take(objects, line)
                    failures = 0
                    yield objects
        except _PASSING:
            failures += 1
        await asyncio.sleep(_PAUSE_SECONDS[min(failures, len(_PAUSE_SECONDS) - 1)])


def _take(objects: dict[Key, JsonObject], line: bytes) -> None:
    """Take in what a watch tells."""
    event = to_event(line)
    obj = event["object"]
    match event["type"]:
        case "ERROR":
            raise ApiError.from_status(obj.get("code") or 500, obj)
        case "DELETED":
            objects.pop(_key(obj), None)
        case _:
            objects[_key(obj)] = obj


def _key(obj: JsonObject) -> Key:
    return Key(obj["metadata"].get("namespace") or "", obj["metadata"]["name"])
