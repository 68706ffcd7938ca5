"""An authority whose key is in a Secret, and its succession."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Annotated

from msgspec import Meta

from certwright import pki
from certwright.issuer import (
    Bundle,
    Issuer,
    IssuerApp,
    IssuerUnavailable,
    Permanent,
    Request,
    SecretData,
)
from certwright.issuers.ca.authorities import FOREVER, Signer, choose_signer
from certwright.kube import DurationText, parse_duration


@dataclass(frozen=True)
class Spec:
    """Which authorities sign, and what certificates say about them."""

    authorities: Annotated[list[SecretData], Meta(min_length=1, max_length=8)]
    """Secrets with ``tls.crt``, ``tls.key``, maybe ``ca.crt``; several during a succession."""
    propagation: DurationText = "1h"
    """How long a new authority is only trusted before it signs."""
    max_duration: DurationText | None = None
    """The longest lifetime that is signed, and hence how long an authority of old is trusted."""
    revocation_lists: list[str] = field(default_factory=list)
    """URLs of revocation lists."""
    ocsp_servers: list[str] = field(default_factory=list)
    issuing_certificates: list[str] = field(default_factory=list)
    """URLs where the authority's own certificate is found."""

    @property
    def longest(self) -> timedelta:
        """The longest lifetime that is signed."""
        return parse_duration(self.max_duration) if self.max_duration else FOREVER


app = IssuerApp(group="issuers.certwright.dev", kind="CAIssuer", spec=Spec, set_ca=True)


@app.check(every=timedelta(minutes=10))
def check(issuer: Issuer[Spec]) -> None:
    """Read the authorities; one of them must be able to sign now."""
    signer(issuer)


@app.sign
async def sign(request: Request, issuer: Issuer[Spec]) -> Bundle:
    """Sign with the authority whose turn it is."""
    if request.duration > issuer.spec.longest:
        raise Permanent(f"this issuer signs for at most {issuer.spec.max_duration}")
    try:
        chosen = signer(issuer)
    except (pki.PkiError, KeyError) as error:
        raise IssuerUnavailable(str(error)) from error
    try:
        bundle = await request.sign_with(chosen.authority)
    except pki.AuthorityUnfit as error:
        raise Permanent(str(error)) from error
    return bundle.with_ca(chosen.trusted)


def signer(issuer: Issuer[Spec]) -> Signer:
    """Return who signs now."""
    spec = issuer.spec
    return choose_signer(
        spec.authorities,
        pki.Endpoints(
            tuple(spec.revocation_lists), tuple(spec.ocsp_servers), tuple(spec.issuing_certificates)
        ),
        pki.Rotation(parse_duration(spec.propagation), spec.longest),
        issuer.now,
    )
