"""What a controller asked of the API server, counted where the requests leave it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final

from certwright.client.transport import Request, Response, Stream, Transport

WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
READS: Final = frozenset({"get", "list"})


_REVIEWS: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""Groups whose objects are created to ask something, and never stored."""


def is_write(request: Request) -> bool:
    """Return whether a request changes the server's state; dry runs and reviews do not."""
    if request.resource is not None and request.resource.group in _REVIEWS:
        return False
    return request.verb in WRITES and ("dryRun", "All") not in request.query


class Calls(Sequence[Request]):
    """A stretch of requests, in the order they were sent; retries count."""

    def __init__(self, requests: Iterable[Request] = ()) -> None:
        self._requests = tuple(requests)

    def __len__(self) -> int:
        return len(self._requests)

    def __getitem__(self, index: int) -> Request:  # type: ignore[override]
        return self._requests[index]

    def __iter__(self) -> Iterator[Request]:
        return iter(self._requests)

    @property
    def writes(self) -> int:
        """How many could change something: creates, updates, patches, applies, deletes."""
        return sum(map(is_write, self._requests))

    @property
    def reads(self) -> int:
        """How many were gets and lists."""
        return sum(request.verb in READS for request in self._requests)

    @property
    def watches(self) -> int:
        """How many opened a watch."""
        return sum(request.verb == "watch" for request in self._requests)

    @property
    def by_verb(self) -> Counter[str]:
        """The number of requests per verb."""
        return Counter(request.verb for request in self._requests)

    @property
    def by_kind(self) -> Counter[str]:
        """The number of requests per kind; raw paths have none and are left out."""
        kinds = (request.resource for request in self._requests)
        return Counter(resource.kind for resource in kinds if resource is not None)

    def of(self, kind: str) -> "Calls":
        """Return the requests that concern one kind."""
        return Calls(r for r in self._requests if r.resource and r.resource.kind == kind)

    def __repr__(self) -> str:
        lines = [f"{r.verb} {r.path}" for r in self._requests]
        return f"<{len(lines)} calls: {'; '.join(lines)}>"


@dataclass(slots=True)
class CallLog:
    """Collects requests; several transports may share one."""

    requests: list[Request]
    _mark: int = 0

    def since_mark(self) -> Calls:
        """Return what was sent since the last `mark`."""
        return Calls(self.requests[self._mark :])

    def mark(self) -> None:
        """Start a new stretch."""
        self._mark = len(self.requests)

    def all(self) -> Calls:
        """Return everything that was sent."""
        return Calls(self.requests)


class CountingTransport:
    """A transport that notes every request before passing it on."""

    def __init__(self, inner: Transport, log: CallLog) -> None:
        self._inner = inner
        self._log = log

    async def send(self, request: Request) -> Response:
        """Note a request and pass it on."""
        self._log.requests.append(request)
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Note a request and pass it on."""
        self._log.requests.append(request)
        return self._inner.stream(request)

    async def close(self) -> None:
        """Close the transport beneath."""
        await self._inner.close()
