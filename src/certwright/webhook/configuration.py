"""The configuration objects by which an API server learns of webhooks, as values."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from certwright.kube import JsonObject, Key, Resource
from certwright.kube.kinds import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from certwright.webhook.declaration import AdmissionHandler

REGISTERED_BY = "webhook.certwright.dev/registered-by"
"""The label of the objects, with the name of the registration: only such are ever deleted."""


@dataclass(frozen=True, slots=True)
class Registration:
    """How the API server reaches the webhooks: through a Service, or under a URL.

    *name* is that of the configuration objects. The authority is the ``ca.crt`` beside the
    certificate unless *authority* is given, as PEM. With *self_check* the server is ready only
    once a dry run through the API server has reached it; it names the namespace for that, and
    needs the right to create Leases there. While no replica is ready a Service leads nowhere:
    *self_check_service* is then one of the same pods with ``publishNotReadyAddresses``.
    """

    name: str
    service: Key | None = None
    port: int = 443
    url: str = ""
    authority: bytes = b""
    self_check: str = ""
    self_check_service: Key | None = None

    def __post_init__(self) -> None:
        if (self.service is None) == (not self.url):
            raise ValueError(f"registration {self.name}: give a service or a url, not both")
        if self.self_check and self.service and not self.self_check_service:
            raise ValueError(
                f"registration {self.name}: no replica would ever be ready; name a Service with "
                "publishNotReadyAddresses as self_check_service"
            )
        if self.url and urlsplit(self.url).scheme != "https":
            raise ValueError(f"registration {self.name}: {self.url!r} does not begin with https://")


def configuration(
    kind: Resource,
    registration: Registration,
    webhooks: Iterable[AdmissionHandler],
    authority: bytes,
    self_check: AdmissionHandler | None = None,
) -> JsonObject | None:
    """Return the configuration object of a kind; None if no webhook belongs into it.

    *authority* is what the API server shall trust, as PEM; empty for the roots of its machine.
    """
    mutating = kind == MutatingWebhookConfiguration
    entries = [
        _entry(webhook, client_config(registration, webhook.path, authority))
        for webhook in webhooks
        if webhook.mutating is mutating
    ]
    if self_check is not None and not mutating:
        service = registration.self_check_service
        place = client_config(registration, self_check.path, authority, service)
        entries.append(_entry(self_check, place))
    if not entries:
        return None
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {
            "name": registration.name,
            "labels": {REGISTERED_BY: registration.name},
        },
        "webhooks": entries,
    }


def configurations(
    registration: Registration, webhooks: Sequence[AdmissionHandler], authority: bytes = b""
) -> list[JsonObject]:
    """Return the configuration objects of webhooks, for manifests; without the self-check."""
    bundle = authority or registration.authority
    made = (configuration(kind, registration, webhooks, bundle) for kind in KINDS)
    return [obj for obj in made if obj is not None]


KINDS = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)


def client_config(
    registration: Registration, path: str, authority: bytes, service: Key | None = None
) -> JsonObject:
    """Return how an API server reaches a path; also fits ``spec.conversion.webhook`` of a CRD."""
    config: JsonObject = {}
    reached = service or registration.service
    if reached is not None:
        config["service"] = {
            "namespace": reached.namespace,
            "name": reached.name,
            "path": path,
            "port": registration.port,
        }
    else:
        config["url"] = registration.url.rstrip("/") + path
    if authority:
        config["caBundle"] = b64encode(authority).decode()
    return config


def _entry(webhook: AdmissionHandler, place: JsonObject) -> JsonObject:
    entry: JsonObject = {
        "name": webhook.name,
        "clientConfig": place,
        "rules": list(webhook.rules),
        "failurePolicy": webhook.failure_policy,
        "matchPolicy": webhook.match_policy,
        "namespaceSelector": webhook.namespace_selector,
        "objectSelector": webhook.object_selector,
        "sideEffects": webhook.side_effects,
        "timeoutSeconds": int(webhook.timeout.total_seconds()),
        "admissionReviewVersions": ["v1"],
    }
    if webhook.match_conditions:
        entry["matchConditions"] = [
            {"name": name, "expression": text} for name, text in webhook.match_conditions.items()
        ]
    if webhook.mutating:
        entry["reinvocationPolicy"] = webhook.reinvocation
    return entry
