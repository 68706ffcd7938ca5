"""The client: the verbs of the Kubernetes API, for typed and for plain objects.

Name a kind by its class and get values of that class; name it by its `Resource` and get
dicts. What may be repeated after a failure is decided in `certwright.client.retry`.
"""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from certwright.client.calls import Calls, log_warning
from certwright.client.discovery import Discovery
from certwright.client.http.lines import LINE_LIMIT
from certwright.client.observe import Observer
from certwright.client.reader import Reader
from certwright.client.responses import Decoders
from certwright.client.retry import PATIENT, Policy
from certwright.client.transport import Request, Response, Transport
from certwright.client.writer import Writer
from certwright.clock import SYSTEM, Clock


class Client(Reader, Writer):
    """Talks to one API server as one user.

    Every method raises `ApiError` when the server refuses and `TransportError` when there is
    no usable answer, and may be cancelled at any await. Writes validate fields strictly.

    *field_manager* signs writes unless a call names another. *max_in_flight* bounds
    everything but watches. *observers* are told about every attempt, *on_warning* about
    every distinct warning of the server, *line_limit* bounds one event of a watch.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock = SYSTEM,
        field_manager: str = "certwright",
        max_in_flight: int = 32,
        observers: Sequence[Observer] = (),
        on_warning: Callable[[str], None] = log_warning,
        retries: Policy = PATIENT,
        line_limit: int = LINE_LIMIT,
    ) -> None:
        calls = Calls(
            transport,
            clock=clock,
            max_in_flight=max_in_flight,
            policy=retries,
            observers=observers,
            on_warning=on_warning,
        )
        decoders = Decoders()
        Reader.__init__(self, calls, decoders, line_limit)
        Writer.__init__(self, calls, decoders, Discovery(calls.send, clock), field_manager)
        self.transport = transport

    async def send(self, request: Request) -> Response:
        """Send any request; limits, retries and observers apply, refusals raise."""
        return await self._calls.send(request)

    async def close(self) -> None:
        """Give up every connection."""
        await self.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
