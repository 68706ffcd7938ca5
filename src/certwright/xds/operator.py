"""A discovery server beside controllers: its parts, built for a manager."""

from collections.abc import Iterator

from certwright.runtime import ListenAddress, Operator, OperatorHost, Part
from certwright.tls.directory import CertificateDirectory, DirectoryFollower
from certwright.tls.server import ServingCertificate
from certwright.xds.grpc.limits import GrpcLimits
from certwright.xds.metrics import XdsMetrics
from certwright.xds.observations import Connections
from certwright.xds.server import XdsServer, xds_profile
from certwright.xds.store import SnapshotStore


def xds_operator(
    snapshots: SnapshotStore,
    connections: Connections,
    certificates: CertificateDirectory,
    address: ListenAddress,
    *,
    limits: GrpcLimits | None = None,
) -> Operator:
    """Return an operator that serves snapshots to Envoys, for `Manager`; all replicas serve.

    *connections* is filled with what Envoys do. Raises `ValueError` if *certificates* names no
    authority of clients: without one there would be no client to serve.
    """
    if not certificates.client_authority:
        raise ValueError("the certificates of a discovery server need a client_authority")

    def build(host: OperatorHost) -> Iterator[Part]:
        metrics = XdsMetrics(host.metrics)
        certificate = ServingCertificate(host.clock, metrics, xds_profile())
        yield XdsServer(
            snapshots,
            certificate,
            address,
            metrics=metrics,
            clock=host.clock,
            limits=limits,
            rng=host.rng,
            connections=connections,
        )
        yield DirectoryFollower(certificates, certificate)

    return Operator("xds", build)
