"""Certificates that sign themselves. ``python -m certwright.issuers.selfsigned run``."""

from certwright.issuers.selfsigned.issuer import SelfSignedSpec, app

__all__ = ["SelfSignedSpec", "app"]
