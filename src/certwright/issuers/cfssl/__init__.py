"""Certificates from a CFSSL server. ``python -m certwright.issuers.cfssl run``."""

from certwright.issuers.cfssl.client import CfsslClient, CfsslRefused, Profile
from certwright.issuers.cfssl.issuer import CfsslSpec, app

__all__ = ["CfsslClient", "CfsslRefused", "CfsslSpec", "Profile", "app"]
