"""From settings to controllers: what DiscoveryServiceCertificates need in one process.

::

    operator = certificate_operator(CertificateOperatorSettings())
    await Manager(client, [operator]).run()
"""

from collections.abc import Iterator
from typing import Final

from certwright.api.discoveryservices import DiscoveryServiceCertificate
from certwright.kube.kinds import Secret
from certwright.operators.discoveryservice.certificates.contents import SECRET_TYPE
from certwright.operators.discoveryservice.certificates.controller import (
    BY_SERVICE,
    CertificateController,
    issuer_index,
    secret_index,
    service_index,
)
from certwright.operators.discoveryservice.certificates.leaf import BY_SECRET
from certwright.operators.discoveryservice.certificates.metrics import IssuanceMetrics
from certwright.operators.discoveryservice.certificates.rotation.authority import BY_ISSUER
from certwright.operators.discoveryservice.certificates.rotation.places import (
    BUNDLE_KINDS,
    SERVICE_LABELS,
)
from certwright.operators.discoveryservice.certificates.shared import (
    CertificateOperatorSettings,
    PassTools,
)
from certwright.runtime import Controller, Operator, OperatorHost, Part, allow, mapped, select

CONTROLLER: Final = "discoveryservicecertificate"
_CERTIFICATES: Final = select(
    DiscoveryServiceCertificate,
    indexes={BY_ISSUER: issuer_index, BY_SECRET: secret_index, BY_SERVICE: service_index},
)
_SECRETS: Final = select(Secret, fields=f"type={SECRET_TYPE}")
_BUNDLES: Final = tuple(select(kind, labels=SERVICE_LABELS) for kind in BUNDLE_KINDS)


def certificate_operator(settings: CertificateOperatorSettings) -> Operator:
    """Return what keeps DiscoveryServiceCertificates, and replaces their authorities."""

    def build(host: OperatorHost) -> Iterator[Part]:
        controller = CertificateController(PassTools(settings, IssuanceMetrics(host.metrics)))
        yield Controller(
            _CERTIFICATES,
            controller.reconcile,
            name=CONTROLLER,
            watches=[
                mapped(_SECRETS, controller.by_secret),
                mapped(_CERTIFICATES, controller.by_certificate),
                *(mapped(one, controller.by_bundle) for one in (*_BUNDLES, *settings.watched)),
            ],
            channels=settings.channels,
            workers=settings.workers,
            rbac=[allow(Secret, "create", "patch", "delete")],
        )

    return Operator(CONTROLLER, build, kinds=[DiscoveryServiceCertificate])
