"""Objects as they change, over watches that break in every way."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import orjson
import pytest

from certwright.apply.follow import follow
from certwright.client import Client, ConnectionLost, Request, Response, Selection
from certwright.kube import Forbidden, JsonObject, Key
from certwright.kube.kinds import ConfigMap
from certwright.testkit import VirtualLoop


def obj(version: int) -> JsonObject:
    return {"metadata": {"namespace": "ns", "name": "c", "resourceVersion": str(version)}}


def event(type_: str, body: JsonObject) -> bytes:
    return orjson.dumps({"type": type_, "object": body}) + b"\n"


def gone() -> bytes:
    return event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})


class Script:
    """A transport that answers lists and watches with what a test says."""

    def __init__(
        self, lists: list[JsonObject | Response | None], watches: list[list[bytes | ConnectionLost]]
    ) -> None:
        self.lists = iter(lists)
        self.watches = iter(watches)
        self.asked: list[Request] = []

    async def send(self, request: Request) -> Response:
        self.asked.append(request)
        answer = next(self.lists)
        if isinstance(answer, Response):
            return answer
        items = [] if answer is None else [answer]
        metadata = {"resourceVersion": "9"}
        return Response(200, {}, orjson.dumps({"metadata": metadata, "items": items}))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator["Lines"]:
        self.asked.append(request)
        yield Lines(next(self.watches))

    async def close(self) -> None:
        pass


class Lines:
    status = 200

    def __init__(self, lines: list[bytes | ConnectionLost]) -> None:
        self.headers: dict[str, str] = {}
        self._lines = lines

    async def chunks(self) -> AsyncIterator[bytes]:
        for line in self._lines:
            if isinstance(line, Exception):
                raise line
            yield line

    async def read(self, limit: int) -> bytes:
        raise NotImplementedError


def versions(script: Script, count: int) -> list[str | None]:
    """Follow until so many states were told; return their versions."""

    async def told() -> list[str | None]:
        found: list[str | None] = []
        client = Client(script)
        selection = Selection("ns", fields="metadata.name=c")
        async with aclosing(follow(client, ConfigMap, selection)) as states:
            async for objects in states:
                state = objects.get(Key("ns", "c"))
                found.append(state["metadata"]["resourceVersion"] if state else None)
                if len(found) == count:
                    return found
        raise AssertionError("unreachable")

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(told())


def test_what_is_there_comes_first_and_then_every_change() -> None:
    changes: list[bytes | ConnectionLost] = [
        event("MODIFIED", obj(2)),
        event("DELETED", obj(3)),
        event("ADDED", obj(4)),
    ]
    script = Script([obj(1)], [changes])
    assert versions(script, 4) == ["1", "2", None, "4"]
    listed, watched = script.asked
    assert ("fieldSelector", "metadata.name=c") in listed.query
    assert ("resourceVersion", "9") in watched.query, "from where the list ended"


def test_nothing_there_is_told_too() -> None:
    assert versions(Script([None], [[event("ADDED", obj(1))]]), 2) == [None, "1"]


@pytest.mark.parametrize("end", [gone(), ConnectionLost("cut"), None])
def test_a_watch_that_ends_is_followed_by_a_list(end: bytes | ConnectionLost | None) -> None:
    lines = [event("MODIFIED", obj(2)), *([end] if end else [])]
    script = Script([obj(1), obj(5)], [lines, [event("MODIFIED", obj(6))]])
    assert versions(script, 4) == ["1", "2", "5", "6"]


def test_what_may_not_be_read_is_an_error() -> None:
    refusal = Response(
        403, {}, orjson.dumps({"kind": "Status", "code": 403, "reason": "Forbidden"})
    )
    with pytest.raises(Forbidden):
        versions(Script([refusal], []), 1)


def test_a_watch_that_is_refused_for_good_is_an_error() -> None:
    refused = event("ERROR", {"kind": "Status", "code": 403, "reason": "Forbidden"})
    with pytest.raises(Forbidden):
        versions(Script([obj(1)], [[refused]]), 2)
