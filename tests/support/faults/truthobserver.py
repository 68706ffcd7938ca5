"""An observer that takes a status at its word: it orders a certificate whenever it may."""

import asyncio
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self

from tests.support.faults.installscenarios import CMD, is_available

from certwright.client import Client
from certwright.kube import ApiError, JsonObject, Key, Resource
from certwright.testkit import EmbeddedCluster
from certwright.testkit.actors.certmanager import PlayedCertManager

CERTIFICATE: Final = Resource("cert-manager.io", "v1", "Certificate", "certificates")
ISSUER: Final = Resource("cert-manager.io", "v1", "Issuer", "issuers")
POLL_SECONDS: Final = 0.5
GRACE_SECONDS: Final = 2.0
"""How much longer than the play says an issuance may take: two polls, and the way."""
REVIEWS: Final = 12
"""How many answers of the webhook an issuance may wait for: statuses are reviewed as well."""


class TruthObserver:
    """Creates a Certificate at each change of the status that says one can be issued.

    What went wrong is in `lies`. Its client is its own, which no fault of a simulation concerns.
    """

    def __init__(self, cluster: EmbeddedCluster, played: PlayedCertManager) -> None:
        self._client = Client(
            cluster.client.transport, clock=cluster.clock, field_manager="observer"
        )
        self._played = played
        self._server = cluster.server
        self._stack = AsyncExitStack()
        self._group: asyncio.TaskGroup | None = None
        self.said = 0
        """How often the status said so."""
        self.lies: list[str] = []
        self.checked = 0

    async def __aenter__(self) -> Self:
        self._group = await self._stack.enter_async_context(asyncio.TaskGroup())
        self._server.on_change(self._observe)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stack.aclose()

    def _observe(self, before: JsonObject | None, after: JsonObject | None) -> None:
        if after is None or after["kind"] != CMD.kind or self._group is None:
            return
        if is_available(after) and after.get("status") != (before or {}).get("status"):
            self.said += 1
            self._group.create_task(self._check(f"truth-{self.said}"))

    async def _check(self, name: str) -> None:
        try:
            await self._order(name)
            await self._until_ready(name)
        except ApiError as error:
            self.lies.append(f"{name} could not be created: {error}")
        except TimeoutError:
            self.lies.append(f"{name} was not issued: {await self._played.obstacles()}")
        self.checked += 1

    async def _order(self, name: str) -> None:
        """Create an issuer and a Certificate of it, as a user does at once."""
        place = {"name": name, "namespace": "default"}
        spec: JsonObject = {"selfSigned": {}}
        for kind in (ISSUER, CERTIFICATE):
            head = {"apiVersion": kind.api_version, "kind": kind.kind}
            await self._client.create({**head, "metadata": place, "spec": spec})
            spec = {
                "secretName": name,
                "dnsNames": [f"{name}.example"],
                "issuerRef": {"name": name},
            }

    async def _until_ready(self, name: str) -> None:
        """Wait for as long as an issuance may take; a play that is changed meanwhile counts too."""
        loop, allowed = asyncio.get_running_loop(), 0.0
        began = loop.time()
        while not await self._is_ready(name):
            play = self._played.play
            allowed = max(allowed, play.issuance + REVIEWS * play.answer + GRACE_SECONDS)
            if loop.time() - began > allowed:
                raise TimeoutError
            await asyncio.sleep(POLL_SECONDS)

    async def _is_ready(self, name: str) -> bool:
        found = await self._client.get(CERTIFICATE, Key("default", name))
        conditions = (found.get("status") or {}).get("conditions") or ()
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
