"""``certificates.k8s.io/v1``: Kubernetes' own signing requests, as far as issuers read them."""

from datetime import datetime
from typing import Annotated, ClassVar

from msgspec import Struct, field

from certwright.kube import ConditionStatus, Object, Resource, kinds, list_map

DURATION_ANNOTATION = "experimental.cert-manager.io/request-duration"
IS_CA_ANNOTATION = "experimental.cert-manager.io/request-is-ca"

SHORTEST_SECONDS = 600
"""What the API server accepts at least in ``expirationSeconds``."""


class SigningCondition(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """A condition of a signing request, with the time of its last write."""

    type: str
    status: ConditionStatus
    reason: str = ""
    message: str = ""
    last_update_time: datetime | None = None
    last_transition_time: datetime | None = None


class SigningRequestSpec(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """What is requested, and the requester. Immutable."""

    request: bytes
    signer_name: str
    expiration_seconds: int | None = None
    usages: list[str] = field(default_factory=list)
    username: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)


class SigningRequestStatus(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """The certificate, or conditions with the reason why there is none."""

    conditions: Annotated[list[SigningCondition], list_map("type")] = field(default_factory=list)
    certificate: bytes = b""


class CertificateSigningRequest(Object):
    """A request to the signer of this name."""

    resource: ClassVar[Resource] = kinds.CertificateSigningRequest

    spec: SigningRequestSpec
    status: SigningRequestStatus = field(default_factory=SigningRequestStatus)
