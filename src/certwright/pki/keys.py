"""Private and public keys: RSA 2048 to 8192, ECDSA on the NIST curves, Ed25519.

Everything else is refused by name. Work with RSA keys is slow
(`KeySpec.is_slow`): making one takes 0.05 to 10 s, a signature up to 40 ms. Callers on an
event loop hand it to a thread pool; the calls release the interpreter while they compute.
Elliptic keys take microseconds and may be used where one stands.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, cast

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from certwright.pki.errors import PARSE_ERRORS, MalformedKey, MalformedPem, UnsupportedKey
from certwright.pki.pem import KEY_LIMIT, read_blocks

PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey
SignatureHash: TypeAlias = hashes.SHA256 | hashes.SHA384 | hashes.SHA512

STRONG_HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)
"""The hashes that a signature may rest on."""

RSA_SMALLEST, RSA_LARGEST = 2048, 8192
_EXPONENTS = range(65_537, 1 << 32, 2)  # NIST SP 800-89 from below, what TLS stacks read from above
_CURVES: dict[int, ec.EllipticCurve] = {
    256: ec.SECP256R1(),
    384: ec.SECP384R1(),
    521: ec.SECP521R1(),
}
_CURVE_SIZES = {curve.name: size for size, curve in _CURVES.items()}
_LABELS = {"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"}


class KeyAlgorithm(StrEnum):
    """The algorithms, in cert-manager's words."""

    RSA = "RSA"
    ECDSA = "ECDSA"
    ED25519 = "Ed25519"


class KeyEncoding(StrEnum):
    """How a private key is written: PKCS#8 holds all, PKCS#1 only RSA, SEC1 only ECDSA."""

    PKCS1 = "PKCS1"
    PKCS8 = "PKCS8"
    SEC1 = "SEC1"


@dataclass(frozen=True, slots=True)
class KeySpec:
    """A kind of key: ``KeySpec(KeyAlgorithm.RSA, 3072)``. Size 0 means the usual one.

    Raises:
        UnsupportedKey: keys of this size are not accepted.
    """

    algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA
    size: int = 0

    def __post_init__(self) -> None:
        match self.algorithm:
            case KeyAlgorithm.RSA:
                usual, accepted = 2048, RSA_SMALLEST <= self.size <= RSA_LARGEST
            case KeyAlgorithm.ECDSA:
                usual, accepted = 256, self.size in _CURVES
            case KeyAlgorithm.ED25519:
                usual, accepted = 256, self.size == 256
        if self.size == 0:
            object.__setattr__(self, "size", usual)
        elif not accepted:
            raise UnsupportedKey(
                f"{self} is not accepted: use RSA 2048 to 8192 bits, ECDSA on P-256, P-384 or"
                " P-521, or Ed25519"
            )

    def __str__(self) -> str:
        if self.algorithm is KeyAlgorithm.ED25519:
            return self.algorithm
        return f"{self.algorithm} {self.size}"

    @property
    def is_slow(self) -> bool:
        """Whether making such a key, or signing with it, belongs in a thread pool."""
        return self.algorithm is KeyAlgorithm.RSA


def generate_key(spec: KeySpec) -> PrivateKey:
    """Make a new private key. Slow where ``spec.is_slow``: 0.05 s (RSA 2048) to 10 s (8192)."""
    match spec.algorithm:
        case KeyAlgorithm.RSA:
            return rsa.generate_private_key(65_537, spec.size)
        case KeyAlgorithm.ECDSA:
            return ec.generate_private_key(_CURVES[spec.size])
        case KeyAlgorithm.ED25519:
            return ed25519.Ed25519PrivateKey.generate()


def key_spec(key: object) -> KeySpec:
    """Return the kind of a private or public key; `UnsupportedKey` if it is not accepted."""
    match key:
        case ec.EllipticCurvePublicKey() | ec.EllipticCurvePrivateKey():
            size = _CURVE_SIZES.get(key.curve.name)
            if size is None:
                raise UnsupportedKey(
                    f"ECDSA on the curve {key.curve.name} is not accepted:"
                    " use P-256, P-384 or P-521"
                )
            return KeySpec(KeyAlgorithm.ECDSA, size)
        case rsa.RSAPublicKey() | rsa.RSAPrivateKey():
            spec = KeySpec(KeyAlgorithm.RSA, key.key_size)
            public = key if isinstance(key, rsa.RSAPublicKey) else key.public_key()
            if public.public_numbers().e not in _EXPONENTS:
                raise UnsupportedKey("RSA with this public exponent is not accepted: use 65537")
            return spec
        case ed25519.Ed25519PublicKey() | ed25519.Ed25519PrivateKey():
            return KeySpec(KeyAlgorithm.ED25519)
    raise UnsupportedKey("the key is neither RSA, ECDSA nor Ed25519")


def accepted_public_key(key: object) -> PublicKey:
    """Return *key* as one of the accepted types; `UnsupportedKey` if it is of none."""
    key_spec(key)
    return cast("PublicKey", key)


def read_key(data: bytes | str) -> PrivateKey:
    """Read the one private key of a PEM text: PKCS#1, PKCS#8 or SEC1, not encrypted.

    The parts of an RSA key are checked against each other, which finds damage and mixed-up keys in
    well under a millisecond. Whether its factors are prime is not checked here: that takes up to
    seconds with the interpreter lock held. Call `check_primes` once for keys made by others.

    Raises:
        TooLarge: more than 13 kB.
        MalformedPem: no PEM, or not exactly one private key in it.
        MalformedKey: the key does not parse or contradicts itself.
        UnsupportedKey: the key is of a kind that is not accepted.
    """
    blocks = [block for block in read_blocks(data, limit=KEY_LIMIT) if "PRIVATE KEY" in block.label]
    if len(blocks) != 1:
        raise MalformedPem(f"expected one private key, found {len(blocks)}")
    if blocks[0].label not in _LABELS:
        raise MalformedKey(
            f"a private key in a block {blocks[0].label} is not accepted:"
            " use unencrypted PKCS#8, PKCS#1 or SEC1"
        )
    try:
        key = serialization.load_der_private_key(
            blocks[0].der, None, unsafe_skip_rsa_key_validation=True
        )
        key_spec(key)  # bounds the numbers before any arithmetic
        if isinstance(key, rsa.RSAPrivateKey):
            _check_parts(key.private_numbers())
    except PARSE_ERRORS:
        # The cause is dropped: the text of a parser may quote a private key.
        raise MalformedKey("the private key does not parse or contradicts itself") from None
    assert isinstance(key, PrivateKey)
    return key


def check_primes(key: PrivateKey) -> None:
    """Check that an RSA key is made of primes; other keys are always sound.

    Slow: 0.05 s (RSA 2048) to seconds, and the interpreter lock is held all the time. Raises
    `MalformedKey` if the key is not sound.
    """
    if not isinstance(key, rsa.RSAPrivateKey):
        return
    try:
        key.private_numbers().private_key()
    except ValueError:
        raise MalformedKey("the RSA key is not made of two primes") from None


def write_key(key: PrivateKey, encoding: KeyEncoding = KeyEncoding.PKCS8) -> bytes:
    """Write a private key as PEM, not encrypted; `ValueError` if the encoding cannot hold it."""
    fitting = {
        KeyEncoding.PKCS1: isinstance(key, rsa.RSAPrivateKey),
        KeyEncoding.SEC1: isinstance(key, ec.EllipticCurvePrivateKey),
        KeyEncoding.PKCS8: True,
    }
    if not fitting[encoding]:
        raise ValueError(f"{key_spec(key)} keys cannot be written as {encoding}")
    form = (
        serialization.PrivateFormat.PKCS8
        if encoding is KeyEncoding.PKCS8
        else serialization.PrivateFormat.TraditionalOpenSSL
    )
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


def public_key_bytes(key: PublicKey) -> bytes:
    """Return the SubjectPublicKeyInfo: equal bytes mean the same key."""
    return key.public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def signature_hash(key: PrivateKey) -> SignatureHash | None:
    """Return the hash to sign with, as strong as the key; None for Ed25519: it has its own."""
    spec = key_spec(key)
    match spec.algorithm:
        case KeyAlgorithm.ED25519:
            return None
        case KeyAlgorithm.ECDSA:
            steps = (256, 384)
        case KeyAlgorithm.RSA:
            steps = (3071, 4095)
    if spec.size <= steps[0]:
        return hashes.SHA256()
    return hashes.SHA384() if spec.size <= steps[1] else hashes.SHA512()


def _check_parts(numbers: rsa.RSAPrivateNumbers) -> None:
    p, q, d, e = numbers.p, numbers.q, numbers.d, numbers.public_numbers.e
    if (
        p * q != numbers.public_numbers.n
        or min(p, q) < 3
        or d * e % (p - 1) != 1
        or d * e % (q - 1) != 1
        or numbers.dmp1 != d % (p - 1)
        or numbers.dmq1 != d % (q - 1)
        or numbers.iqmp * q % p != 1
    ):
        raise ValueError("the parts of the key do not belong together")
