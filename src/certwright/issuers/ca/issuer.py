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
from certwright.issuers.ca.authorities import FOREVER, Signer, UnfitSecret, choose_signer
from certwright.kube import DurationText
from certwright.kube.durations import parse_duration


@dataclass(frozen=True)
class Spec:
    """Which authorities sign, and what certificates say about them."""

    authorities: Annotated[
        list[SecretData],
        Meta(min_length=1, max_length=8, description="Several while one follows another."),
    ]
    propagation: Annotated[
        DurationText, Meta(description="How long a new authority is only trusted before it signs.")
    ] = "1h"
    max_duration: Annotated[
        DurationText | None,
        Meta(
            description="The longest lifetime that is signed; bounds how long the old are trusted."
        ),
    ] = None
    revocation_lists: Annotated[list[str], Meta(description="URLs.")] = field(default_factory=list)
    ocsp_servers: Annotated[list[str], Meta(description="URLs.")] = field(default_factory=list)
    issuing_certificates: Annotated[
        list[str], Meta(description="URLs where the authority's own certificate is found.")
    ] = field(default_factory=list)

    @property
    def longest(self) -> timedelta:
        """The longest lifetime that is signed."""
        return parse_duration(self.max_duration) if self.max_duration else FOREVER


app = IssuerApp(group="issuers.certwright.dev", kind="CAIssuer", spec=Spec, set_ca=True, workers=20)


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
    except (pki.PkiError, UnfitSecret, KeyError) as error:
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
