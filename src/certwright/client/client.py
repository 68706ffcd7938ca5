"""The client: the verbs of the Kubernetes API, for typed and for plain objects.

Name a kind by its class and get values of that class; name it by its `Resource` and get dicts.
"""

import asyncio
import copy
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from certwright.client.config.config import Impersonation
from certwright.client.config.context import load_config
from certwright.client.discovery import Discovery
from certwright.client.httptransport import HttpTransport, impersonation_headers
from certwright.client.reader import LINE_LIMIT, Reader
from certwright.client.responses import Decoders
from certwright.client.retry import PATIENT, Policy
from certwright.client.sender import Observer, Sender, log_warning
from certwright.client.transport import Request, Response, Transport
from certwright.client.writer import Writer
from certwright.clock import SYSTEM, Clock
from certwright.kube import JsonObject, NotFound, Resource

POLL_SECONDS: Final = 0.05
SERVED_TIMEOUT: Final = 30.0


class Client(Reader, Writer):
    """Talks to one API server as one user.

    Every method raises `ApiError` when the server refuses and `TransportError` when there is
    no usable response, and may be cancelled at any await. Writes validate fields strictly.

    *field_manager* signs writes unless a call names another. *max_in_flight* bounds
    everything but watches. *observers* see every attempt, *on_warning* gets every distinct
    warning of the server, *line_limit* bounds one event of a watch.
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
        sender = Sender(
            transport,
            clock=clock,
            max_in_flight=max_in_flight,
            policy=retries,
            observers=observers,
            on_warning=on_warning,
        )
        decoders = Decoders()
        Reader.__init__(self, sender, decoders, line_limit)
        Writer.__init__(self, sender, decoders, Discovery(sender.send, clock), field_manager)
        self.transport = transport

    def acting_as(self, user: str) -> Self:
        """Return a client whose requests the server carries out as another user.

        The server decides whether we may (the verb ``impersonate``), and then what that user may
        do; it knows the groups of a ServiceAccount by its user name. Connections, limits and what
        is known of kinds are shared with this client, which is the one to close. Raises
        `ValueError` without a user: the server would take that for ourselves.
        """
        if not user or not user.isprintable() or not user.isascii():
            raise ValueError(f"{user!r} is not a user to act as; name one")
        other = copy.copy(self)
        headers = impersonation_headers(Impersonation(user))
        other._sender = self._sender.with_headers(*headers)  # noqa: SLF001 - of the same class
        return other

    async def send(self, request: Request) -> Response:
        """Send any request; limits, retries and observers apply, refusals raise."""
        return await self._sender.send(request)

    async def close(self) -> None:
        """Close every connection."""
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


def connect(
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    *,
    clock: Clock = SYSTEM,
    field_manager: str = "certwright",
    max_in_flight: int = 32,
    observers: Sequence[Observer] = (),
    on_warning: Callable[[str], None] = log_warning,
) -> Client:
    """Return a client for a kubeconfig, by default as kubectl would find it, or for this pod.

    Nothing is sent yet: a wrong configuration raises `ConfigError` here, an unreachable
    server raises with the first request. Close the client, or use it in ``async with``.
    """
    config = load_config(kubeconfig, context)
    return Client(
        HttpTransport(config, clock=clock),
        clock=clock,
        field_manager=field_manager,
        max_in_flight=max_in_flight,
        observers=observers,
        on_warning=on_warning,
    )


async def until_served(
    client: Client, definition: JsonObject, *, seconds: float = SERVED_TIMEOUT
) -> None:
    """Return when every served version of a CustomResourceDefinition can be used.

    Servers take a moment to serve a new definition, and another one to list it in discovery. Raises
    `TimeoutError` if it cannot after so many seconds.
    """
    async with asyncio.timeout(seconds):
        for resource in _served_versions(definition["spec"]):
            while not await _is_served(client, resource):  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(POLL_SECONDS)


def _served_versions(spec: JsonObject) -> Iterator[Resource]:
    names = spec["names"]
    for version in spec["versions"]:
        if version.get("served", True):
            yield Resource(
                spec["group"],
                version["name"],
                names["kind"],
                names["plural"],
                namespaced=spec["scope"] == "Namespaced",
            )


async def _is_served(client: Client, resource: Resource) -> bool:
    try:
        await client.list(resource)
        client.discovery.invalidate()  # it lists the kind a moment later
        await client.discovery.resource_for(resource.gvk)
    except NotFound:
        return False
    return True
