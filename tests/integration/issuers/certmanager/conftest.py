"""Authorities of the folder above, and the real cert-manager."""

from tests.support.certmanager.certmanager_world import (
    certified,
    key_pair,
    make_certificate,
    ready,
    run_app,
    signed_for_kubernetes,
    until,
)

__all__ = [
    "certified",
    "key_pair",
    "make_certificate",
    "ready",
    "run_app",
    "signed_for_kubernetes",
    "until",
]
