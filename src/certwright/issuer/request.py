"""What ``sign`` is given, a request of either kind, and what it returns, a bundle."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Literal, TypeAlias

from certwright import pki
from certwright.api.certmanager import CERTIFICATE_NAME, CERTIFICATE_REVISION
from certwright.issuer.spec import SecretData
from certwright.kube import Condition
from certwright.pki.names import common_name
from certwright.pki.requests import Template
from certwright.pki.usages import Usages

_TOLERANCE = timedelta(seconds=30)

KindName: TypeAlias = Literal["CertificateRequest", "CertificateSigningRequest"]
Offload: TypeAlias = Callable[..., Awaitable[Any]]
"""Runs a function with its arguments in a thread; ``Context.cpu`` is one."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """A certificate with its intermediates, leaf first and without root, and the authority.

    Both are PEM. *ca* is empty when it is not known; it is written to the request only with
    ``IssuerApp(set_ca=True)``. The bundle is checked against the request before the request
    counts as Issued, unless this library signed it itself.
    """

    chain: bytes
    """PEM, leaf first, without the root."""
    ca: bytes = b""
    """PEM of the authority to trust, or of several."""
    made_for: str = field(default="", repr=False, compare=False)
    """The uid of the request, set by ``request.sign_with`` only."""
    remark: str = field(default="", repr=False, compare=False)
    """How its validity differs from what was requested, set by ``request.sign_with`` only."""
    repaired: tuple[pki.Violation, ...] = field(default=(), repr=False, compare=False)
    """What was wrong with the chain before it was put in order, set by the library only."""

    def with_ca(self, ca: bytes) -> "Bundle":
        """Return the same certificate with another authority to trust, or several."""
        return replace(self, ca=ca)

    @classmethod
    def from_pem(cls, pem: bytes | str | Iterable[bytes | str]) -> "Bundle":
        """Make a bundle of PEM certificates in any order, with comments, repeats and a root.

        Raises:
            pki.PkiError: they cannot be read or do not form one chain.
        """
        parts = [pem] if isinstance(pem, bytes | str) else list(pem)
        joined = b"\n".join(part.encode() if isinstance(part, str) else part for part in parts)
        return cls.of_chain(pki.read_chain(joined))

    @classmethod
    def of_chain(cls, chain: pki.Chain) -> "Bundle":
        """Make a bundle of a chain that was read or built."""
        ca = pki.write_certificates(chain.authority) if chain.authority is not None else b""
        return cls(chain.to_pem(), ca)


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """An approved request for a certificate, as the author of an issuer sees it."""

    kind: KindName
    """``CertificateRequest`` or ``CertificateSigningRequest``."""
    name: str
    """The name of the object."""
    namespace: str
    """Empty for Kubernetes' own signing requests."""
    uid: str
    """The same for every attempt: fit to be the idempotency key at an authority."""
    created: datetime
    """When the object was created."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """The labels of the object; untrusted, as everything that its author writes."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """The annotations of the object; those of a Certificate are copied to its requests."""
    conditions: tuple[Condition, ...] = ()
    """The conditions of the object, approval among them."""
    issuer_kind: str
    """The kind of the issuer that it names."""
    issuer_name: str
    """The name of the issuer."""
    issuer_namespace: str
    """The namespace of the issuer; empty for cluster issuers."""
    username: str = ""
    """The requester, as the API server knows them."""
    user_uid: str = ""
    """The uid of the requester."""
    groups: tuple[str, ...] = ()
    """The groups of the requester."""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What else the API server knows about the requester."""
    csr_pem: str = ""
    """The signing request as PEM text, as it came: fit for a JSON document."""
    attempt: int = 1
    """Which attempt this is, counted since the process started."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """The state of the last `Pending`; empty at first."""
    now: datetime
    """When this attempt began; what is signed is dated by it."""
    read_terms: Callable[[], pki.RequestTerms] = field(repr=False)
    read_secret: Callable[[str], Awaitable[SecretData]] = field(repr=False)
    offload: Offload = field(repr=False)

    @cached_property
    def csr(self) -> pki.SigningRequest:
        """The signing request; its signature is good.

        Raises:
            pki.PkiError: it cannot be read. Checked before ``sign`` is called, unless the app
                is compatible with upstream.
        """
        return pki.read_request(self.csr_pem)

    @cached_property
    def terms(self) -> pki.RequestTerms:
        """What is requested beside the signing request: lifetime, usages, authority or not."""
        return self.read_terms()

    @property
    def duration(self) -> timedelta:
        """How long the certificate should be valid; 90 days if not given."""
        return self.terms.lifetime

    @property
    def is_ca(self) -> bool:
        """Whether the certificate should be an authority's."""
        return self.terms.is_ca

    @property
    def usages(self) -> Usages:
        """What the key may be used for."""
        return self.terms.usages

    @property
    def usage_words(self) -> tuple[str, ...]:
        """What the key may be used for, in cert-manager's words, such as ``server auth``."""
        return (*self.usages.key_words(), *self.usages.extended_words())

    @property
    def names(self) -> pki.AlternativeNames:
        """The requested alternative names."""
        return self.csr.names

    @property
    def common_name(self) -> str:
        """The requested common name, or nothing."""
        return common_name(self.csr.subject) or ""

    @property
    def certificate_name(self) -> str:
        """The Certificate this is for, or nothing when it was made by hand."""
        return self.annotations.get(CERTIFICATE_NAME, "")

    @property
    def revision(self) -> int | None:
        """Which issuance of its Certificate this is."""
        text = self.annotations.get(CERTIFICATE_REVISION, "")
        return int(text) if text.isdecimal() else None

    def template(self) -> Template:
        """Return what to sign: names and key of the signing request, the rest of the terms.

        Raises:
            pki.RequestRefused: the two contradict each other, or must not be signed at all.
                Checked before ``sign`` is called, unless the app is compatible with upstream.
        """
        return self._template

    @cached_property
    def _template(self) -> Template:
        pki.check_request(self.csr, self.terms)
        return pki.request_template(self.csr, self.terms)

    async def secret(self, name: str) -> SecretData:
        """Read a Secret beside the request; needs ``IssuerApp(secrets=True)``.

        For requests without a namespace that is the cluster resource namespace.

        Raises:
            LookupError: there is none.
        """
        return await self.read_secret(name)

    async def sign_with(self, authority: pki.Authority) -> Bundle:
        """Sign with an authority of our own, off the event loop where that is slow.

        Raises:
            pki.RequestRefused: the request must not be signed on its terms.
            pki.AuthorityUnfit: the authority is not valid now or must not sign this.
        """
        template, terms = self.template(), self.terms
        if authority.is_slow:
            leaf = await self.offload(authority.issue, template, self.now)
        else:
            leaf = authority.issue(template, self.now)
        validity = pki.Validity.of(leaf)
        lifetime = validity.not_after - validity.not_before
        remark = ""
        if abs(lifetime - terms.lifetime) > _TOLERANCE:
            remark = f"valid for {lifetime} where {terms.lifetime} was requested"
        return Bundle(authority.write_chain(leaf), authority.top_pem, self.uid, remark)
