"""The real cert-manager, for tests and benchmarks, on the real control plane."""

from certwright.testkit.certmanager.assets import (
    CertManagerAssets,
    find_cert_manager,
    obtain_cert_manager,
)
from certwright.testkit.certmanager.certmanager import CertManager, cert_manager
from certwright.testkit.certmanager.definitions import official_definitions

__all__ = [
    "CertManager",
    "CertManagerAssets",
    "cert_manager",
    "find_cert_manager",
    "obtain_cert_manager",
    "official_definitions",
]
