"""Certificates from Vault's PKI engine. ``python -m certwright.issuers.vault run``."""

from certwright.issuers.vault.client import VaultClient, VaultRefused, sign_order
from certwright.issuers.vault.issuer import KubernetesLogin, VaultSpec, app

__all__ = ["KubernetesLogin", "VaultClient", "VaultRefused", "VaultSpec", "app", "sign_order"]
