"""The parts of a process that serves EnvoyConfigs."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Final

from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.operators.discoveryservice.config.controller import EnvoyConfigController
from certwright.operators.discoveryservice.config.publisher import Publisher
from certwright.runtime import Cache, Channel, Controller, Operator, OperatorHost, Part, allow
from certwright.xds.observations import Connections
from certwright.xds.schema.schema import MessageSchema
from certwright.xds.snapshot import NodeKey
from certwright.xds.store import SnapshotStore

WAKE_SECONDS: Final = 0.5
"""How long observations of a node are gathered before its EnvoyConfig is looked at."""


class Gathered:
    """Passes on each node at most once in a while, however often it is named."""

    def __init__(self, pass_on: Callable[[NodeKey], None], seconds: float = WAKE_SECONDS) -> None:
        self._pass_on = pass_on
        self._seconds = seconds
        self._waiting: set[NodeKey] = set()

    def __call__(self, node: NodeKey) -> None:
        """Take note of a node."""
        if node not in self._waiting:
            self._waiting.add(node)
            asyncio.get_running_loop().call_later(self._seconds, self._due, node)

    def _due(self, node: NodeKey) -> None:
        self._waiting.discard(node)
        self._pass_on(node)


def config_operator(
    schema: MessageSchema, snapshots: SnapshotStore, connections: Connections
) -> Operator:
    """Return the operator that publishes EnvoyConfigs as snapshots.

    Every replica publishes; the one that leads keeps the revisions and writes statuses.
    """

    def build(host: OperatorHost) -> Iterator[Part]:
        cache = Cache(host.client, cluster="xds", rng=host.rng)
        channel = Channel()

        def wake(node: NodeKey) -> None:
            for key in controller.configs_of(node):
                channel.send(key)

        publisher = Publisher(schema, snapshots, cache, host.clock, wake)
        controller = EnvoyConfigController(schema, publisher, connections, channel.send)
        connections.listen(Gathered(wake))
        yield cache
        yield publisher
        yield Controller(
            EnvoyConfig,
            controller.reconcile,
            owns=[EnvoyConfigRevision],
            channels=[channel],
            # Secrets and EndpointSlices are read by a Role in each namespace that is served.
            rbac=[allow(EnvoyConfigRevision, "patch", subresource="status")],
        )

    return Operator("envoyconfig", build, kinds=[EnvoyConfig, EnvoyConfigRevision])
