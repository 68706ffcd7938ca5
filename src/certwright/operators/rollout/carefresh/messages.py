"""What events and conditions of CA refresh say."""

from collections.abc import Sequence
from typing import Final

from certwright.kube import Key

REASON: Final = "AuthorityChanged"
"""Of the condition that makes cert-manager issue a Certificate, and of the event."""
FOREIGN: Final = "NotSignedByAuthority"
WAITS: Final = "WaitsForTrust"
_NAMED: Final = 5


def reissued(authority: Key) -> str:
    """Return why a Certificate is issued anew."""
    return f"the authority in Secret {authority} has changed, and did not sign this certificate"


def foreign(authority: Key) -> str:
    """Return what is wrong with a Certificate that another authority signs."""
    return (
        f"it was issued anew, and still not by the authority in Secret {authority}; see which"
        " Secret its issuer signs with"
    )


def waits_for_trust(authority: Key, behind: Sequence[str]) -> str:
    """Return which workloads have to run with an authority before its leaves are issued anew."""
    more = f" and {len(behind) - _NAMED} more" if len(behind) > _NAMED else ""
    return (
        f"it is issued anew once these have restarted with the authority in Secret {authority}:"
        f" {', '.join(behind[:_NAMED])}{more}; see: certwright rollout why"
    )
