"""Whether an authority can still be replaced in order, and what each step of that writes; pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from certwright import pki
from certwright.api.discoveryservices import GROUP
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.certificates.contents import (
    ISSUED,
    NO_NEXT,
    ORDER,
    HeldContents,
    bundle_data,
    fingerprints,
    next_data,
    pair_data,
)
from certwright.operators.discoveryservice.certificates.decision import signer_of
from certwright.operators.discoveryservice.certificates.rotation.places import Leaf
from certwright.pki.certificates import Certificate, is_authority
from certwright.pki.pairs import CertifiedKey
from certwright.pki.rotation import RotationAction

EMERGENCY: Final = f"{GROUP}/emergency"
"""Annotation of an authority's Secret: why it was replaced without its successor prepared."""


class AuthorityLost(Exception):
    """The authority cannot be used any more, so it cannot be replaced in order."""


def check_usable(contents: HeldContents, now: datetime) -> CertifiedKey:
    """Return the authority of a Secret; `AuthorityLost` if it cannot sign any more.

    One that begins later is not lost: nearly always the clock of this machine is behind.
    """
    pair = contents.pair
    if pair is None:
        raise AuthorityLost(contents.problem)
    if contents.issued and contents.issued != pair.fingerprint:
        raise AuthorityLost("tls.crt is not the certificate that was issued")
    try:
        pair.authority()
    except pki.PkiError as error:
        raise AuthorityLost(str(error)) from None
    if now > pair.validity.not_after:
        raise AuthorityLost(f"it expired at {pair.validity.not_after:%FT%TZ}")
    return pair


def still_trusted(leaves: Iterable[Leaf], namespace: str, now: datetime) -> list[Certificate]:
    """Return the authorities that certificates of a namespace rest on, of one that was lost.

    Only the authority's own namespace counts: who may write Secrets elsewhere must not be able to
    have an authority trusted.
    """
    found = []
    for leaf in leaves:
        pair = leaf.contents.pair
        if pair is None or leaf.key.namespace != namespace:
            continue
        signer = signer_of(pair.certificate, leaf.contents.bundle)
        found += [
            one
            for one in leaf.contents.bundle
            if is_authority(one)
            and signer in fingerprints([one])
            and now <= pki.Validity.of(one).not_after
        ]
    return found


@dataclass(frozen=True, slots=True)
class SecretChange:
    """What a step writes into the Secret of the authority."""

    data: JsonObject
    annotations: Mapping[str, str | None]


def first_change(pair: CertifiedKey, others: Iterable[Certificate], emergency: str) -> SecretChange:
    """Write a new authority, which signs at once, and trust others besides."""
    bundle = [pair.certificate, *others]
    annotations = {ISSUED: pair.fingerprint, ORDER: None, EMERGENCY: emergency or None}
    return SecretChange({**pair_data(pair), **bundle_data(bundle), **NO_NEXT}, annotations)


def step_change(
    action: RotationAction,
    signer: CertifiedKey,
    contents: HeldContents,
    new: CertifiedKey | None,
) -> SecretChange:
    """Return what carries out a step."""
    match action:
        case RotationAction.PREPARE:
            assert new is not None
            bundle = bundle_data([signer.certificate, new.certificate])
            return SecretChange({**next_data(new), **bundle}, {ORDER: None})
        case RotationAction.ACTIVATE:
            assert contents.next is not None
            data = {**pair_data(contents.next), **NO_NEXT}
            return SecretChange(data, {ISSUED: contents.next.fingerprint, ORDER: None})
        case RotationAction.RETIRE:
            return SecretChange(bundle_data([signer.certificate]), {ORDER: None})
        case _:
            return SecretChange({}, {ORDER: action.value})


def trusted_by(contents: HeldContents, signer: CertifiedKey) -> tuple[Certificate, ...]:
    """Return the bundle of an authority's Secret, with what it must hold."""
    needed = [signer.certificate, *([contents.next.certificate] if contents.next else [])]
    return tuple(dict.fromkeys([*contents.bundle, *needed]))
