"""Certificates from the PKI engine of Vault or OpenBao."""

from certwright.issuers.vault.client import VaultClient, VaultRefused, sign_order

__all__ = ["VaultClient", "VaultRefused", "sign_order"]
