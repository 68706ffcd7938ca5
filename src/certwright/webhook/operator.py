"""Webhooks beside controllers: everything a process needs to serve them, built for a manager."""

from collections.abc import Collection, Iterator, Sequence

from certwright.kube.kinds import Lease
from certwright.runtime import ListenAddress, Operator, OperatorHost, Part, allow
from certwright.tls.server import ServingCertificate
from certwright.webhook.configuration import Registration
from certwright.webhook.declaration import AdmissionHandler, ConversionHandler, check_unique
from certwright.webhook.endpoints import AdmissionEndpoint, ConversionEndpoint, ReviewEndpoint
from certwright.webhook.metrics import WebhookMetrics
from certwright.webhook.registration import keep_registered
from certwright.webhook.selfcheck import SelfCheck
from certwright.webhook.server import ReviewLimits, WebhookServer, webhook_profile
from certwright.webhook.sources import CertificateSource, follow, rules_of


def webhook_operator(
    webhooks: Sequence[AdmissionHandler | ConversionHandler],
    certificates: CertificateSource,
    address: ListenAddress,
    *,
    registration: Registration | None = None,
    clients: Collection[str] = (),
    limits: ReviewLimits | None = None,
) -> Operator:
    """Return an operator that serves webhooks, for `Manager`.

    *registration* keeps the configuration objects as declared; without it they come from
    elsewhere. *clients* are the names of client certificates that are accepted, where the
    certificates come with a client authority; all that it signed if there are none.
    Raises `ValueError` if two webhooks have the same path or name.
    """
    check_unique(webhooks)
    if clients and not certificates.client_authority:
        raise ValueError("names of clients need the client_authority that signed them")

    def build(host: OperatorHost) -> Iterator[Part]:
        metrics = WebhookMetrics(host.metrics)
        authenticated = bool(certificates.client_authority)
        certificate = ServingCertificate(host.clock, metrics, webhook_profile(authenticated))
        endpoints: list[ReviewEndpoint] = [
            AdmissionEndpoint(one, SelfCheck.concerns)
            if isinstance(one, AdmissionHandler)
            else ConversionEndpoint(one)
            for one in webhooks
        ]
        check = None
        if registration is not None and registration.self_check:
            check = SelfCheck(registration, host.client, certificate, host.rng)
            endpoints.append(check)
        server = WebhookServer(
            endpoints,
            certificate,
            metrics,
            address,
            clock=host.clock,
            limits=limits,
            authenticated=authenticated,
            clients=clients,
        )
        yield server
        if check is not None:
            server.checks.append(check.readiness)
            yield check
        if registration is not None:
            admission = [one for one in webhooks if isinstance(one, AdmissionHandler)]
            yield from keep_registered(
                registration,
                admission,
                certificate,
                check.webhook if check else None,
                [*rules_of(certificates), *([allow(Lease, "create")] if check else [])],
            )
        yield from follow(certificates, host, certificate)

    return Operator("webhook", build)
