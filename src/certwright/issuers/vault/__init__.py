"""An issuer that forwards requests to the PKI engine of Vault.

A request enters; `client` logs in and sends it, and `issuer` returns the certificate. Run it with
``python -m certwright.issuers.vault run``.
"""

from certwright.issuers.vault.client import VaultClient, VaultRefused, sign_order
from certwright.issuers.vault.issuer import KubernetesLogin, VaultSpec, app

__all__ = ["KubernetesLogin", "VaultClient", "VaultRefused", "VaultSpec", "app", "sign_order"]
