"""An issuer that signs with an authority whose key is in a Secret.

A request and the Secrets of the authorities enter; `authorities` chooses the one that signs, and
`issuer` signs. Run it with ``python -m certwright.issuers.ca run``.
"""

from certwright.issuers.ca.authorities import ActiveAuthority, UnfitSecret, choose_authority
from certwright.issuers.ca.issuer import CaSpec, app

__all__ = ["ActiveAuthority", "CaSpec", "UnfitSecret", "app", "choose_authority"]
