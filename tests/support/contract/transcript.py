"""What a client observed: a conversation with an API server, comparable with another one.

The same test body talks to the embedded and to the real server. Each answer is written down
with everything that is allowed to differ replaced by a symbol: the first uid seen becomes
``<uid 1>`` wherever it stands, versions and times likewise. What remains must be equal.
"""

import asyncio
import copy
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson
import pytest
from tests.support.waits import until

from certwright.client import Request, Transport

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
QUOTED_VERSION = re.compile(r'(?<=resourceVersion\\":\\")\d+|(?<="resourceVersion":")\d+')
ASKED_VERSION = re.compile(r"(?<=resourceVersion=)\d{2,}|(?<=continue=)[\w-]{20,}")
AGE = re.compile(r"^\d+s$")
UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
COMPARED_HEADERS = ("allow", "cache-control", "content-type", "location", "retry-after", "warning")
VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
PATIENCE_SECONDS = 100
"""How long the controllers of the real control plane get for what they do asynchronously. The garbage
collector pauses for up to half a minute while it learns of kinds that other tests add and remove."""

Json = dict[str, Any]


class Symbols:
    """Names for values that differ from run to run, in order of appearance."""

    def __init__(self, literal: Mapping[str, str]) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._literal = dict(literal)

    def of(self, kind: str, value: str) -> str:
        numbered = sum(1 for known, _ in self._names if known == kind) + 1
        return self._names.setdefault((kind, value), f"<{kind} {numbered}>")

    def text(self, value: str) -> str:
        for real, symbol in self._literal.items():
            value = value.replace(real, symbol)
        value = QUOTED_VERSION.sub(lambda match: self.of("version", match[0]), value)
        value = UID.sub(lambda match: self.of("uid", match[0]), value)
        return TIME.sub("<time>", value)

    def clean(self, value: Any, key: str = "") -> Any:
        match value:
            case dict():
                if value.get("type") == "BOOKMARK":
                    value = {**value, "object": _bookmark(value["object"])}
                elif _is_collection(value):
                    value = _at_no_moment(value)
                return {self.text(k): self.clean(v, k) for k, v in sorted(value.items())}
            case list():
                return self._clean_list(value, key)
            case str():
                return self._clean_text(value, key)
        return value

    def _clean_list(self, value: list[Any], key: str) -> list[Any]:
        match key:
            case "columnDefinitions":  # known difference: not described
                return [self.clean({**column, "description": ""}) for column in value]
            case "causes":
                return _settled([self.clean(item) for item in value])
            case "managedFields":
                return sorted((self.clean(_timeless(item)) for item in value), key=_manager)
        return [self.clean(item, key) for item in value]

    def _clean_text(self, value: str, key: str) -> str:
        match key:
            case "resourceVersion" if value not in {"", "0", "<now>"}:
                return self.of("version", value)
            case "ca.crt":
                return "<authority>"
            case "continue" if value:
                return "<continue>"
            case "cells":
                return AGE.sub("<age>", self.text(value))
        return self.text(value)


def _at_no_moment(value: Json) -> Json:
    """Hide a version that every write to the server moves on."""
    return {**value, "metadata": {**value["metadata"], "resourceVersion": "<now>"}}


def _bookmark(value: Json) -> Json:
    hidden = _at_no_moment(value)
    if value["kind"] == "Table":
        rows = [{**row, "object": _at_no_moment(row["object"])} for row in value["rows"]]
        hidden["rows"] = rows
    return hidden


def _is_collection(value: Json) -> bool:
    metadata = value.get("metadata")
    named = isinstance(metadata, dict) and "resourceVersion" in metadata and "uid" not in metadata
    return named and str(value.get("kind", "")).endswith(("List", "Table"))


def _settled(causes: list[Json]) -> list[Json]:
    """Order causes that the server lists by chance."""
    if all(cause.get("reason") == "FieldManagerConflict" for cause in causes):
        return sorted(causes, key=str)
    return causes


def _timeless(entry: Json) -> Json:
    """Hide who owns the time of a condition that is written twice: it may be the same second."""
    conditions = entry.get("fieldsV1", {}).get("f:status", {}).get("f:conditions", {})
    terminating = 'k:{"type":"Terminating"}'
    if "f:lastTransitionTime" not in conditions.get(terminating, {}):
        return entry
    entry = copy.deepcopy(entry)
    del entry["fieldsV1"]["f:status"]["f:conditions"][terminating]["f:lastTransitionTime"]
    return entry


def _manager(entry: Json) -> tuple[str, ...]:
    # The server orders entries by time; within one second the order is not observable behaviour.
    return tuple(
        str(entry.get(k, "")) for k in ("operation", "manager", "subresource", "apiVersion")
    )


@dataclass(frozen=True)
class Answer:
    """One answer, as received."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def version(self) -> str:
        return str(self.body["metadata"]["resourceVersion"])

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])


@dataclass
class Conversation:
    """A client that writes down what it hears."""

    transport: Transport
    namespace: str
    heard: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Forget what was heard so far."""
        self.heard.clear()
        self.symbols = Symbols({self.namespace: "<namespace>"})

    async def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        accept: str = "application/json",
        agent: str = "certwright/1.0",
        recorded: bool = True,
        same_words: bool = True,
    ) -> Answer:
        """Send a request; ``{ns}`` in the path is the namespace of this conversation.

        Without *same_words*, messages may differ: one of the known differences.
        """
        split = urlsplit(path.replace("{ns}", self.namespace))
        data = body if isinstance(body, bytes) or body is None else orjson.dumps(body)
        headers = [("accept", accept), ("user-agent", agent)]
        if data is not None:
            headers.append(("content-type", content_type))
        response = await self.transport.send(
            Request(
                VERBS[method],
                method,
                split.path,
                tuple(parse_qsl(split.query, keep_blank_values=True)),
                tuple(headers),
                data,
            )
        )
        content = _parsed(response.body) if response.body else None
        answer = Answer(response.status, content, response.headers)
        if recorded:
            self._record(method, path, answer, same_words=same_words)
        return answer

    def _record(self, method: str, path: str, answer: Answer, *, same_words: bool = True) -> None:
        words = answer.body if same_words else _without_words(answer.body)
        self._write(f"{method} {self.symbols.text(path)}", answer.status, answer.headers, words)

    async def get(self, path: str, **options: Any) -> Answer:
        return await self.ask("GET", path, **options)

    async def post(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.ask("POST", path, body, **options)

    async def put(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.ask("PUT", path, body, **options)

    async def delete(self, path: str, body: Any = None, **options: Any) -> Answer:
        return await self.ask("DELETE", path, body, **options)

    async def merge(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.ask(
            "PATCH", path, body, content_type="application/merge-patch+json", **options
        )

    async def json_patch(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.ask(
            "PATCH", path, body, content_type="application/json-patch+json", **options
        )

    async def strategic(self, path: str, body: Any, **options: Any) -> Answer:
        return await self.ask(
            "PATCH", path, body, content_type="application/strategic-merge-patch+json", **options
        )

    async def apply(
        self, path: str, body: Any, manager: str, *, force: bool = False, **options: Any
    ) -> Answer:
        query = f"{'&' if '?' in path else '?'}fieldManager={manager}&force={str(force).lower()}"
        return await self.ask(
            "PATCH", path + query, body, content_type="application/apply-patch+yaml", **options
        )

    async def until(
        self, path: str, holds: Callable[[Answer], bool], *, recorded: bool = True
    ) -> Answer:
        """Ask again until *holds*, and write down the answer that did."""
        answer = Answer(0, None)

        async def found() -> bool:
            nonlocal answer
            answer = await self.get(path, recorded=False)
            return holds(answer)

        await until(f"what is awaited of {path}", found, PATIENCE_SECONDS)
        if recorded:
            self._record("GET", path, answer)
        return answer

    async def watch(
        self,
        path: str,
        count: int,
        *,
        accept: str = "application/json",
        into: list[Json] | None = None,
    ) -> list[Json]:
        """Open a watch and write down its first *count* events, fewer if it ends before.

        Of streamed lists the bookmarks that only tell the time are left out: a real server
        sends them when it pleases. Events are in *into* as soon as they come.
        """
        streamed = "sendInitialEvents=true" in path
        split = urlsplit(path.replace("{ns}", self.namespace))
        query = (*parse_qsl(split.query, keep_blank_values=True), ("watch", "true"))
        request = Request("watch", "GET", split.path, query, (("accept", accept),))
        events: list[Json] = [] if into is None else into
        pending = b""
        async with asyncio.timeout(PATIENCE_SECONDS), self.transport.stream(request) as stream:
            async for chunk in stream.chunks():
                if stream.status != 200:
                    pending += chunk
                    continue
                *lines, pending = (pending + chunk).split(b"\n")
                told = [_parsed(line) for line in lines if line]
                events += [event for event in told if not (streamed and _tells_the_time(event))]
                if len(events) >= count:
                    break
            if pending:
                events.append(_parsed(pending))
            heard = events[:count]
            self._write(f"WATCH {self.symbols.text(path)}", stream.status, {}, heard)
        return heard

    def note(self, what: Any) -> None:
        """Write down something the test body found out itself."""
        self.heard.append(self.symbols.clean(what))

    def _write(self, asked: str, status: int, headers: Mapping[str, str], content: Any) -> None:
        self.heard.append(
            {
                "asked": ASKED_VERSION.sub("<then>", asked),
                "status": status,
                "headers": {
                    name: self.symbols.text(headers[name])
                    for name in COMPARED_HEADERS
                    if name in headers
                },
                "content": self.symbols.clean(content),
            }
        )


def _tells_the_time(event: Json) -> bool:
    if event["type"] != "BOOKMARK" or "rows" in event["object"]:
        return False  # one in the form of a table says nothing about itself
    annotations = event["object"]["metadata"].get("annotations") or {}
    return "k8s.io/initial-events-end" not in annotations


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return body.decode("utf-8", "replace")


def _without_words(value: Any) -> Any:
    match value:
        case dict():
            return {k: "<words>" if k == "message" else _without_words(v) for k, v in value.items()}
        case list():
            return [_without_words(item) for item in value]
    return value


def difference(embedded: Sequence[Any], real: Sequence[Any]) -> str:
    """Describe the answers in which two conversations differ; empty if there are none."""
    lines = []
    for number, (ours, theirs) in enumerate(zip(embedded, real, strict=False), 1):
        if ours != theirs:
            asked = theirs.get("asked", "note") if isinstance(theirs, dict) else "note"
            lines.append(f"answer {number}, {asked}:")
            lines += [f"  {line}" for line in _differing("", ours, theirs)]
    if len(embedded) != len(real):
        lines.append(
            f"{len(embedded)} answers from the embedded server, {len(real)} from the real one"
        )
    return "\n".join(lines)


def _differing(path: str, ours: Any, theirs: Any) -> list[str]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            line
            for key in sorted(ours.keys() | theirs.keys())
            if ours.get(key, _ABSENT) != theirs.get(key, _ABSENT)
            for line in _differing(
                f"{path}.{key}", ours.get(key, _ABSENT), theirs.get(key, _ABSENT)
            )
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [
            line
            for index, (one, other) in enumerate(zip(ours, theirs, strict=True))
            if one != other
            for line in _differing(f"{path}[{index}]", one, other)
        ]
    return [f"{path or 'value'}: embedded {ours!r}, real {theirs!r}"]


class _Absent:
    def __repr__(self) -> str:
        return "(absent)"


_ABSENT = _Absent()


Body = Callable[..., Awaitable[None]]


def contract(body: Body) -> Callable[..., Awaitable[None]]:
    """Make a test of a conversation: held with both servers, heard the same.

    Further parameters of the body are the test's own, for ``pytest.mark.parametrize``.
    """

    @pytest.mark.real
    async def both(embedded: Conversation, real: Conversation, **case: Any) -> None:
        await body(embedded, **case)
        await body(real, **case)
        assert embedded.heard, "the body asked nothing"
        found = difference(embedded.heard, real.heard)
        assert not found, found

    asked = list(inspect.signature(both).parameters.values())[:2]
    asked += list(inspect.signature(body).parameters.values())[1:]
    test: Any = both
    test.__signature__ = inspect.Signature(asked)
    test.__name__, test.__doc__ = body.__name__, body.__doc__
    found: Callable[..., Awaitable[None]] = test
    return found
