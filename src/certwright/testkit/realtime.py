"""The embedded server on the machine's clock: a `Cluster` for tests that need sockets.

Virtual time jumps to the next timer when nothing is ready, and would not wait for an answer that
is on its way through a socket. Here time passes as it does outside, and costs what it costs.
"""

from collections.abc import Iterable

from certwright.apiserver.server import ApiServer
from certwright.client import Client, Selection, Transport
from certwright.clock import SYSTEM
from certwright.kube import JsonObject, Resource
from certwright.testkit.cluster import Cluster
from certwright.testkit.embedded import built_in_kinds


class RealTimeCluster(Cluster):
    """A fresh embedded API server in real time, for controllers that talk to something else."""

    clock = SYSTEM

    def __init__(self) -> None:
        super().__init__()
        self.namespace = "default"
        self.server = ApiServer(kinds=built_in_kinds())
        self.client = Client(self.server.transport(), field_manager="test")

    def _transport(self) -> Transport:
        return self.server.transport()

    async def _held(self, kind: Resource, selection: Selection) -> Iterable[JsonObject]:
        """Return the objects the server holds, without asking it as clients do."""
        return self.server.held(kind, selection)

    async def _rest(self) -> None:
        await self._rest_in_real_time()
