"""Plays traces to a server and writes down what it says."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import orjson
from tests.support.contract.trace_gadgets import GROUP
from tests.support.contract.trace_subjects import Json, Subject
from tests.support.contract.traces import Operation, merged
from tests.support.contract.transcript import PATIENCE_SECONDS, Answer, Conversation, Symbols

from certwright.client import Request

LAST = "zz-last"
"""The object whose event is the last of each watch."""

_NUMBER = re.compile(r"\b\d{3,}\b")
_QUOTED_OBJECT = re.compile(r'"\{(?:[^"\\]|\\.)*\}"')
_ADDRESS = re.compile(r"\b10\.\d+\.\d+\.\d+\b")
_RECORDED = re.compile(r"(?<=ResourceVersion in record \()\d+")  # perhaps told nowhere else
EVERYTHING = Operation("list")


class TraceSymbols(Symbols):
    """Also names cluster IPs and versions within sentences, and sorts objects quoted there."""

    def text(self, value: str) -> str:
        value = _QUOTED_OBJECT.sub(_sorted, value)
        if value.startswith("failed to create typed"):
            value = "\n".join(sorted(value.splitlines()))
        value = _RECORDED.sub(lambda match: self.of("version", match[0]), super().text(value))
        value = _NUMBER.sub(self._version, value)
        return _ADDRESS.sub("<address>", value)

    def _version(self, match: re.Match[str]) -> str:
        return self._names.get(("version", match[0]), match[0])

    def clean(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict) and _breaks_schema(value):
            value = _in_order(value)
        return super().clean(value, key)


def _breaks_schema(value: Json) -> bool:
    details = value.get("details")
    return isinstance(details, dict) and details.get("group") == GROUP and "causes" in details


def _in_order(status: Json) -> Json:
    # Schemas are walked in the order of Go's maps, which is none.
    details = status["details"]
    causes = sorted(details["causes"], key=lambda cause: (cause.get("field", ""), cause["message"]))
    message = status["message"]
    for each in causes:
        message = message.replace(f"{each.get('field', '')}: {each['message']}", "<cause>", 1)
    return {**status, "message": message, "details": {**details, "causes": causes}}


def _sorted(quoted: re.Match[str]) -> str:
    # Go writes objects in the order of their struct, except where a patch has been.
    quoted_object = orjson.loads(orjson.loads(quoted[0]))
    text = orjson.dumps(quoted_object, option=orjson.OPT_SORT_KEYS).decode()
    return orjson.dumps(text).decode()


class TraceConversation(Conversation):
    """A conversation in which histories are heard to their end."""

    def start(self) -> None:
        super().start()
        self.symbols = TraceSymbols({self.namespace: "<namespace>"})

    async def history(self, path: str) -> list[Json]:
        """Watch until `LAST` comes into being, and write down everything before it."""
        split = urlsplit(path.replace("{ns}", self.namespace))
        request = Request("watch", "GET", split.path, (*parse_qsl(split.query), ("watch", "true")))
        events: list[Json] = []
        pending = b""
        async with asyncio.timeout(PATIENCE_SECONDS), self.transport.stream(request) as stream:
            assert stream.status == 200
            async for chunk in stream.chunks():
                *lines, pending = (pending + chunk).split(b"\n")
                events += [orjson.loads(line) for line in lines if line]
                if events and events[-1]["object"]["metadata"]["name"] == LAST:
                    break
        self.note({"asked": "history", "content": events})
        return events


@dataclass
class Player:
    """Plays a trace to a server, in one conversation."""

    api: TraceConversation
    subject: Subject
    seen: dict[str, list[Json]] = field(default_factory=dict)
    """The objects seen under each name, in order."""

    async def play(self, trace: Sequence[Operation]) -> list[Json]:
        """Play a trace; return all its events, as a watch from before the first tells them."""
        start = (await self.api.get(self._listed())).version
        for operation in trace:
            answer = await self._carry_out(operation)
            if answer.status < 300 and operation.name and "dryRun=All" not in operation.query:
                self._remember(operation, answer)
        await self.api.get(self._listed())
        await self.api.post(
            self.subject.path,
            self._identified(
                LAST, merged(self.subject.base, {"metadata": {"labels": {"tier": "a"}}})
            ),
        )
        await self._replay(self._some_version() or start, "labelSelector=tier=a")
        return await self._replay(start)

    async def clear(self) -> None:
        """Remove all objects."""
        listed = await self.api.get(self._listed(), recorded=False)
        for obj in listed.body["items"]:
            if obj["metadata"].get("finalizers"):
                path = f"{self.subject.path}/{obj['metadata']['name']}"
                await self.api.merge(path, {"metadata": {"finalizers": None}}, recorded=False)
        await self.api.ask("DELETE", self._listed(), recorded=False)

    async def _carry_out(self, operation: Operation) -> Answer:
        subresource = f"/{operation.subresource}" if operation.subresource else ""
        path = self._asked(f"{self.subject.path}/{operation.name}{subresource}", operation)
        match operation.verb:
            case "get":
                return await self.api.get(path.partition("?")[0])
            case "list":
                return await self.api.get(self._listed(operation))
            case "create":
                return await self.api.post(
                    self._asked(self.subject.path, operation), self._object(operation)
                )
            case "put":
                return await self.api.put(path, self._object(operation))
            case "apply":
                return await self.api.ask(
                    "PATCH",
                    path,
                    self._object(operation),
                    content_type="application/apply-patch+yaml",
                )
            case "merge":
                return await self.api.merge(path, self._patch(operation))
            case "strategic":
                return await self.api.strategic(path, self._patch(operation))
            case "json":
                return await self.api.json_patch(path, operation.content)
            case "delete":
                return await self.api.delete(path, self._preconditions(operation))
            case "deletecollection":
                return await self.api.delete(self._listed(operation))
        raise AssertionError(operation.verb)

    @staticmethod
    def _asked(path: str, operation: Operation) -> str:
        return path + ("?" + "&".join(operation.query) if operation.query else "")

    def _listed(self, operation: Operation = EVERYTHING) -> str:
        query = [part for part in operation.query if part]
        ours = self.subject.ours
        selected = [
            part.removeprefix("fieldSelector=") for part in query if "fieldSelector" in part
        ]
        fields = ",".join([*selected, *([ours] if ours else [])])
        query = [part for part in query if "fieldSelector" not in part]
        if fields:
            query.append(f"fieldSelector={fields}")
        if operation.version == "stale" and (version := self._some_version()):
            query += [f"resourceVersion={version}", "resourceVersionMatch=Exact"]
        return f"{self.subject.path}?{'&'.join(query)}"

    def _some_version(self) -> str:
        """Return the version of the object seen first, or nothing."""
        for objects in self.seen.values():
            for obj in objects:
                return str(obj["metadata"]["resourceVersion"])
        return ""

    def _identified(self, name: str, content: Json) -> Json:
        identity = {"apiVersion": self.subject.api_version, "kind": self.subject.kind}
        return merged(identity, content, {"metadata": {"name": name}})

    def _object(self, operation: Operation) -> Json:
        if operation.subresource == "scale":
            identity = {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": operation.name},
            }
            return merged(identity, operation.content, self._versions(operation))
        content = operation.content
        if operation.verb == "apply" and operation.subresource:
            content = {"status": content["status"]}
        if operation.verb == "put" and operation.edits_seen and operation.name in self.seen:
            content = merged(self.seen[operation.name][-1], content)
            content["metadata"].pop("resourceVersion")
        return merged(self._identified(operation.name, content), self._versions(operation))

    def _patch(self, operation: Operation) -> Json:
        return merged(operation.content, self._versions(operation))

    def _versions(self, operation: Operation) -> Json:
        named = {
            "resourceVersion": self._version(operation),
            "uid": self._uid(operation),
        }
        named = {name: value for name, value in named.items() if value}
        return {"metadata": named} if named else {}

    def _preconditions(self, operation: Operation) -> Json | None:
        named = self._versions(operation)
        if not named:
            return None
        dry_run = ["All"] if "dryRun=All" in operation.query else []
        return {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "preconditions": named["metadata"],
            "dryRun": dry_run,
        }

    def _version(self, operation: Operation) -> str:
        seen = self.seen.get(operation.name)
        if not seen or operation.version == "none":
            return ""
        return str(seen[-1 if operation.version == "current" else 0]["metadata"]["resourceVersion"])

    def _uid(self, operation: Operation) -> str:
        if operation.uid == "wrong":
            return "00000000-0000-4000-8000-000000000000"
        seen = self.seen.get(operation.name)
        return str(seen[-1]["metadata"]["uid"]) if seen and operation.uid == "current" else ""

    def _remember(self, operation: Operation, answer: Answer) -> None:
        if answer.body.get("kind") == self.subject.kind:
            self.seen.setdefault(operation.name, []).append(answer.body)

    async def _replay(self, version: str, selector: str = "") -> list[Json]:
        path = self._listed(Operation("list", query=(selector, f"resourceVersion={version}")))
        return await self.api.history(path)
