"""An API server that serves Deployments from memory, serialised in advance: it never waits.

``python -m bench.cannedserver OBJECTS EVENTS`` prints its port. It knows discovery, lists in
pages, watches with and without a streaming list, and holds the events of a watch back until
``POST /bench/release?events=N`` lets N more go. ``GET /bench/usage`` tells what was asked.
"""

import asyncio
import json
import resource
import sys
from collections import Counter
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson
import uvloop

from bench.workload import FIRST_VERSION, deployment, end_of_list, event, list_item

BLOCK = 20
"""Events per write: 64 kB, what a busy connection delivers at once."""

_PATH = "/apis/apps/v1/deployments"
_VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]
_GROUP_VERSION = {"groupVersion": "apps/v1", "version": "v1"}


def _resources(group_version: str, *kinds: tuple[str, bool]) -> dict[str, Any]:
    resources = [
        {
            "name": f"{kind.lower()}s",
            "singularName": kind.lower(),
            "kind": kind,
            "namespaced": namespaced,
            "verbs": _VERBS,
        }
        for kind, namespaced in kinds
    ]
    return {"kind": "APIResourceList", "groupVersion": group_version, "resources": resources}


_DISCOVERY = {
    "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.0"},
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/api/v1": _resources("v1", ("Namespace", False), ("Event", True)),
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {"name": "apps", "versions": [_GROUP_VERSION], "preferredVersion": _GROUP_VERSION}
        ],
    },
    "/apis/apps/v1": _resources("apps/v1", ("Deployment", True)),
}
_NOT_FOUND = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404}


class Canned:
    """The answers, and how far the events are released."""

    def __init__(self, objects: int, events: int) -> None:
        self._objects = [deployment(n, FIRST_VERSION + n) for n in range(objects)]
        self._version = FIRST_VERSION + objects
        self._listed = [event(b"ADDED", obj) for obj in self._objects]
        self._listed.append(end_of_list(self._version))
        self._events = [
            event(b"MODIFIED", deployment(n % objects, self._version + 1 + n))
            for n in range(events)
        ]
        self._pages: dict[tuple[int, int], bytes] = {}
        self._calls: Counter[str] = Counter()
        self._released = 0
        self._more = asyncio.Condition()

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                _, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
                url = urlsplit(target)
                query = dict(parse_qsl(url.query))
                if url.path.startswith("/bench/"):
                    _answer(writer, await self._control(url.path, query))
                elif url.path == _PATH and query.get("watch") in {"1", "true", "True"}:
                    self._calls["watch"] += 1
                    await self._watch(query, writer)
                elif url.path == _PATH:
                    self._calls["list"] += 1
                    _answer(writer, self._page(query))
                else:
                    self._calls["discovery"] += 1
                    known = _DISCOVERY.get(url.path)
                    _answer(writer, orjson.dumps(known or _NOT_FOUND), 200 if known else 404)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _control(self, path: str, query: dict[str, str]) -> bytes:
        async with self._more:
            if path == "/bench/release":
                self._released += int(query["events"])
                self._more.notify_all()
            elif path == "/bench/reset":
                self._released = 0
                self._calls.clear()
        used = resource.getrusage(resource.RUSAGE_SELF)
        return orjson.dumps({"calls": self._calls, "cpu": used.ru_utime + used.ru_stime})

    def _page(self, query: dict[str, str]) -> bytes:
        first = int(query.get("continue") or 0)
        limit = int(query.get("limit") or 0) or len(self._objects)
        page = self._pages.get((first, limit))
        if page is None:
            rest = first + limit if first + limit < len(self._objects) else ""
            metadata = {"resourceVersion": str(self._version), "continue": str(rest)}
            items = b",".join(list_item(obj) for obj in self._objects[first : first + limit])
            page = (
                b'{"kind":"DeploymentList","apiVersion":"apps/v1","metadata":%s,"items":[%s]}'
                % (orjson.dumps(metadata), items)
            )
            self._pages[first, limit] = page
        return page

    async def _watch(self, query: dict[str, str], writer: asyncio.StreamWriter) -> None:
        writer.write(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
            b"transfer-encoding: chunked\r\n\r\n"
        )
        position = 0
        if query.get("sendInitialEvents") == "true":
            await _send(writer, self._listed)
        else:
            position = max(0, int(query.get("resourceVersion") or 0) - self._version)
        while True:
            async with self._more:
                while self._released <= position:
                    await self._more.wait()
            await _send(writer, self._events[position : self._released])
            position = self._released


async def _send(writer: asyncio.StreamWriter, lines: list[bytes]) -> None:
    """Send lines, each a chunk of its own as API servers do."""
    for first in range(0, len(lines), BLOCK):
        block = lines[first : first + BLOCK]
        writer.write(b"".join(b"%x\r\n%s\r\n" % (len(line), line) for line in block))
        await writer.drain()


def _answer(writer: asyncio.StreamWriter, body: bytes, status: int = 200) -> None:
    head = b"HTTP/1.1 %d -\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    writer.write(head % (status, len(body)) + body)


async def main() -> None:
    objects, events = map(int, sys.argv[1:])
    server = await asyncio.start_server(
        Canned(objects, events).converse, "127.0.0.1", 0, limit=2**16
    )
    print(json.dumps({"port": server.sockets[0].getsockname()[1]}), flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main())
