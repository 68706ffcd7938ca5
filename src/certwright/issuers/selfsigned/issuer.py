"""Self-signed certificates: every request is signed with the key that it is for.

cert-manager names in an annotation the Secret that holds that key. Kubernetes' own signing
requests are left alone: nothing trustworthy names their key.
"""

from dataclasses import dataclass

from certwright import pki
from certwright.api.certmanager import PRIVATE_KEY_SECRET
from certwright.issuer import Bundle, Issuer, IssuerApp, Permanent, Request


@dataclass(frozen=True)
class SelfSignedSpec:
    """Nothing to be set."""


app = IssuerApp(
    group="issuers.certwright.dev",
    kind="SelfSignedIssuer",
    spec=SelfSignedSpec,
    secrets=True,
    set_ca=True,
    kubernetes_csrs=False,
)


@app.sign
async def sign(request: Request, _: Issuer[SelfSignedSpec]) -> Bundle:
    """Sign with the key of the Secret that the request names."""
    name = request.annotations.get(PRIVATE_KEY_SECRET, "")
    if not name:
        raise Permanent(
            f"the annotation {PRIVATE_KEY_SECRET} does not name the Secret of the private key"
        )
    key = pki.read_key((await request.secret(name))["tls.key"])
    pki.check_request(request.csr, request.terms)
    try:
        certificate = await request.offload(pki.self_sign, request.template(), key, request.now)
    except pki.AuthorityUnfit:
        raise Permanent("the private key is not the one that the request was made with") from None
    pem = pki.write_certificates(certificate)
    return Bundle(pem, pem)
