"""Certificates from a CFSSL server."""

from certwright.issuers.cfssl.client import CfsslClient, CfsslRefused, Profile

__all__ = ["CfsslClient", "CfsslRefused", "Profile"]
