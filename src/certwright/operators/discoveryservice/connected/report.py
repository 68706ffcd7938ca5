"""What a pod says of the certificates that it and its Envoys use, as an annotation of a Lease.

A report says of each namespace *which* serial number all its Envoys have shown. So it is known what
it is about without comparing times: one that was written before a certificate was issued names
another serial number.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct, field

from certwright.api.discoveryservices import GROUP
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.connected.attendance import EnvoyId
from certwright.operators.discoveryservice.connected.messages import late_envoy
from certwright.operators.discoveryservice.replica import ReplicaIdentity, annotation_of

REPORT: Final = f"{GROUP}/certificate-report"
"""The annotation of a Lease that holds the report of the pod that holds the Lease."""
MOST_NAMED: Final = 20
"""So many Envoys are named by one report; of others it has the number."""
MOST_NAMESPACES: Final = 1000
"""So many a DiscoveryService may have; of more, nothing is said, so they take the usual time."""


class LateEnvoys(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """The Envoys of one namespace that have not shown their certificate."""

    number: int
    names: list[str] = field(default_factory=list)
    """The first of them."""


class CertificateReport(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one pod knows."""

    settled: bool = False
    """Whether it has run for so long that it knows all Envoys that may have been its own."""
    server: str = ""
    """The serial number of the certificate that it presents."""
    trusts: str = ""
    """The digest of the authorities by which it verifies Envoys."""
    shown: dict[str, str] = field(default_factory=dict)
    """By namespace, the serial number that all Envoys there have shown; also if there are none."""
    late: dict[str, LateEnvoys] = field(default_factory=dict)
    """By namespace, those that have not."""


def make_report(
    asked: Mapping[str, str], late: Iterable[EnvoyId], server: str, trusts: str, *, settled: bool
) -> CertificateReport:
    """Return the report of a pod."""
    by_namespace: dict[str, list[EnvoyId]] = {}
    for envoy in late:
        by_namespace.setdefault(envoy.node.namespace, []).append(envoy)
    told: dict[str, LateEnvoys] = {}
    left = MOST_NAMED
    namespaces = sorted(asked)[:MOST_NAMESPACES]
    for namespace in namespaces:
        if envoys := by_namespace.get(namespace):
            names = [late_envoy(one) for one in envoys[:left]]
            told[namespace] = LateEnvoys(number=len(envoys), names=names)
            left -= len(names)
    return CertificateReport(
        settled=settled,
        server=server,
        trusts=trusts,
        shown={one: asked[one] for one in namespaces if one not in told},
        late=told,
    )


def report_lease(identity: ReplicaIdentity, report: CertificateReport) -> JsonObject:
    """Return the Lease of a pod with its report."""
    return identity.lease(REPORT, msgspec.json.encode(report, order="sorted").decode())


def read_report(lease: JsonObject) -> CertificateReport | None:
    """Return the report of a Lease; None if it has none that can be read."""
    text = annotation_of(lease, REPORT)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=CertificateReport)
    except (msgspec.DecodeError, ValueError):
        return None
