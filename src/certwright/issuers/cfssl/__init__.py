"""Certificates from a CFSSL server. ``python -m certwright.issuers.cfssl run``."""

from certwright.issuers.cfssl.client import CfsslClient, CfsslRefused, Profile
from certwright.issuers.cfssl.issuer import Spec, app

__all__ = ["CfsslClient", "CfsslRefused", "Profile", "Spec", "app"]
