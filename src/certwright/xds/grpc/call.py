"""One call of a client: who made it, what handles it, and what is left to send."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from certwright.xds.access import ClientIdentity
from certwright.xds.grpc.envelope import MessageReader, prefix


class CallHandler(Protocol):
    """What serves one call. Exceptions other than `CallRefused` are errors of ours."""

    def receive(self, message: bytes) -> None:
        """Take a message; `CallRefused` ends the call."""
        ...

    def half_closed(self) -> None:
        """Take note that the client sends nothing more."""
        ...

    def next_message(self) -> Sequence[bytes] | None:
        """Return the parts of the next message to send; None if there is none now."""
        ...

    def has_news(self) -> bool:
        """Return whether there may be a message to send, or the call may be done."""
        ...

    def is_done(self) -> bool:
        """Return whether the call ends, with status OK, once all is sent."""
        ...

    def closed(self) -> None:
        """Take note that the call is over, whatever ended it. Called once."""
        ...


class PlainAnswer:
    """Handles a call that is not gRPC: all that is to be said to it is in the call already."""

    def receive(self, message: bytes) -> None:
        """Ignore it."""

    def half_closed(self) -> None:
        """Ignore it."""

    def next_message(self) -> Sequence[bytes] | None:
        """Return None: there is nothing more."""
        return None

    def has_news(self) -> bool:
        """Return that the call ends."""
        return True

    def is_done(self) -> bool:
        """Return that the call ends."""
        return True

    def closed(self) -> None:
        """Ignore it."""


Services = Mapping[str, Callable[["GrpcCall", ClientIdentity], CallHandler]]
"""What is served: a function that makes a handler of a call, by the path of the method."""


class GrpcCall:
    """One call, as its handler and its connection see it."""

    __slots__ = (
        "half_closed", "handler", "passes_by", "path", "peer", "plain", "reader", "started",
        "stream_id", "unsent", "wake",
    )  # fmt: skip

    def __init__(
        self,
        stream_id: int,
        path: str,
        peer: str,
        wake: Callable[["GrpcCall"], None],
        message_limit: int,
    ) -> None:
        self.stream_id = stream_id
        self.path = path
        self.peer = peer
        """The client's address."""
        self.wake = wake
        """To be called with the call when its handler has something to send unasked."""
        self.reader = MessageReader(message_limit)
        self.unsent: deque[bytes | memoryview] = deque()
        self.started = False
        """Whether response headers were sent."""
        self.half_closed = False
        """Whether the client sends nothing more."""
        self.plain = False
        """Whether it is answered as HTTP, without a status of gRPC at its end."""
        self.passes_by = False
        """Whether its plain DATA frames need not be seen by the library."""
        self.handler: CallHandler

    def fill(self) -> bool:
        """Take the next message of the handler if all was sent; return whether there is data."""
        if self.unsent:
            return True
        parts = self.handler.next_message()
        if parts is None:
            return False
        self.unsent.append(prefix(sum(map(len, parts))))
        self.unsent.extend(
            filter(None, parts)
        )  # shared between calls: not copied before they leave
        return True

    def take(self, size: int) -> list[bytes | memoryview]:
        """Return up to so many bytes of what is unsent, in pieces."""
        taken: list[bytes | memoryview] = []
        while self.unsent and size:
            first = self.unsent.popleft()
            if len(first) > size:
                rest = memoryview(first)
                self.unsent.appendleft(rest[size:])
                first = rest[:size]
            taken.append(first)
            size -= len(first)
        return taken
