"""``cert-manager.io/v1`` as far as issuers and their tests need it, in our own types.

cert-manager owns these kinds: on a cluster that runs it, its own CRDs are there and ours are
never installed. The embedded API server serves the CRDs generated from these types. They
hold no more than is used here; fields they do not mention are left alone, because nothing
typed is ever written back whole.
"""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from msgspec import Struct, field

from certwright.kube import (
    Column,
    Condition,
    DurationText,
    Object,
    atomic,
    custom_resource,
    list_map,
)

GROUP = "cert-manager.io"
VERSION = "v1"

CERTIFICATE_NAME = "cert-manager.io/certificate-name"
CERTIFICATE_REVISION = "cert-manager.io/certificate-revision"
PRIVATE_KEY_SECRET = "cert-manager.io/private-key-secret-name"  # noqa: S105 - a name

KeyAlgorithmName: TypeAlias = Literal["RSA", "ECDSA", "Ed25519"]
RotationPolicy: TypeAlias = Literal["Never", "Always"]


class IssuerRef(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The issuer that signs: in the namespace of the request, or cluster-wide, by its kind."""

    name: str
    kind: str = ""
    group: str = ""


class CertificateRequestSpec(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What is requested, and the requester. Immutable."""

    request: bytes
    """The signing request, PEM."""
    issuer_ref: IssuerRef
    duration: DurationText | None = None
    is_ca: bool = field(default=False, name="isCA")
    usages: Annotated[list[str], atomic()] = field(default_factory=list)
    username: str = ""
    """The requester; cert-manager's webhook sets this and the next three."""
    uid: str = ""
    groups: Annotated[list[str], atomic()] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)


class CertificateRequestStatus(
    Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True
):
    """The result."""

    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)
    certificate: bytes = b""
    ca: bytes = b""
    failure_time: datetime | None = None


@custom_resource(
    GROUP,
    VERSION,
    short_names=["cr", "crs"],
    categories=["cert-manager"],
    columns=[
        Column("Approved", '.status.conditions[?(@.type == "Approved")].status', "string"),
        Column("Denied", '.status.conditions[?(@.type == "Denied")].status', "string"),
        Column("Ready", '.status.conditions[?(@.type == "Ready")].status', "string"),
        Column("Issuer", ".spec.issuerRef.name", "string"),
        Column("Requester", ".spec.username", "string"),
        Column("Status", '.status.conditions[?(@.type == "Ready")].message', "string", priority=1),
        Column("Age", ".metadata.creationTimestamp", "date"),
    ],
    selectable=[".spec.issuerRef.group", ".spec.issuerRef.kind", ".spec.issuerRef.name"],
)
class CertificateRequest(Object):
    """A request for one certificate. It is answered once: Issued, Failed or Denied."""

    spec: CertificateRequestSpec
    status: CertificateRequestStatus = field(default_factory=CertificateRequestStatus)


class PrivateKeyOptions(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The key that cert-manager makes for a Certificate."""

    algorithm: KeyAlgorithmName | None = None
    size: int | None = None
    encoding: Literal["PKCS1", "PKCS8"] | None = None
    rotation_policy: RotationPolicy | None = None


class OtherName(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An alternative name whose kind is an OID."""

    oid: str = ""
    utf8_value: str = field(default="", name="utf8Value")


class X509Subject(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The subject of a certificate, its common name apart."""

    organizations: list[str] = field(default_factory=list)
    organizational_units: list[str] = field(default_factory=list)
    countries: list[str] = field(default_factory=list)
    provinces: list[str] = field(default_factory=list)
    localities: list[str] = field(default_factory=list)
    street_addresses: list[str] = field(default_factory=list)
    postal_codes: list[str] = field(default_factory=list)
    serial_number: str = ""


class CertificateSpec(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What the certificate in a Secret should be."""

    secret_name: str
    issuer_ref: IssuerRef
    common_name: str = ""
    subject: X509Subject | None = None
    literal_subject: str = ""
    dns_names: list[str] = field(default_factory=list)
    ip_addresses: list[str] = field(default_factory=list)
    uris: list[str] = field(default_factory=list)
    email_addresses: list[str] = field(default_factory=list)
    other_names: list[OtherName] = field(default_factory=list)
    duration: DurationText | None = None
    renew_before: DurationText | None = None
    is_ca: bool = field(default=False, name="isCA")
    usages: list[str] = field(default_factory=list)
    private_key: PrivateKeyOptions | None = None
    revision_history_limit: int | None = None


class CertificateStatus(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The status that cert-manager writes."""

    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)
    not_before: datetime | None = None
    not_after: datetime | None = None
    renewal_time: datetime | None = None
    revision: int | None = None
    next_private_key_secret_name: str = ""
    last_failure_time: datetime | None = None
    failed_issuance_attempts: int | None = None


@custom_resource(
    GROUP,
    VERSION,
    short_names=["cert", "certs"],
    categories=["cert-manager"],
    columns=[
        Column("Ready", '.status.conditions[?(@.type == "Ready")].status', "string"),
        Column("Secret", ".spec.secretName", "string"),
        Column("Age", ".metadata.creationTimestamp", "date"),
    ],
)
class Certificate(Object):
    """A certificate that is kept in a Secret and renewed in time."""

    spec: CertificateSpec
    status: CertificateStatus = field(default_factory=CertificateStatus)
