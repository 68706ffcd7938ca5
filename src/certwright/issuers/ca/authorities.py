"""Authorities out of Secrets: which of them signs now, and which are trusted meanwhile.

An authority is followed by another one without anybody noticing: the new one is listed beside
the old, is trusted at once, signs after everybody has had time to learn of it, and the old one
is dropped when nothing that it signed can still be valid. All that follows from the
certificates; nothing is remembered.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from cryptography import x509

from certwright import pki

FOREVER = timedelta(days=365 * 100)


@dataclass(frozen=True, slots=True)
class Signer:
    """Who signs now, and whom to trust."""

    authority: pki.Authority
    trusted: bytes
    """PEM: the roots of all authorities that may still be met."""


@dataclass(frozen=True, slots=True)
class _Held:
    """An authority from a Secret, with its root or the highest certificate that it came with."""

    authority: pki.Authority
    anchor: x509.Certificate
    anchor_pem: bytes


def choose_signer(
    secrets: Iterable[Mapping[str, bytes]],
    endpoints: pki.Endpoints,
    rotation: pki.Rotation,
    now: datetime,
) -> Signer:
    """Return who signs now.

    A Secret holds ``tls.key`` and ``tls.crt`` (the authority, then what stands between it and
    its root), and may hold the root in ``ca.crt``.

    Raises:
        KeyError: a Secret lacks one of the two.
        PkiError: one cannot be read, is no authority, or none is valid now.
    """
    held = {
        one.authority.certificate: one
        for one in (
            _read(secret["tls.crt"], secret["tls.key"], secret.get("ca.crt", b""), endpoints)
            for secret in secrets
        )
    }
    known = list(held)
    chosen = held[rotation.signer(known, now)]
    if len(known) == 1:  # nearly always, and then there is nothing to work out
        return Signer(chosen.authority, chosen.anchor_pem)
    anchors = [held[one].anchor for one in rotation.trusted(known, now)]
    return Signer(chosen.authority, pki.write_bundle(anchors or [chosen.anchor]))


@lru_cache(maxsize=64)  # reading an authority takes as long as signing with it
def _read(certificates: bytes, key: bytes, root: bytes, endpoints: pki.Endpoints) -> _Held:
    chain = pki.read_chain(certificates + b"\n" + root)
    own, *above = chain.certificates
    authority = pki.Authority(own, pki.read_key(key), tuple(above), endpoints)
    anchor = chain.authority or chain.certificates[-1]
    return _Held(authority, anchor, pki.write_bundle([anchor]))
