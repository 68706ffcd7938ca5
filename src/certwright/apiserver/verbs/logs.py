"""``pods/log``: what containers have written, from whatever runs the pods."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from certwright.apiserver.backend import Backend
from certwright.apiserver.http.request import Call
from certwright.client.transport import Response
from certwright.kube.errors import BadRequest
from certwright.kube.objects import JsonObject

_TEXT: Final[Mapping[str, str]] = {"content-type": "text/plain"}


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Which part of a log is wanted."""

    previous: bool = False
    """Of the run before the current one."""
    tail_lines: int | None = None
    limit_bytes: int | None = None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "LogOptions":
        """Read the options of a request; `BadRequest` if a number is none."""
        return cls(
            query.get("previous", "") not in {"", "0", "false"},
            _number(query, "tailLines", 0),
            _number(query, "limitBytes", 1),
        )

    def cut(self, content: bytes) -> bytes:
        """Return the wanted part of a log."""
        if self.tail_lines is not None:
            lines = content.splitlines(keepends=True)
            content = b"".join(lines[len(lines) - self.tail_lines :] if self.tail_lines else [])
        return content if self.limit_bytes is None else content[: self.limit_bytes]


def _number(query: Mapping[str, str], name: str, least: int) -> int | None:
    text = query.get(name, "")
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or int(text) < least:
        raise BadRequest(f"{name}: Invalid value: {text}: must be a number from {least} on")
    return int(text)


class LogSource(Protocol):
    """Whatever runs pods and has their logs."""

    def read(self, pod: JsonObject, container: str, options: LogOptions) -> bytes:
        """Return the log of a container; an `ApiError` if there is none."""
        ...

    def follow(self, pod: JsonObject, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Yield the log of a container as it grows."""
        ...


class Logs:
    """Answers requests for logs. Without a `source`, as where no pod runs, logs are empty."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.source: LogSource | None = None

    def answer(self, call: Call) -> Response:
        """Return a log as it is now."""
        pod, container, options = self._asked(call)
        content = b""
        if self.source is not None and pod["spec"].get("nodeName"):
            content = self.source.read(pod, container, options)
        return Response(200, _TEXT, content)

    def stream(self, call: Call) -> "LogStream":
        """Return a log that is followed."""
        pod, container, options = self._asked(call)
        if self.source is None or not pod["spec"].get("nodeName"):
            return LogStream(None)
        self.source.read(pod, container, options)  # refused before the stream begins
        return LogStream(self.source.follow(pod, container, options))

    def _asked(self, call: Call) -> tuple[JsonObject, str, LogOptions]:
        pod = self._backend.get(call.kind, call.namespace, call.name).obj
        return pod, _container(pod, call.query.get("container", "")), LogOptions.of(call.query)


def _container(pod: JsonObject, name: str) -> str:
    """Return the container that is meant; `BadRequest` if that is not clear, or it has none."""
    spec, title = pod["spec"], pod["metadata"]["name"]
    inits = [one["name"] for one in spec.get("initContainers") or ()]
    names = [one["name"] for one in spec["containers"]]
    if name:
        if name in (*names, *inits):
            return name
        raise BadRequest(f"container {name} is not valid for pod {title}")
    if len(names) == 1:
        return str(names[0])
    every = " ".join([*inits, *names])
    why = f"a container name must be specified for pod {title}, choose one of: [{every}]"
    raise BadRequest(why)


class LogStream:
    """A log that is read as it grows."""

    def __init__(self, lines: AsyncIterator[bytes] | None) -> None:
        self.status = 200
        self.headers = _TEXT
        self._lines = lines

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield what is written, as it is."""
        if self._lines is not None:
            async for chunk in self._lines:
                yield chunk
