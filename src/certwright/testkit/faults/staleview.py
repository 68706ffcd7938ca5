"""Old news: lists and watches that show the state of some time ago.

A controller that restarts, or reconnects to another API server, may be served from a watch
cache that is seconds behind. A `StaleView` serves any earlier revision that the server
still remembers, and releases what happened since when its time is up.

What feeds a cache is behind: watches, the list that a watch begins with (a server would show the
present there, and be late with what follows), and lists whose resourceVersion allows it. Who asks
for the present gets it: by reading a single object, or by a list without resourceVersion.
"""

import asyncio
from dataclasses import dataclass, replace

import orjson

from certwright.client.transport import Request, Response, Transport
from certwright.kube.objects import JsonObject

_PLACE_IN_HISTORY = frozenset(
    {"resourceVersion", "resourceVersionMatch", "continue", "limit", "sendInitialEvents"}
)


@dataclass(frozen=True, slots=True)
class StaleView:
    """The state as of *revision*, shown until the loop's time reaches *until*."""

    revision: str
    until: float

    def is_current(self) -> bool:
        """Return whether the past is still being shown."""
        return asyncio.get_running_loop().time() < self.until

    def may_answer(self, request: Request) -> bool:
        """Return whether a server that shows the past may answer a list with it.

        A list without resourceVersion asks for the present, or goes on where its token says. Any
        other asks for what is not older than a version, unless for exactly that one.
        """
        asked = dict(request.query)
        version = asked.get("resourceVersion", "")
        if request.verb != "list" or asked.get("resourceVersionMatch") == "Exact":
            return False
        old_enough = version.isdecimal() and int(version) <= int(self.revision)
        return old_enough and self.is_current()

    async def release(self) -> None:
        """Return when the present may be shown."""
        await asyncio.sleep(max(0.0, self.until - asyncio.get_running_loop().time()))

    async def answer_list(self, transport: Transport, request: Request) -> Response:
        """Answer a list with the past, in one page; with the present if the past is forgotten."""
        response = await transport.send(self._exact_list(request))
        return response if response.status == 200 else await transport.send(request)

    async def initial_events(self, transport: Transport, request: Request) -> list[bytes] | None:
        """Return the lines a streaming list begins with; None if the past is forgotten."""
        response = await transport.send(self._exact_list(request))
        if response.status != 200 or request.resource is None:
            return None
        type_meta = {"apiVersion": request.resource.api_version, "kind": request.resource.kind}
        items = orjson.loads(response.body)["items"] or ()  # null when only metadata is asked for
        lines = [_line("ADDED", type_meta | item) for item in items]
        metadata = {
            "resourceVersion": self.revision,
            "annotations": {"k8s.io/initial-events-end": "true"},
        }
        return [*lines, _line("BOOKMARK", type_meta | {"metadata": metadata})]

    def continue_watch(self, request: Request) -> Request:
        """Return the watch that delivers everything since the past."""
        query = _without_place(request)
        return replace(request, query=(*query, ("resourceVersion", self.revision)))

    def _exact_list(self, request: Request) -> Request:
        query = [pair for pair in _without_place(request) if pair[0] not in _WATCH_ONLY]
        query += [("resourceVersion", self.revision), ("resourceVersionMatch", "Exact")]
        headers = tuple(
            (name, value.replace("PartialObjectMetadata;", "PartialObjectMetadataList;"))
            for name, value in request.headers
        )
        return replace(request, verb="list", query=tuple(query), headers=headers)


_WATCH_ONLY = frozenset({"watch", "allowWatchBookmarks", "timeoutSeconds"})


def _without_place(request: Request) -> list[tuple[str, str]]:
    return [pair for pair in request.query if pair[0] not in _PLACE_IN_HISTORY]


def _line(type_: str, obj: JsonObject) -> bytes:
    return orjson.dumps({"type": type_, "object": obj}) + b"\n"
