"""The parts of a process that serves EnvoyConfigs."""

from collections.abc import Iterator
from socket import gethostname

from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.operators.discoveryservice.config.controller import EnvoyConfigController
from certwright.operators.discoveryservice.config.envoys.older import OlderEnvoys
from certwright.operators.discoveryservice.config.envoys.replicacounts import ReplicaCounts
from certwright.operators.discoveryservice.config.envoys.reporter import Reporter
from certwright.operators.discoveryservice.config.publisher import Publisher
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.runtime import Cache, Channel, Controller, Operator, OperatorHost, Part, allow
from certwright.xds.observations import Connections
from certwright.xds.schema.schema import MessageSchema
from certwright.xds.snapshot import NodeKey
from certwright.xds.store import SnapshotStore


def config_operator(
    schema: MessageSchema,
    snapshots: SnapshotStore,
    connections: Connections,
    *,
    replica: str = "",
    identity: ReplicaIdentity | None = None,
) -> Operator:
    """Return the operator that publishes EnvoyConfigs as snapshots.

    Every replica publishes, and reports what its Envoys reject; the one that leads keeps the
    revisions and writes statuses. *replica* names this one, by default the name of its Pod. With an
    *identity*, replicas tell each other how many Envoys run which version.
    """

    def build(host: OperatorHost) -> Iterator[Part]:
        cache = Cache(host.client, cluster="xds", rng=host.rng)
        channel = Channel()

        def wake(node: NodeKey) -> None:
            for key in controller.configs_of(node):
                channel.send(key)

        def looked(node: NodeKey) -> None:
            reporter.look_at(node)

        def counted(node: NodeKey) -> None:
            wake(node)
            if counts is not None:
                counts.look_at(node)

        publisher = Publisher(schema, snapshots, cache, host.clock, wake, looked)
        counts = None
        if identity is not None:
            counts = ReplicaCounts(
                host.client, host.clock, cache, connections, publisher, identity, host.leads, wake
            )
        controller = EnvoyConfigController(
            schema, publisher, connections, channel.send, counts.elsewhere if counts else None
        )
        reporter = Reporter(
            host.client, host.clock, connections, publisher, replica or gethostname(), counted
        )
        connections.listen(reporter.look_at)
        yield cache
        yield publisher
        yield reporter
        if counts is not None:
            yield counts
        if schema.envoy:
            yield OlderEnvoys(connections, schema.envoy)
        yield Controller(
            EnvoyConfig,
            controller.reconcile,
            owns=[EnvoyConfigRevision],
            channels=[channel],
            # Secrets and EndpointSlices are read by a Role in each namespace that is served.
            rbac=[allow(EnvoyConfigRevision, "patch", subresource="status")],
        )

    return Operator("envoyconfig", build, kinds=[EnvoyConfig, EnvoyConfigRevision])
