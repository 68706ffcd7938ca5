"""From settings to the controller of DiscoveryServices in one process.

::

    operator = service_operator(ServiceDefaults(image="registry.example.com/certwright:1.0"))
    await Manager(client, [operator]).run()
"""

from collections.abc import Iterator
from typing import Final

from certwright.api.discoveryservices import DiscoveryService, DiscoveryServiceCertificate
from certwright.keep import Installer
from certwright.operators.discoveryservice.service.controller import ServiceController
from certwright.operators.discoveryservice.service.interests import Interests
from certwright.operators.discoveryservice.service.metrics import PlaneMetrics
from certwright.operators.discoveryservice.service.permissions import service_rules
from certwright.operators.discoveryservice.service.plane import ServiceDefaults
from certwright.runtime import Backoff, Controller, Operator, OperatorHost, Part
from certwright.runtime.triggers import generation_changed

FIELD_MANAGER: Final = "certwright-discoveryservice"
DOMAIN: Final = "discoveryservice.certwright.dev"
FINALIZER: Final = "finalizer.operator.marin3r.3scale.net"
RETRY_SECONDS: Final = (1.0, 30.0)
"""How soon a dry run is repeated that did not come back injected: at first, and at most."""


def service_operator(defaults: ServiceDefaults) -> Operator:
    """Return what runs the control planes of DiscoveryServices."""

    def build(host: OperatorHost) -> Iterator[Part]:
        installer = Installer(
            host, FIELD_MANAGER, domain=DOMAIN, statuses=True, finalizer=FINALIZER
        )
        interests = Interests()
        backoff = Backoff(*RETRY_SECONDS, rng=host.rng)
        metrics = PlaneMetrics(host.metrics)
        controller = ServiceController(installer, interests, defaults, backoff, metrics)
        yield installer.cache
        yield Controller(
            DiscoveryService,
            controller.reconcile,
            name="discovery-service",
            field_manager=FIELD_MANAGER,
            watches=[*interests.triggers()],
            channels=[installer.channel],
            predicate=generation_changed,
            workers=1,
            rbac=[*service_rules()],
        )

    return Operator(
        "discoveryservice", build, kinds=[DiscoveryService, DiscoveryServiceCertificate]
    )
