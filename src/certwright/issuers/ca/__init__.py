"""An issuer that signs with an authority whose key is in a Secret.

A request and the Secrets of the authorities enter; `issuer` chooses the one that signs, and signs.
Run it with ``python -m certwright.issuers.ca run``.
"""

from certwright.issuers.ca.issuer import (
    ActiveAuthority,
    CaSpec,
    UnfitSecret,
    app,
    choose_authority,
)

__all__ = ["ActiveAuthority", "CaSpec", "UnfitSecret", "app", "choose_authority"]
