"""What metrics and call counters see of the client: a hook, and nothing to inherit from."""

from typing import Protocol

from certwright.client.errors import TransportError
from certwright.client.transport import Request


class Observer(Protocol):
    """Is told about every attempt to reach the server, retries included.

    Called on the event loop between two awaits: count and return, never block or raise.
    """

    def on_request(self, request: Request, outcome: int | TransportError, seconds: float) -> None:
        """Note one attempt: the HTTP status of the answer, or why there was none.

        *seconds* is the time to the complete answer, for a watch to its first byte.
        """
        ...
