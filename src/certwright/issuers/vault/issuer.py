"""Certificates from the PKI engine of Vault or OpenBao.

The login is a token of Vault or of a ServiceAccount, from a Secret of the issuer. The process
never sends its own token to a server that an issuer names.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated

from msgspec import Meta

from certwright.issuer import (
    Bundle,
    Issuer,
    IssuerApp,
    IssuerUnavailable,
    Permanent,
    Request,
    SecretKey,
    SignOutcome,
)
from certwright.issuers.vault.client import VaultClient, VaultRefused, sign_order
from certwright.issuers.web import CaBundle, Web, refuse_plain


@dataclass(frozen=True)
class KubernetesLogin:
    """A ServiceAccount that Vault knows."""

    role: str
    token: Annotated[SecretKey, Meta(description="The ServiceAccount's token.")]
    mount: str = "kubernetes"


@dataclass(frozen=True)
class VaultSpec:
    """Which Vault, which role of which engine, and as whom."""

    server: str
    path: Annotated[str, Meta(description="Of the endpoint that signs, such as pki/sign/web.")]
    namespace: Annotated[str, Meta(description="Vault's own, not Kubernetes'.")] = ""
    token: SecretKey | None = None
    kubernetes: KubernetesLogin | None = None
    ca_bundle: CaBundle = ""

    def __post_init__(self) -> None:
        if (self.token is None) == (self.kubernetes is None):
            raise ValueError("set either token or kubernetes")
        refuse_plain(self.server, "Vault's token")


app = IssuerApp(group="issuers.certwright.dev", kind="VaultIssuer", spec=VaultSpec, set_ca=True)


@app.check(every=timedelta(minutes=5))
async def check(issuer: Issuer[VaultSpec]) -> None:
    """Ask whether Vault is unsealed and lets us in."""
    async with Web(trusted=issuer.spec.ca_bundle) as web:
        vault = VaultClient(web, issuer.spec.server, issuer.spec.namespace)
        await vault.check_health()
        await vault.check_token(await token_for(issuer.spec, vault))


@app.sign
async def sign(request: Request, issuer: Issuer[VaultSpec]) -> Bundle:
    """Have the role sign it."""
    order = sign_order(request.csr, request.csr_pem, int(request.duration.total_seconds()))
    async with Web(trusted=issuer.spec.ca_bundle) as web:
        vault = VaultClient(web, issuer.spec.server, issuer.spec.namespace)
        token = await token_for(issuer.spec, vault)
        return Bundle.from_pem(await vault.sign(issuer.spec.path, token, order))


async def token_for(spec: VaultSpec, vault: VaultClient) -> str:
    """Return the token to come with, after a login if there is none."""
    if spec.kubernetes is None:
        assert spec.token is not None, "the spec demands one of both"
        return spec.token
    return await vault.log_in(spec.kubernetes.mount, spec.kubernetes.role, spec.kubernetes.token)


@app.classify_error
def classify(error: Exception) -> SignOutcome | None:
    """Return the exception for a response: the request is wrong, or the issuer is."""
    if isinstance(error, VaultRefused):
        return Permanent(str(error)) if error.is_about_request else IssuerUnavailable(str(error))
    return None
