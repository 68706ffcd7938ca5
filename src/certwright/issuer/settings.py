"""How an app behaves, its kinds and its author's functions apart."""

from dataclasses import dataclass
from datetime import timedelta

from certwright.issuer.requests.outcomes import Compat
from certwright.runtime import Backoff

APPROVAL_PATIENCE = timedelta(minutes=1)
"""How long a request may wait for approval before somebody is told what is missing."""


def default_backoff(compat: Compat) -> Backoff:
    """Return how long failures wait: kind to authorities, or as upstream does."""
    if compat == "upstream":
        return Backoff(0.005, 1000.0, jitter=0.0)
    return Backoff(1.0, 300.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What an app's author decided."""

    field_owner: str
    max_retry: timedelta
    set_ca: bool
    certificate_requests: bool
    kubernetes_csrs: bool
    namespaced_csrs: bool
    workers: int
    backoff: Backoff
    sign_timeout: timedelta
    check_timeout: timedelta
    secrets: bool
    cluster_resource_namespace: str
    on_mismatch: str
    mark_invalid: bool
    compat: Compat

    def __post_init__(self) -> None:
        if not self.field_owner:
            raise ValueError("field_owner is empty: the API server takes no apply without a name")
        if not self.certificate_requests and not self.kubernetes_csrs:
            raise ValueError(
                "both CertificateRequest and Kubernetes CSR controllers are disabled,"
                " must enable at least one"
            )
        if self.max_retry < timedelta():
            raise ValueError("max_retry must not be negative")
        if min(self.sign_timeout, self.check_timeout) <= timedelta():
            raise ValueError("sign_timeout and check_timeout must be positive")
