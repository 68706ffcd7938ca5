"""How an app behaves, apart from its kinds and its author's functions."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Literal, TypedDict, get_args

from certwright.issuer.sign.httperrors import HttpVerb, http_rule_problem
from certwright.issuer.upstream import Compat, Compatibility, compatibility
from certwright.runtime import Backoff

LONGEST_FIELD_MANAGER = 128
"""Characters of a field manager that the API server takes."""


class IssuerOptions(TypedDict, total=False):
    """The keywords of `IssuerApp` that become its `IssuerSettings`."""

    field_owner: str | None
    max_retry: timedelta
    set_ca: bool
    certificate_requests: bool
    kubernetes_csrs: bool
    namespaced_csrs: bool
    csr_annotations: bool
    http_errors: Mapping[int, HttpVerb]
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
    """The field manager of everything the app writes; its group if not given."""
    max_retry: timedelta = timedelta(minutes=10)
    """How long ordinary errors of ``sign`` are tried again; 0 fails a request at the first."""
    set_ca: bool = False
    """Whether the authority of a bundle is written to ``status.ca``."""
    certificate_requests: bool = True
    """Whether cert-manager's CertificateRequests are answered."""
    kubernetes_csrs: bool = True
    """Whether Kubernetes' CertificateSigningRequests are answered."""
    namespaced_csrs: bool = False
    """Whether these may name namespaced issuers; their requesters then need the right to."""
    csr_annotations: bool = False
    """Whether annotations may get a CertificateSigningRequest more than its spec asks for: an
    authority, or a lifetime beyond 90 days."""
    http_errors: Mapping[int, HttpVerb] = field(default_factory=dict)
    """What HTTP statuses mean to this app, where that differs from the table."""
    workers: int = 8
    """How many requests, and how many issuers, are worked on at once."""
    backoff: Backoff | None = None
    """How long failures wait; from a second to five minutes if not given."""
    sign_timeout: timedelta = timedelta(seconds=60)
    """How long ``sign`` may take."""
    check_timeout: timedelta = timedelta(seconds=30)
    """How long ``check`` and the functions that ignore may take."""
    secrets: bool = False
    """Whether code reads Secrets that the spec does not name."""
    cluster_resource_namespace: str = ""
    """Where cluster issuers find their Secrets; the namespace of the process if not given."""
    on_mismatch: Literal["fail", "retry"] = "fail"
    """What happens to a request whose certificate does not fit it."""
    mark_invalid: bool = False
    """Whether a request that is refused before ``sign`` also gets the condition InvalidRequest."""
    compat: Compat = "v1"
    """``upstream`` behaves like Go's issuer-lib to the letter."""
    field_manager: str = field(init=False)
    """The field manager of everything the app writes: its group, unless *field_owner* is set."""
    compatibility: Compatibility = field(init=False)
    """What the app does where issuer-lib and this library differ."""

    def __post_init__(self) -> None:
        self._check_types()
        owner = self.group if self.field_owner is None else self.field_owner
        object.__setattr__(self, "field_manager", owner)
        object.__setattr__(self, "compatibility", compatibility(self.compat))
        object.__setattr__(self, "workers", max(1, self.workers))
        if self.field_owner == "":
            raise ValueError("field_owner is empty: the API server takes no apply without a name")
        if len(self.field_manager) > LONGEST_FIELD_MANAGER:
            raise ValueError(
                f"the field manager {self.field_manager} is longer than {LONGEST_FIELD_MANAGER}"
                " characters, which the API server refuses: write a shorter field_owner=…"
            )
        if not self.certificate_requests and not self.kubernetes_csrs:
            raise ValueError(
                "both CertificateRequest and Kubernetes CSR controllers are disabled,"
                " must enable at least one"
            )
        if self.max_retry < timedelta():
            raise ValueError("max_retry must not be negative")
        if min(self.sign_timeout, self.check_timeout) <= timedelta():
            raise ValueError("sign_timeout and check_timeout must be positive")

    def answers_signing_requests(self, *, namespaced: bool) -> bool:
        """Return whether Kubernetes' signing requests are answered, for issuers of this scope."""
        return self.kubernetes_csrs and (self.namespaced_csrs or not namespaced)

    def _check_types(self) -> None:
        """Refuse at import what would fail at the first request otherwise."""
        check_text("group", self.group, "pki.example.com")
        for one in fields(self):
            if one.init and one.type is bool:
                check_flag(one.name, getattr(self, one.name))
        for name in ("max_retry", "sign_timeout", "check_timeout"):
            check_duration(name, getattr(self, name))
        if self.field_owner is not None:
            check_text("field_owner", self.field_owner, "pki.example.com")
        check_text("cluster_resource_namespace", self.cluster_resource_namespace, "pki")
        for name, choices in (("on_mismatch", ("fail", "retry")), ("compat", get_args(Compat))):
            if getattr(self, name) not in choices:
                words = " or ".join(f'{name}="{one}"' for one in choices)
                raise ValueError(f"{name} is {getattr(self, name)!r}: write {words}")
        if isinstance(self.workers, bool) or not isinstance(self.workers, int):
            raise TypeError(f"workers is {self.workers!r}, which is no number: write workers=8")
        if self.backoff is not None and not isinstance(self.backoff, Backoff):
            raise TypeError(
                f"backoff is {self.backoff!r}, which is no Backoff: write backoff=Backoff()"
            )
        if not isinstance(self.http_errors, Mapping):
            raise TypeError(
                f"http_errors is {self.http_errors!r}, which is no mapping:"
                " write http_errors={403: Permanent}"
            )
        if problem := http_rule_problem(self.http_errors):
            raise ValueError(f"http_errors: {problem}")


def unanswered(settings: IssuerSettings, *, namespaced: bool) -> str:
    """Return which requests a kind does not answer, as sentences for its description."""
    said = ""
    if not settings.certificate_requests:
        said += " CertificateRequests that name it are not answered."
    if not settings.answers_signing_requests(namespaced=namespaced):
        said += " CertificateSigningRequests that name it are not answered."
    return said


def check_text(name: str, value: object, example: str) -> None:
    """Raise `TypeError` unless a value is a text; the message shows the line to write."""
    if not isinstance(value, str):
        raise TypeError(f'{name} is {value!r}, which is no text: write {name}="{example}"')


def check_flag(name: str, value: object) -> None:
    """Raise `TypeError` unless a value is True or False; the message shows the line to write."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}: write {name}=True or {name}=False")


def check_duration(name: str, value: object) -> None:
    """Raise `TypeError` unless a value is a timedelta; the message shows the line to write."""
    if isinstance(value, timedelta):
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    shown = f"seconds={value:g}" if is_number else "minutes=5"
    raise TypeError(f"{name} is {value!r}, which is no timedelta: write {name}=timedelta({shown})")
