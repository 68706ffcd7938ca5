"""An authority whose key is in a Secret, and its succession.

An authority is replaced without an interruption: the new one is listed beside the old, is trusted
at once, signs once its certificate has had time to spread, and the old one is dropped when nothing
that it signed can still be valid. All that follows from the certificates; nothing is remembered.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Annotated

from cryptography import x509
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
from certwright.kube import DurationText
from certwright.kube.durations import parse_duration
from certwright.pki.chains import order_chain

FOREVER = timedelta(days=365 * 100)


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
    group="issuers.certwright.dev",
    kind="CAIssuer",
    spec=CaSpec,
    set_ca=True,
    workers=20,
    # As cert-manager's own authority does: for requesters who may `reference` the issuer, and with
    # the annotations by which they ask for an authority or for more than 90 days.
    namespaced_csrs=True,
    csr_annotations=True,
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


def active_authority(issuer: Issuer[CaSpec]) -> "ActiveAuthority":
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


class UnfitSecret(Exception):
    """A Secret that holds no authority: which one, which of its keys is at fault, and why."""


@dataclass(frozen=True, slots=True)
class ActiveAuthority:
    """The authority that signs now, and those to trust."""

    authority: pki.Authority
    trusted: bytes
    """PEM: the roots of all authorities that may still be met."""


@dataclass(frozen=True, slots=True)
class _Held:
    """An authority from a Secret, with its root or the highest certificate that it came with."""

    authority: pki.Authority
    anchor: x509.Certificate
    anchor_pem: bytes


def choose_authority(
    secrets: Iterable[SecretData], endpoints: pki.Endpoints, rotation: pki.Rotation, now: datetime
) -> ActiveAuthority:
    """Return the authority that signs now.

    A Secret holds ``tls.key`` and ``tls.crt`` (the authority, then what stands between it and
    its root), and may hold the root in ``ca.crt``.

    Raises:
        KeyError: a Secret lacks one of the two.
        UnfitSecret: what it holds cannot be read, or is no authority.
        PkiError: none is valid now.
    """
    held = {one.authority.certificate: one for one in (_held(s, endpoints) for s in secrets)}
    known = list(held)
    chosen = held[rotation.signer(known, now)]
    if len(known) == 1:  # nearly always, and then there is nothing to work out
        return ActiveAuthority(chosen.authority, chosen.anchor_pem)
    anchors = [held[one].anchor for one in rotation.trusted(known, now)]
    return ActiveAuthority(chosen.authority, pki.write_bundle(anchors or [chosen.anchor]))


def _held(secret: SecretData, endpoints: pki.Endpoints) -> _Held:
    root = secret.get("ca.crt", b"").strip()
    return _read(secret.name, secret["tls.crt"], secret["tls.key"], root, endpoints)


@lru_cache(maxsize=64)  # reading an authority takes as long as signing with it
def _read(
    secret: str, certificates: bytes, key: bytes, root: bytes, endpoints: pki.Endpoints
) -> _Held:
    with _blaming(secret, "tls.crt"):
        given = pki.read_certificates(certificates)
    if root:
        with _blaming(secret, "ca.crt"):
            given += pki.read_certificates(root)
    with _blaming(secret, "tls.key"):
        private = pki.read_key(key)
    with _blaming(secret):  # what is wrong now is that they do not belong together
        chain = order_chain(given)
        own, *above = chain.certificates
        authority = pki.Authority(own, private, tuple(above), endpoints)
    anchor = chain.authority or chain.certificates[-1]
    return _Held(authority, anchor, pki.write_bundle([anchor]))


@contextmanager
def _blaming(secret: str, key: str = "") -> Iterator[None]:
    """Add to a refusal the Secret at fault, and its key if it is one alone."""
    try:
        yield
    except pki.PkiError as error:
        place = f'secret "{secret}", key "{key}"' if key else f'secret "{secret}"'
        raise UnfitSecret(f"{place}: {error.reason}: {error}") from error
