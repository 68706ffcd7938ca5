"""A server that plays a script."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from certwright.client import Request, Response

NEVER = 0


@dataclass
class Answer:
    """What the server does with one request: chunks, pauses in seconds, failures, silence."""

    parts: tuple[bytes | float | Exception, ...] = ()
    status: int = 200
    hangs: bool = False
    """Keep the connection open and silent after the last part."""

    headers: Mapping[str, str] = field(default_factory=dict)

    async def chunks(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            match part:
                case bytes():
                    yield part
                case Exception():
                    raise part
                case _:
                    await asyncio.sleep(part)
        if self.hangs:
            await asyncio.Event().wait()


class ScriptedServer:
    """A transport that gives prepared answers, one per request, then only silence."""

    def __init__(self) -> None:
        self.answers: list[Answer | Exception] = []
        self.asked: list[tuple[float, str, dict[str, str]]] = []
        self.headers: list[dict[str, str]] = []

    def _next(self, request: Request) -> Answer:
        now = asyncio.get_running_loop().time()
        self.asked.append((now, request.verb, dict(request.query)))
        self.headers.append(dict(request.headers))
        answer = self.answers.pop(0) if self.answers else Answer(hangs=True)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def send(self, request: Request) -> Response:
        answer = self._next(request)
        body = b"".join([chunk async for chunk in answer.chunks()])
        return Response(answer.status, answer.headers, body)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Answer]:
        answer = self._next(request)
        if answer.status == NEVER:
            await asyncio.Event().wait()
        yield answer

    async def close(self) -> None:
        pass

    # Writing the script

    def watch(self, *parts: bytes | float | Exception, hangs: bool = False) -> None:
        self.answers.append(Answer(parts, hangs=hangs))

    def listing(self, *items: dict[str, Any], version: int, token: str = "") -> None:
        metadata = {"resourceVersion": str(version), "continue": token}
        body = json.dumps({"kind": "ConfigMapList", "metadata": metadata, "items": items})
        self.answers.append(Answer((body.encode(),)))

    def refuse(self, code: int, reason: str, message: str = "no", **details: Any) -> None:
        self.answers.append(
            Answer((json.dumps(status(code, reason, message, **details)).encode(),), code)
        )

    def never_answers(self) -> None:
        self.answers.append(Answer(status=NEVER))

    def fail(self, error: Exception) -> None:
        self.answers.append(error)

    # Reading what was asked

    @property
    def times(self) -> list[float]:
        return [when for when, _, _ in self.asked]

    @property
    def kinds_of_request(self) -> list[str]:
        """Each request as one word: list, stream (a streaming list), or watch@version."""
        return [
            verb
            if verb != "watch"
            else "stream"
            if "sendInitialEvents" in query
            else f"watch@{query['resourceVersion']}"
            for _, verb, query in self.asked
        ]


def status(code: int, reason: str, message: str = "no", **details: Any) -> dict[str, Any]:
    return {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
        "details": details,
    }


def config_map(name: str, version: int, **metadata: Any) -> dict[str, Any]:
    base = {"name": name, "namespace": "shop", "uid": f"uid-{name}"}
    return {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": base | {"resourceVersion": str(version)} | metadata,
        "data": {"n": str(version)},
    }


class Lines:
    """Writes the lines of a watch as an API server would."""

    @staticmethod
    def event(event_type: str, obj: dict[str, Any]) -> bytes:
        return (
            json.dumps({"type": event_type, "object": obj}, separators=(",", ":")).encode() + b"\n"
        )

    def added(self, name: str, version: int, **metadata: Any) -> bytes:
        return self.event("ADDED", config_map(name, version, **metadata))

    def modified(self, name: str, version: int, **metadata: Any) -> bytes:
        return self.event("MODIFIED", config_map(name, version, **metadata))

    def deleted(self, name: str, version: int) -> bytes:
        return self.event("DELETED", config_map(name, version))

    def bookmark(self, version: int) -> bytes:
        return self.event("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})

    def end_of_list(self, version: int) -> bytes:
        annotations = {"k8s.io/initial-events-end": "true"}
        metadata = {"resourceVersion": str(version), "annotations": annotations}
        return self.event("BOOKMARK", {"metadata": metadata})

    def error(self, code: int, reason: str, message: str = "no", **details: Any) -> bytes:
        return self.event("ERROR", status(code, reason, message, **details))


@pytest.fixture
def server() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture
def lines() -> Lines:
    return Lines()


@pytest.fixture
def item() -> Callable[..., dict[str, Any]]:
    return config_map
