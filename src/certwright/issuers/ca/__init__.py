"""An authority whose key is in a Secret. ``python -m certwright.issuers.ca run``."""

from certwright.issuers.ca.authorities import Signer, UnfitSecret, choose_signer
from certwright.issuers.ca.issuer import Spec, app

__all__ = ["Signer", "Spec", "UnfitSecret", "app", "choose_signer"]
