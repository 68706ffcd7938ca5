"""Certificates that sign themselves. ``python -m certwright.issuers.selfsigned run``."""

from certwright.issuers.selfsigned.issuer import Spec, app

__all__ = ["Spec", "app"]
