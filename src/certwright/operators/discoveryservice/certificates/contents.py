"""What Secrets hold: a certificate with its key, the authorities to trust, and how it came there.

A Secret holds ``tls.crt`` and ``tls.key``, and in ``ca.crt`` all authorities that are trusted. That
of an authority that is replaced also holds its successor, in ``next.crt`` and ``next.key``. It is
all that is known of a rotation, and it changes in one write.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Final

from certwright import pki
from certwright.api.discoveryservices import GROUP, DiscoveryServiceCertificate
from certwright.kube import JsonObject, Key
from certwright.pki.certificates import Certificate, fingerprint
from certwright.pki.pairs import CertifiedKey, read_pair
from certwright.pki.rotation import RotationAction

SECRET_TYPE: Final = "kubernetes.io/tls"  # noqa: S105 - a type
CERTIFICATE: Final = "tls.crt"
KEY: Final = "tls.key"
BUNDLE: Final = "ca.crt"
NEXT_CERTIFICATE: Final = "next.crt"
NEXT_KEY: Final = "next.key"

ISSUED: Final = f"{GROUP}/issued"
"""Annotation: the fingerprint of the certificate that was issued, so that others are noticed."""
ISSUED_WITH: Final = f"{GROUP}/issued-with"
"""Annotation: the digest of the bundle that was written together with the certificate."""
SERVICE: Final = f"{GROUP}/discovery-service"
"""Annotation of an authority's Secret: whose it is."""
ORDER: Final = f"{GROUP}/rotation"
"""Annotation of an authority's Secret: which certificates are to be issued anew."""


@dataclass(frozen=True, slots=True)
class HeldContents:
    """What the Secret of a certificate holds. What cannot be read is missing, and named."""

    pair: CertifiedKey | None
    problem: str = ""
    """Why there is no pair."""
    bundle: tuple[Certificate, ...] = ()
    issued: str = ""
    issued_with: str = ""
    next: CertifiedKey | None = None
    service: str = ""
    ordered: RotationAction = RotationAction.NONE
    data: JsonObject = field(default_factory=dict, repr=False)

    @property
    def anchors(self) -> frozenset[str]:
        """The fingerprints of the authorities in the bundle."""
        return fingerprints(self.bundle)


def read_contents(secret: JsonObject) -> HeldContents:
    """Read a Secret; nothing that it may hold raises."""
    data = secret.get("data")
    data = data if isinstance(data, dict) else {}
    annotations = secret["metadata"].get("annotations") or {}
    pair, problem = _read_pair(data, CERTIFICATE, KEY)
    successor, _ = _read_pair(data, NEXT_CERTIFICATE, NEXT_KEY)
    order = annotations.get(ORDER, "")
    return HeldContents(
        pair=pair,
        problem=problem,
        bundle=_read_bundle(data),
        issued=annotations.get(ISSUED, ""),
        issued_with=annotations.get(ISSUED_WITH, ""),
        next=successor,
        service=annotations.get(SERVICE, ""),
        ordered=RotationAction(order) if order in list(RotationAction) else RotationAction.NONE,
        data=data,
    )


def pair_data(pair: CertifiedKey) -> JsonObject:
    """Return the data that hold a certificate and its key."""
    certificate, key = pair.write()
    return {CERTIFICATE: _encode(certificate), KEY: _encode(key)}


def next_data(pair: CertifiedKey) -> JsonObject:
    """Return the data that hold the successor of an authority."""
    certificate, key = pair.write()
    return {NEXT_CERTIFICATE: _encode(certificate), NEXT_KEY: _encode(key)}


NO_NEXT: Final[JsonObject] = {NEXT_CERTIFICATE: None, NEXT_KEY: None}
"""What removes the successor in a merge patch."""


def bundle_data(bundle: Iterable[Certificate]) -> JsonObject:
    """Return the data that hold a bundle."""
    return {BUNDLE: _encode(pki.write_bundle(bundle))}


def bundle_digest(bundle: Iterable[Certificate]) -> str:
    """Return a text that tells bundles apart, whatever the order of what they hold."""
    joined = ",".join(sorted(fingerprints(bundle)))
    return sha256(joined.encode()).hexdigest()[:32]


def fingerprints(certificates: Iterable[Certificate]) -> frozenset[str]:
    """Return the fingerprints of certificates."""
    return frozenset(map(fingerprint, certificates))


def secret_object(key: Key, data: JsonObject, annotations: dict[str, str]) -> JsonObject:
    """Return a new Secret."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": key.name, "namespace": key.namespace, "annotations": annotations},
        "type": SECRET_TYPE,
        "data": data,
    }


def is_controlled_by(secret: JsonObject, owner: JsonObject) -> bool:
    """Return whether a Secret belongs to a certificate, by the UID of its controller."""
    references = secret["metadata"].get("ownerReferences") or ()
    return any(
        one.get("controller") and one.get("uid") == owner["metadata"]["uid"] for one in references
    )


def controller_name(obj: JsonObject, kind: str) -> str:
    """Return the name of the controller of an object, if it is of a kind of our group."""
    for one in obj["metadata"].get("ownerReferences") or ():
        group = one.get("apiVersion", "").rpartition("/")[0]
        if one.get("controller") and one.get("kind") == kind and group == GROUP:
            return str(one.get("name", ""))
    return ""


def certificate_of(secret: JsonObject) -> Key | None:
    """Return the certificate that a Secret belongs to."""
    name = controller_name(secret, DiscoveryServiceCertificate.resource.kind)
    return Key(secret["metadata"]["namespace"], name) if name else None


def _read_pair(data: JsonObject, certificate: str, key: str) -> tuple[CertifiedKey | None, str]:
    held = [data.get(name) for name in (certificate, key)]
    for name, value in zip((certificate, key), held, strict=True):
        if not isinstance(value, str) or not value:
            return None, f"{name} is missing"
    return _decode_pair(str(held[0]), str(held[1]))


@lru_cache(maxsize=512)  # a pass reads what the last one has read, nearly always
def _decode_pair(certificate: str, key: str) -> tuple[CertifiedKey | None, str]:
    try:
        pair = read_pair(b64decode(certificate, validate=True), b64decode(key, validate=True))
    except (Base64Error, ValueError):
        return None, "tls.crt or tls.key is not base64"
    except pki.PkiError as error:
        return None, f"{error.reason}: {error}"
    return pair, ""


def _read_bundle(data: JsonObject) -> tuple[Certificate, ...]:
    held = data.get(BUNDLE)
    return _decode_bundle(held) if isinstance(held, str) else ()


@lru_cache(maxsize=64)
def _decode_bundle(text: str) -> tuple[Certificate, ...]:
    try:
        return tuple(pki.read_bundle(b64decode(text, validate=True)))
    except (pki.PkiError, Base64Error, ValueError):
        return ()


def _encode(value: bytes) -> str:
    return b64encode(value).decode()
