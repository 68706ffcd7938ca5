"""When a certificate is due for renewal: arithmetic over its validity, nothing else."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from certwright.pki.certificates import Validity
from certwright.pki.errors import RenewalPolicyError

_SPREAD = Fraction(1, 10)
_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class RenewalPolicy:
    """How early to renew: after a fraction of the lifetime, or so long before its end.

    *renew_before* wins over *fraction*. cert-manager's ``renewBeforePercentage: 25`` is the
    fraction 3/4.

    Raises:
        RenewalPolicyError: the fraction is not between 0 and 1, or renew_before is not positive.
    """

    fraction: Fraction = Fraction(2, 3)
    renew_before: timedelta | None = None

    def __post_init__(self) -> None:
        if not 0 < self.fraction < 1:
            raise RenewalPolicyError("the fraction must lie between 0 and 1")
        if self.renew_before is not None and self.renew_before <= timedelta(0):
            raise RenewalPolicyError("renewBefore must be positive")


def renewal_time(
    validity: Validity,
    policy: RenewalPolicy = RenewalPolicy(),  # noqa: B008 - frozen, hence harmless
    *,
    jitter: float = 0.0,
) -> datetime:
    """Return the instant from which a certificate with this validity is due for renewal.

    *jitter*, from 0 to 1, moves it later by up to a tenth of the time that then remains, so
    that certificates made together are not renewed together; see `stable_jitter`. It
    never reaches the end of the validity.

    The result is cut to whole seconds, as statuses store them: a controller woken at the
    stored time must find the renewal due, not 300 ms away.

    Raises:
        RenewalPolicyError: *renew_before* is not shorter than the lifetime.
        ValueError: *jitter* is not between 0 and 1.
    """
    if not 0 <= jitter <= 1:
        raise ValueError("jitter lies between 0 and 1")
    lifetime = validity.lifetime // _SECOND
    if policy.renew_before is None:
        elapsed = lifetime * policy.fraction
    elif policy.renew_before >= validity.lifetime:
        raise RenewalPolicyError(
            f"renewBefore {policy.renew_before} is not shorter than the lifetime of the"
            f" certificate, {validity.lifetime}"
        )
    else:
        elapsed = lifetime - Fraction(policy.renew_before / _SECOND)
    elapsed += (lifetime - elapsed) * _SPREAD * Fraction(jitter)
    return validity.not_before.replace(microsecond=0) + timedelta(seconds=int(elapsed))


def stable_jitter(identity: str) -> float:
    """Return a number from 0 up to 1 that is always the same for the same identity.

    Derived instead of drawn: a restarted controller computes the same renewal time.
    """
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6]) / (1 << 48)
