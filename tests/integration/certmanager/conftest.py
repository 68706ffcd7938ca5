"""The fixtures of `certmanager_world`."""

from tests.support.certmanager.certmanager_world import (
    ca_cluster_issuer,
    ca_issuer,
    ca_service,
    key_pair,
    make_certificate,
    make_request,
    ready,
    run_app,
    run_service,
    say,
    signed_for_kubernetes,
    until,
)

__all__ = [
    "ca_cluster_issuer",
    "ca_issuer",
    "ca_service",
    "key_pair",
    "make_certificate",
    "make_request",
    "ready",
    "run_app",
    "run_service",
    "say",
    "signed_for_kubernetes",
    "until",
]
