"""How an app behaves, apart from its kinds and its author's functions."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal, TypedDict

from certwright.issuer.upstream import Compat, Compatibility, compatibility
from certwright.runtime import Backoff


class IssuerOptions(TypedDict, total=False):
    """The keywords of `IssuerApp` that become its `IssuerSettings`."""

    field_owner: str | None
    max_retry: timedelta
    set_ca: bool
    certificate_requests: bool
    kubernetes_csrs: bool
    namespaced_csrs: bool
    workers: int
    backoff: Backoff | None
    sign_timeout: timedelta
    check_timeout: timedelta
    secrets: bool
    cluster_resource_namespace: str
    on_mismatch: Literal["fail", "retry"]
    mark_invalid: bool
    compat: Compat


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuerSettings:
    """What the author of an app decided."""

    group: str
    field_owner: str | None = None
    max_retry: timedelta = timedelta(minutes=10)
    set_ca: bool = False
    certificate_requests: bool = True
    kubernetes_csrs: bool = True
    namespaced_csrs: bool = False
    workers: int = 8
    backoff: Backoff | None = None
    sign_timeout: timedelta = timedelta(seconds=60)
    check_timeout: timedelta = timedelta(seconds=30)
    secrets: bool = False
    cluster_resource_namespace: str = ""
    on_mismatch: Literal["fail", "retry"] = "fail"
    mark_invalid: bool = False
    compat: Compat = "v1"
    field_manager: str = field(init=False)
    """The field manager of everything the app writes: its group, unless *field_owner* is set."""
    compatibility: Compatibility = field(init=False)
    """What the app does where issuer-lib and this library differ."""

    def __post_init__(self) -> None:
        owner = self.group if self.field_owner is None else self.field_owner
        object.__setattr__(self, "field_manager", owner)
        object.__setattr__(self, "compatibility", compatibility(self.compat))
        object.__setattr__(self, "workers", max(1, self.workers))
        if not self.field_manager:
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
