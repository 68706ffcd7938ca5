"""Private keys that never leave their module.

They are keys of `cryptography` as far as signing goes, so that an `Authority` takes them like
any other. Signing waits for the module: do it in a thread, whatever the algorithm.
"""

from typing import Any, NoReturn, Self

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import AsymmetricPadding, PKCS1v15
from cryptography.hazmat.primitives.asymmetric.utils import (
    NoDigestInfo,
    Prehashed,
    encode_dss_signature,
)
from pkcs11 import Mechanism

from certwright.issuers.pkcs11.module import HsmError, KeyPlace, Module
from certwright.pki import PrivateKey, UnsupportedKey, key_spec
from certwright.pki.keys import PublicKey

_RSA_MECHANISMS = {
    "sha256": Mechanism.SHA256_RSA_PKCS,
    "sha384": Mechanism.SHA384_RSA_PKCS,
    "sha512": Mechanism.SHA512_RSA_PKCS,
}


_PROOF = b"certwright: does this key belong to its certificate?"


class KeyStaysInside(Exception):
    """Something else than a signature was asked of a key inside a module."""


def key_inside(module: Module, place: KeyPlace, public_key: PublicKey) -> PrivateKey:
    """Return the private key of a place; *public_key* is the one of its certificate.

    Nothing is asked of the module yet. Raises `UnsupportedKey` if it is neither RSA nor ECDSA.
    """
    match public_key:
        case ec.EllipticCurvePublicKey():
            return _EcKey(module, place, public_key)
        case rsa.RSAPublicKey():
            return _RsaKey(module, place, public_key)
    raise UnsupportedKey(f"{key_spec(public_key)} keys inside a module are not accepted")


def check_inside(key: PrivateKey) -> None:
    """Have a key sign something; `HsmError` if refused, or the certificate is another key's."""
    try:
        match key:
            case _EcKey():
                signed = key.sign(_PROOF, ec.ECDSA(hashes.SHA256()))
                key.public_key().verify(signed, _PROOF, ec.ECDSA(hashes.SHA256()))
            case _RsaKey():
                signed = key.sign(_PROOF, PKCS1v15(), hashes.SHA256())
                key.public_key().verify(signed, _PROOF, PKCS1v15(), hashes.SHA256())
    except InvalidSignature:
        raise HsmError("the key in the token is not the one of the certificate") from None


class _Inside:
    """What all keys in a module refuse."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def private_bytes(self, *_: object) -> NoReturn:
        raise KeyStaysInside("a key in a PKCS#11 module cannot be written")

    def private_numbers(self) -> NoReturn:
        raise KeyStaysInside("a key in a PKCS#11 module cannot be read")

    def exchange(self, *_: object) -> NoReturn:
        raise KeyStaysInside("a key in a PKCS#11 module is used for signatures only")

    decrypt = exchange


class _EcKey(_Inside, ec.EllipticCurvePrivateKey):
    def __init__(
        self, module: Module, place: KeyPlace, public_key: ec.EllipticCurvePublicKey
    ) -> None:
        self._module = module
        self._place = place
        self._public_key = public_key

    @property
    def curve(self) -> ec.EllipticCurve:
        return self._public_key.curve

    @property
    def key_size(self) -> int:
        return self._public_key.key_size

    def public_key(self) -> ec.EllipticCurvePublicKey:
        return self._public_key

    def sign(
        self,
        data: bytes | bytearray | memoryview,
        signature_algorithm: ec.EllipticCurveSignatureAlgorithm,
    ) -> bytes:
        algorithm = signature_algorithm.algorithm
        assert isinstance(algorithm, hashes.HashAlgorithm)
        digest = hashes.Hash(algorithm)
        digest.update(data)
        # Modules agree on signing a digest; that they can hash as well is not certain.
        raw = self._module.sign(self._place, digest.finalize(), Mechanism.ECDSA)
        half = len(raw) // 2
        r, s = int.from_bytes(raw[:half], "big"), int.from_bytes(raw[half:], "big")
        return encode_dss_signature(r, s)


class _RsaKey(_Inside, rsa.RSAPrivateKey):
    def __init__(self, module: Module, place: KeyPlace, public_key: rsa.RSAPublicKey) -> None:
        self._module = module
        self._place = place
        self._public_key = public_key

    @property
    def key_size(self) -> int:
        return self._public_key.key_size

    def public_key(self) -> rsa.RSAPublicKey:
        return self._public_key

    def sign(
        self,
        data: bytes | bytearray | memoryview,
        padding: AsymmetricPadding,
        algorithm: Prehashed | hashes.HashAlgorithm | NoDigestInfo,
    ) -> bytes:
        assert isinstance(padding, PKCS1v15)
        assert isinstance(algorithm, hashes.HashAlgorithm)
        return self._module.sign(self._place, bytes(data), _RSA_MECHANISMS[algorithm.name])
