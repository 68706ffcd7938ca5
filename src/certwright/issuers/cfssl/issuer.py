"""Certificates from a CFSSL server, whose profile decides on lifetime and usages."""

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
from certwright.issuers.cfssl.client import CfsslClient, CfsslRefused, Profile
from certwright.issuers.web import CaBundle, Web, refuse_plain


@dataclass(frozen=True)
class CfsslSpec:
    """Which server, and what to ask it for."""

    url: str
    profile: str = ""
    label: Annotated[str, Meta(description="The signer, where several are served.")] = ""
    auth_key: Annotated[
        SecretKey | None, Meta(description="In hexadecimal, as in the server's configuration.")
    ] = None
    ca_bundle: CaBundle = ""

    def __post_init__(self) -> None:
        if self.auth_key is not None:
            refuse_plain(self.url, "what the authentication key vouches for")

    def asked(self) -> Profile:
        """Return what to ask for."""
        key = Profile.read_key(self.auth_key) if self.auth_key else None
        return Profile(self.url, self.profile, self.label, key)


app = IssuerApp(group="issuers.certwright.dev", kind="CFSSLIssuer", spec=CfsslSpec, set_ca=True)


@app.check(every=timedelta(minutes=5))
async def check(issuer: Issuer[CfsslSpec]) -> None:
    """Ask for the signer's certificate."""
    async with Web(trusted=issuer.spec.ca_bundle) as web:
        await CfsslClient(web, issuer.spec.asked()).authority()


@app.sign
async def sign(request: Request, issuer: Issuer[CfsslSpec]) -> Bundle:
    """Have it signed, and add the signer's certificate."""
    async with Web(trusted=issuer.spec.ca_bundle) as web:
        client = CfsslClient(web, issuer.spec.asked())
        return Bundle.from_pem([await client.sign(request.csr_pem), await client.authority()])


@app.classify_error
def classify(error: Exception) -> SignOutcome | None:
    """Return the exception for a response: the request is wrong, or the issuer is."""
    if isinstance(error, CfsslRefused):
        return Permanent(str(error)) if error.is_about_request else IssuerUnavailable(str(error))
    return None
