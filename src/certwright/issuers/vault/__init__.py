"""Certificates from Vault's PKI engine. ``python -m certwright.issuers.vault run``."""

from certwright.issuers.vault.client import VaultClient, VaultRefused, sign_order
from certwright.issuers.vault.issuer import KubernetesLogin, Spec, app

__all__ = ["KubernetesLogin", "Spec", "VaultClient", "VaultRefused", "app", "sign_order"]
