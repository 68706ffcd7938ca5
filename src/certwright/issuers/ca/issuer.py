"""An authority whose key is in a Secret, and its succession."""

from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache
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
from certwright.issuers.ca.authorities import (
    FOREVER,
    ActiveAuthority,
    UnfitSecret,
    choose_authority,
)
from certwright.kube import DurationText
from certwright.kube.durations import parse_duration


@dataclass(frozen=True)
class CaSpec:
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


app = IssuerApp(
    group="issuers.certwright.dev", kind="CAIssuer", spec=CaSpec, set_ca=True, workers=20
)


@app.check(every=timedelta(minutes=10))
def check(issuer: Issuer[CaSpec]) -> None:
    """Read the authorities; one of them must be able to sign now."""
    active_authority(issuer)


@app.sign
async def sign(request: Request, issuer: Issuer[CaSpec]) -> Bundle:
    """Sign with the authority whose turn it is."""
    if request.duration > rotation(issuer.spec.propagation, issuer.spec.max_duration).longest_leaf:
        raise Permanent(f"this issuer signs for at most {issuer.spec.max_duration}")
    try:
        chosen = active_authority(issuer)
    except (pki.PkiError, UnfitSecret, KeyError) as error:
        raise IssuerUnavailable(str(error)) from error
    try:
        bundle = await request.sign_with(chosen.authority)
    except pki.AuthorityUnfit as error:
        raise Permanent(str(error)) from error
    return bundle.with_ca(chosen.trusted)


def active_authority(issuer: Issuer[CaSpec]) -> ActiveAuthority:
    """Return the authority that signs now."""
    spec = issuer.spec
    return choose_authority(
        spec.authorities,
        pki.Endpoints(
            tuple(spec.revocation_lists), tuple(spec.ocsp_servers), tuple(spec.issuing_certificates)
        ),
        rotation(spec.propagation, spec.max_duration),
        issuer.now,
    )


@lru_cache(maxsize=64)
def rotation(propagation: str, max_duration: str | None) -> pki.Rotation:
    """Return how the authorities of a spec follow each other."""
    longest = parse_duration(max_duration) if max_duration else FOREVER
    return pki.Rotation(parse_duration(propagation), longest)
