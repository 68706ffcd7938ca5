"""Authorities of the folder above, and the real cert-manager."""

from certmanager_world import key_pair, make_certificate, ready, run_app, until

__all__ = ["key_pair", "make_certificate", "ready", "run_app", "until"]
