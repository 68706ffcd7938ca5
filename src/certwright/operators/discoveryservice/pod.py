"""What runs in the pods of a control plane: the discovery server, its configuration, the webhook.

All pods serve; the one that holds the Lease writes revisions and statuses. Certificates are read
from the mounted Secrets and swapped while connections stay.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.kube import Key
from certwright.operators.discoveryservice.config.operator import config_operator
from certwright.operators.discoveryservice.config.review import config_webhook
from certwright.operators.discoveryservice.connected.reporter import CertificateReporter
from certwright.operators.discoveryservice.injection.annotations import SidecarDefaults
from certwright.operators.discoveryservice.injection.review import injection_handler
from certwright.operators.discoveryservice.replica import ReplicaIdentity
from certwright.runtime import Cache, ListenAddress, Operator, OperatorHost, Part
from certwright.tls.directory import CertificateDirectory, DirectoryFollower
from certwright.tls.server import ServingCertificate
from certwright.webhook.operator import webhook_operator
from certwright.webhook.server import ReviewLimits
from certwright.xds.metrics import XdsMetrics
from certwright.xds.schema.schema import MessageSchema
from certwright.xds.server import XdsServer, xds_profile
from certwright.xds.store import SnapshotStore

DRAIN: Final = timedelta(seconds=8)
"""For passes under way when a pod ends; reviews and Envoys are served meanwhile."""
SHUTDOWN_DELAY: Final = timedelta(seconds=5)
"""For how long it answers reviews after that: without an answer no labelled Pod is created."""
SHUTDOWN: Final = timedelta(seconds=12)
"""For the last reviews. All three and the end of connections fit into the 30 s that pods get."""


@dataclass(frozen=True, slots=True)
class PodSettings:
    """What a pod is told on its command line."""

    sidecars: SidecarDefaults
    namespace: str
    """Where it runs; Pods there are not injected."""
    server_directory: Path
    """With ``tls.crt`` and ``tls.key``."""
    ca_directory: Path
    """With the authorities of clients in ``tls.crt``."""
    xds: ListenAddress
    webhook: ListenAddress
    pod: str = ""
    """Its name; without it nothing is reported about certificates and Envoys."""
    pod_uid: str = ""

    @property
    def identity(self) -> ReplicaIdentity | None:
        """Which replica it is; None if it was not told its name."""
        if not self.pod:
            return None
        pod = Key(self.namespace, self.pod)
        return ReplicaIdentity(self.sidecars.discovery_service, pod, self.pod_uid)


def pod_operators(settings: PodSettings, schema: MessageSchema) -> list[Operator]:
    """Return what a pod runs."""
    return [xds_operator(settings, schema), review_operator(settings, schema)]


def xds_operator(settings: PodSettings, schema: MessageSchema) -> Operator:
    """Return the discovery server and what publishes EnvoyConfigs to it."""

    def build(host: OperatorHost) -> Iterator[Part]:
        metrics, snapshots = XdsMetrics(host.metrics), SnapshotStore()
        certificate = ServingCertificate(host.clock, metrics, xds_profile())
        server = XdsServer(
            snapshots,
            certificate,
            settings.xds,
            metrics=metrics,
            clock=host.clock,
            rng=host.rng,
        )
        # Absolute: other paths are looked for in the folder of the certificate.
        authority = settings.ca_directory.absolute() / "tls.crt"
        source = CertificateDirectory(settings.server_directory, client_authority=str(authority))
        yield DirectoryFollower(source, certificate)
        yield server
        identity = settings.identity
        yield from config_operator(
            schema, snapshots, server.connections, replica=settings.pod, identity=identity
        ).build(host)
        if identity is not None:
            cache = Cache(host.client, cluster="certificates", rng=host.rng)
            reporter = CertificateReporter(
                host.client, host.clock, cache, server, lambda: certificate.pair, identity
            )
            certificate.listen(reporter.wake)
            yield cache
            yield reporter

    return Operator("xds", build, kinds=[EnvoyConfig, EnvoyConfigRevision])


def review_operator(settings: PodSettings, schema: MessageSchema) -> Operator:
    """Return the server of reviews: Pods are injected, EnvoyConfigs are checked."""
    handlers = [
        injection_handler(settings.sidecars, namespace=settings.namespace),
        config_webhook(lambda: schema),
    ]
    return webhook_operator(
        handlers,
        CertificateDirectory(settings.server_directory),
        settings.webhook,
        limits=ReviewLimits(shutdown=SHUTDOWN, shutdown_delay=SHUTDOWN_DELAY),
    )
