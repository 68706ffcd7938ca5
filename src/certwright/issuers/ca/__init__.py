"""An authority whose key is in a Secret. ``python -m certwright.issuers.ca run``."""

from certwright.issuers.ca.authorities import ActiveAuthority, UnfitSecret, choose_authority
from certwright.issuers.ca.issuer import CaSpec, app

__all__ = ["ActiveAuthority", "CaSpec", "UnfitSecret", "app", "choose_authority"]
