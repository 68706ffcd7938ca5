"""Webhooks in this process, for simulations: no sockets, but the certificate chain counts."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson

from certwright.apiserver.webhooks.address import WebhookAddress, webhook_address
from certwright.apiserver.webhooks.response import WebhookResponse
from certwright.apiserver.webhooks.trust import certificate_failure
from certwright.clock import Clock
from certwright.kube.objects import JsonObject

Reply = JsonObject | WebhookResponse
ReviewHandler = Callable[[JsonObject], Reply | Awaitable[Reply]]
"""Gets a review and returns it answered, or any HTTP response."""


@dataclass(frozen=True, slots=True)
class RegisteredWebhook:
    """What answers reviews at an address, and the chain it shows in TLS."""

    handler: ReviewHandler
    chain: Callable[[], bytes] | None = None


WebhookLookup = Callable[[WebhookAddress], RegisteredWebhook | None]
"""Finds what answers at an address; raises `CallFailed` if it knows why nothing does."""


class RegisteredWebhooks:
    """Calls handlers that were registered under a URL or a Service.

    A handler is a function or a coroutine function; what it takes longer than the time-out is not
    waited for. *chain* is what the webhook would show in TLS, PEM, or a function that returns it:
    it is verified against the caBundle of the configuration, for the name of the Service or the
    host of the URL, at the time of *clock*. Without a chain, the certificate is not looked at.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._webhooks: dict[str, RegisteredWebhook] = {}
        self.lookup: WebhookLookup | None = None
        """Asked for addresses under which nothing is registered."""

    def register(
        self,
        handler: ReviewHandler,
        *,
        service: str = "",
        url: str = "",
        chain: bytes | Callable[[], bytes] | None = None,
    ) -> None:
        """Answer reviews sent to a URL, or to a Service, given as ``namespace/name/path``."""
        found = chain if chain is None or callable(chain) else _always(chain)
        self._webhooks[_place(service, url)] = RegisteredWebhook(handler, found)

    def remove(self, *, service: str = "", url: str = "") -> None:
        """Answer no longer: connections are refused, as by a webhook that is down."""
        self._webhooks.pop(_place(service, url), None)

    async def call(
        self, client_config: JsonObject, review: JsonObject, seconds: int
    ) -> WebhookResponse:
        """Let the handler answer a review."""
        address = webhook_address(client_config, seconds)
        found = self._webhooks.get(f"https://{address.host}{address.path}")
        if found is None and self.lookup is not None:
            found = self.lookup(address)
        if found is None:
            raise address.failed(f"dial tcp {address.host}: connect: connection refused")
        self._verify(found, address)
        # What the handler does to the document, and we to its answer, stays apart.
        document: JsonObject = orjson.loads(orjson.dumps(review))
        try:
            async with asyncio.timeout(seconds or None):
                reply = found.handler(document)
                answer = await reply if inspect.isawaitable(reply) else reply
        except TimeoutError:
            raise address.failed("context deadline exceeded") from None
        if isinstance(answer, WebhookResponse):
            return answer
        return WebhookResponse(200, orjson.dumps(answer))

    def _verify(self, found: RegisteredWebhook, address: WebhookAddress) -> None:
        if found.chain is None:
            return
        failure = certificate_failure(
            found.chain(), address.authorities, address.server_name, self._clock.now()
        )
        if failure:
            raise address.failed(failure)


def _always(chain: bytes) -> Callable[[], bytes]:
    return lambda: chain


def _place(service: str, url: str) -> str:
    """Return where requests go: Services are reached under their name, at port 443."""
    if not service:
        return url
    namespace, name, *path = service.split("/", 2)
    return f"https://{name}.{namespace}.svc:443/{path[0] if path else ''}"
