"""What events and conditions of CA refresh say."""

from typing import Final

from certwright.kube import Key

REASON: Final = "AuthorityChanged"
"""Of the condition that makes cert-manager issue a Certificate, and of the event."""
FOREIGN: Final = "NotSignedByAuthority"


def reissued(authority: Key) -> str:
    """Return why a Certificate is issued anew."""
    return f"the authority in Secret {authority} has changed, and did not sign this certificate"


def foreign(authority: Key) -> str:
    """Return what is wrong with a Certificate that another authority signs."""
    return (
        f"it was issued anew, and still not by the authority in Secret {authority}; see which"
        " Secret its issuer signs with"
    )
