"""One object as it changes: read once, then told by the server."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

import orjson

from certwright.client import (
    Client,
    ConnectFailed,
    ConnectionLost,
    Selection,
    Timeout,
    WatchOptions,
)
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
    client: Client, resource: Resource, key: Key
) -> AsyncGenerator[JsonObject | None, None]:
    """Yield an object as it is and then after each change; None while there is none.

    Never ends. Watches that break are started again and miss nothing that lasts.

    Raises:
        ApiError: it cannot be read at all: no access, no such kind.
    """
    failures = 0
    while True:
        listing = await client.list(resource, key.namespace, fields=f"metadata.name={key.name}")
        yield listing.items[0] if listing.items else None
        try:
            async for obj in _changes(client, resource, key, listing.resource_version):
                failures = 0
                yield obj
        except _PASSING:
            failures += 1
        await asyncio.sleep(_PAUSE_SECONDS[min(failures, len(_PAUSE_SECONDS) - 1)])


async def _changes(
    client: Client, resource: Resource, key: Key, version: str
) -> AsyncGenerator[JsonObject | None, None]:
    """Yield what one watch tells, until the server ends it."""
    selection = Selection(key.namespace, fields=f"metadata.name={key.name}")
    options = WatchOptions(resource_version=version, bookmarks=False)
    async with client.watch(resource, selection, options) as batches:
        async for lines in batches:
            for line in lines:
                event = orjson.loads(line)
                match event["type"]:
                    case "ERROR":
                        status = event["object"]
                        raise ApiError.from_status(status.get("code") or 500, status)
                    case "DELETED":
                        yield None
                    case _:
                        yield event["object"]
