"""Where authorities are named: Secrets of certificates, ConfigMaps, webhook configurations."""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import reduce
from typing import Final

from certwright import pki
from certwright.kube import JsonObject, Key, key_of
from certwright.kube.kinds import ConfigMap, MutatingWebhookConfiguration
from certwright.operators.discoveryservice.certificates.contents import (
    BUNDLE,
    HeldContents,
    bundle_digest,
    fingerprints,
    is_controlled_by,
    read_contents,
)
from certwright.operators.discoveryservice.certificates.decision import signer_of
from certwright.operators.discoveryservice.certificates.rotation.observer import Users
from certwright.operators.discoveryservice.certificates.wanted import issuer_of, secret_of
from certwright.pki.certificates import Certificate
from certwright.pki.rotation import TrustPlace

INSTANCE: Final = "app.kubernetes.io/instance"
"""Label of the objects of a DiscoveryService: its name."""
SERVICE_LABELS: Final = (
    "app.kubernetes.io/managed-by=marin3r-operator,app.kubernetes.io/component=discovery-service"
)
"""Which objects belong to a DiscoveryService."""
BUNDLE_KINDS: Final = (ConfigMap, MutatingWebhookConfiguration)
"""Kinds of objects besides Secrets that name authorities."""
_OTHER: Final = "another authority"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A certificate of an authority, and its Secret."""

    certificate: JsonObject
    secret: JsonObject
    contents: HeldContents
    is_server: bool

    @property
    def key(self) -> Key:
        """Its Secret."""
        return key_of(self.secret)


def leaves_of(
    authority: Key, certificates: Iterable[JsonObject], secret: Callable[[Key], JsonObject | None]
) -> list[Leaf]:
    """Return the certificates of an authority's Secret that are written anywhere, by name."""
    found = []
    for obj in sorted(certificates, key=key_of):
        place = secret_of(obj)
        if issuer_of(obj) != authority or place is None:
            continue
        held = secret(place)
        if held is not None and is_controlled_by(held, obj):
            is_server = (obj.get("spec") or {}).get("server") is True
            found.append(Leaf(obj, held, read_contents(held), is_server))
    return found


@dataclass(frozen=True, slots=True)
class BundlePlace:
    """An object besides Secrets that names authorities."""

    name: str
    trusts: frozenset[str]


def bundle_place(obj: JsonObject) -> BundlePlace | None:
    """Return which authorities a ConfigMap or a webhook configuration names; None if it does not.

    Several webhooks of one configuration trust what all of them name.
    """
    name = f"{obj['kind']} {key_of(obj)}"
    if obj["kind"] == "ConfigMap":
        held = (obj.get("data") or {}).get(BUNDLE)
        return BundlePlace(name, _read(held.encode())) if isinstance(held, str) else None
    bundles = [
        _read(_decoded((one.get("clientConfig") or {}).get("caBundle")))
        for one in obj.get("webhooks") or ()
    ]
    return BundlePlace(name, reduce(frozenset.__and__, bundles)) if bundles else None


def bundle_places(objects: Iterable[JsonObject]) -> list[BundlePlace]:
    """Return those of some objects that name authorities."""
    return [place for one in objects if (place := bundle_place(one)) is not None]


@dataclass(slots=True)
class PlaceAges:
    """Since when places have been known to hold what they hold, by a clock that never jumps.

    Kept in memory on purpose: the wall clock may jump, and a process that was just started may be
    shown the past. So it waits anew, which only takes longer.
    """

    _since: dict[tuple[Key, str, str], tuple[str, float]] = field(default_factory=dict)

    def age(self, authority: Key, place: str, aspect: str, value: str, now: float) -> timedelta:
        """Return how long an aspect of a place has had this value."""
        slot = (authority, place, aspect)
        before, since = self._since.get(slot, ("", now))
        if before != value:
            since = now
            self._since[slot] = (value, now)
        return timedelta(seconds=now - since)

    def forget(self, authority: Key) -> None:
        """Forget the places of an authority."""
        self._since = {slot: one for slot, one in self._since.items() if slot[0] != authority}


@dataclass(frozen=True, slots=True)
class PlaceView:
    """Turns Secrets and other places into what a rotation knows of them."""

    authority: Key
    bundle: tuple[Certificate, ...]
    """All authorities that may have signed something."""
    ages: PlaceAges
    now: float
    users: Callable[[Key], Users] | None = None
    """Tells who uses the certificate of a Secret; None if that is not known."""

    def leaf_place(self, leaf: Leaf) -> TrustPlace:
        """Return what is known of the Secret of a certificate."""
        name, contents = f"Secret {leaf.key}", leaf.contents
        pair = contents.pair
        signer = "" if pair is None else signer_of(pair.certificate, self.bundle) or _OTHER
        digest = bundle_digest(contents.bundle)
        users = self.users(leaf.key) if self.users is not None else None
        late = [] if users is None or pair is None else [
            one for one, serial in sorted(users.serials.items()) if serial != pair.serial
        ]  # fmt: skip
        return TrustPlace(
            name=name,
            trusts=contents.anchors if pair is not None else frozenset(),
            signer=signer,
            is_server=leaf.is_server,
            proven=contents.issued_with == digest or _all_trust(users, digest),
            shown=users is not None and users.complete and not late,
            lagging=tuple(late),
            trusts_for=self._age(name, "trusts", digest),
            signed_for=self._age(name, "signer", signer),
        )

    def bundle_place(self, place: BundlePlace) -> TrustPlace:
        """Return what is known of a place that holds authorities alone.

        Its readers are not known. That of a webhook configuration is the API server itself.
        """
        age = self._age(place.name, "trusts", ",".join(sorted(place.trusts)))
        return TrustPlace(
            place.name, place.trusts, proven=True, shown=True, trusts_for=age, signed_for=age
        )

    def _age(self, place: str, aspect: str, value: str) -> timedelta:
        return self.ages.age(self.authority, place, aspect, value, self.now)


def _all_trust(users: Users | None, digest: str) -> bool:
    """Return whether all who use a certificate tell that they trust a bundle."""
    if users is None or not users.serials:
        return False
    return all(users.bundles.get(name) == digest for name in users.serials)


def _read(bundle: bytes) -> frozenset[str]:
    try:
        return fingerprints(pki.read_bundle(bundle))
    except pki.PkiError:
        return frozenset()


def _decoded(value: object) -> bytes:
    try:
        return b64decode(value, validate=True) if isinstance(value, str) else b""
    except (Base64Error, ValueError):
        return b""
