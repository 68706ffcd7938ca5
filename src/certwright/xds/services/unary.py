"""Calls with one request and one response."""

from collections.abc import Callable, Sequence

from certwright.xds.grpc.status import CallRefused, StatusCode


class UnaryCall:
    """Answers the request of a call by a function of its bytes."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self._answer = answer
        self._request: bytes | None = None
        self._response: bytes | None = None
        self._done = False

    def receive(self, message: bytes) -> None:
        """Take the request."""
        if self._request is not None:
            raise CallRefused(StatusCode.INVALID_ARGUMENT, "request", "more than one request")
        self._request = message
        self._response = self._answer(message)

    def half_closed(self) -> None:
        """Take note that the client sends nothing more."""
        self._done = True

    def next_message(self) -> Sequence[bytes] | None:
        """Return the response, once."""
        response, self._response = self._response, None
        return None if response is None else (response,)

    def has_news(self) -> bool:
        """Return whether there is a response to send, or the client sends nothing more."""
        return self._response is not None or self._done

    def is_done(self) -> bool:
        """Return whether the response was sent."""
        return self._done

    def closed(self) -> None:
        """Hold nothing."""


class ManyCall(UnaryCall):
    """Answers each request of a call by the same function."""

    def receive(self, message: bytes) -> None:
        """Take a request."""
        self._response = self._answer(message)
