"""What statuses and Events say: reasons and messages, put together here and nowhere else."""

from collections.abc import Sequence
from typing import Final

from certwright.kube import Key
from certwright.operators.discoveryservice.certificates.decision import IssueCause
from certwright.pki import Validity

ISSUED: Final = "CertificateIssued"
RENEWED: Final = "CertificateRenewed"
ABOUT_TO_EXPIRE: Final = "CertificateAboutToExpire"
ISSUE_FAILED: Final = "IssueFailed"
INVALID_SPEC: Final = "InvalidSpec"
SECRET_NOT_OWNED: Final = "SecretNotOwned"  # noqa: S105 - a reason
EMERGENCY: Final = "EmergencyCARotation"
EXPIRED: Final = "CertificateExpired"
IN_USE: Final = "AuthorityInUse"
ROTATION: Final = "CARotation"
DEPRECATED: Final = "DeprecatedField"
NOT_YET_VALID: Final = "CertificateNotYetValid"

_NAMED: Final = 10

_CAUSES: Final = {
    IssueCause.FIRST: "there was none",
    IssueCause.UNREADABLE: "the Secret could not be read",
    IssueCause.REPLACED: "the Secret held another certificate",
    IssueCause.SPEC: "the spec asks for another certificate",
    IssueCause.EXPIRED: "it had expired",
    IssueCause.NOT_YET_VALID: "it was not valid yet",
    IssueCause.UNTRUSTED: "it was signed by an authority that is not trusted",
    IssueCause.ROTATED: "the authority was replaced",
    IssueCause.PROOF: "the authorities to trust have changed",
    IssueCause.AGE: "it was about to expire",
    IssueCause.REQUESTED: "its renewal was requested",
}


def ready() -> str:
    """Return what a certificate says that works."""
    return "The certificate is valid."


def expired() -> str:
    """Return what a certificate says that expired and is not renewed."""
    return (
        "The certificate has expired and renewal is disabled; set spec.certificateRenewal.enabled"
        " to true, or the condition CertificateNeedsRenewal to True"
    )


def not_yet_valid(validity: Validity) -> str:
    """Return what a certificate says that begins later."""
    return (
        f"The certificate is valid from {validity.not_before:%FT%TZ}, which is later than now;"
        " check the clock of the operator, or delete the Secret to have another one made"
    )


def about_to_expire(window_seconds: int) -> str:
    """Return the message of the condition CertificateNeedsRenewal."""
    return f"Certificate expires in less than {window_seconds} seconds"


def issued(secret: Key, serial: str, cause: IssueCause, detail: str) -> str:
    """Return what an Event says of a certificate that was issued."""
    why = f"{_CAUSES[cause]} ({detail})" if detail else _CAUSES[cause]
    return f"certificate {serial} was issued into Secret {secret}: {why}"


def issuer_unusable(issuer: Key, why: str) -> str:
    """Return what a certificate says whose authority cannot sign."""
    return f"Secret {issuer} cannot be used as authority: {why}"


def issuer_missing(issuer: Key) -> str:
    """Return what a certificate says whose authority does not exist."""
    return f"Secret {issuer} of type kubernetes.io/tls does not exist; it is the authority"


def secret_not_owned(secret: Key) -> str:
    """Return what a certificate says whose Secret is not its own."""
    return (
        f"Secret {secret} exists and does not belong to this certificate; delete it, or name"
        " another one in spec.secretRef.name"
    )


def authority_lost(why: str) -> str:
    """Return what an authority says that had to be replaced at once."""
    return f"The authority was replaced without preparation: {why}"


def step(phase: str, waiting_for: Sequence[str]) -> str:
    """Return what an Event says of a rotation that went on."""
    if not waiting_for:
        return f"the rotation of the authority is {phase}"
    return f"the rotation of the authority is {phase}; it waits for {listed(waiting_for)}"


def in_use(leaves: Sequence[str]) -> str:
    """Return why an authority is not deleted yet."""
    return (
        f"The authority is not deleted while certificates name it: {listed(leaves)}; delete these"
        " first"
    )


def deprecated(fields: Sequence[str]) -> str:
    """Return what an Event says of fields under old names."""
    return f"deprecated fields are used: {', '.join(fields)}"


def listed(names: Sequence[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
