"""What ``sign`` returns: a certificate with its chain, and the authority behind it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from certwright import pki


@dataclass(frozen=True, slots=True)
class Bundle:
    """A certificate with its intermediates, leaf first and without root, and the authority.

    Both are PEM. *ca* is empty when nobody knows it; it is written to the request only if
    the app says ``set_ca=True``. Whatever the bundle holds is checked against the request
    before the request counts as Issued; what this library signed itself needs no second look.
    """

    chain: bytes
    ca: bytes = b""
    made_for: str = field(default="", repr=False, compare=False)
    """The uid of the request that ``request.sign_with`` made it for; nobody else sets it."""
    remark: str = field(default="", repr=False, compare=False)
    """How its validity differs from what was asked for, if ``request.sign_with`` knows."""

    def with_ca(self, ca: bytes) -> "Bundle":
        """Return the same certificate with another authority to trust, or several."""
        return replace(self, ca=ca)

    @classmethod
    def from_pem(cls, pem: bytes | str | Iterable[bytes | str]) -> "Bundle":
        """Make a bundle of PEM certificates in any order, with comments, repeats and a root.

        Raises:
            pki.PkiError: they cannot be read or do not form one chain.
        """
        parts = [pem] if isinstance(pem, bytes | str) else list(pem)
        joined = b"\n".join(part.encode() if isinstance(part, str) else part for part in parts)
        return cls.of_chain(pki.read_chain(joined))

    @classmethod
    def of_chain(cls, chain: pki.Chain) -> "Bundle":
        """Make a bundle of a chain that was read or built."""
        ca = pki.write_certificates(chain.authority) if chain.authority is not None else b""
        return cls(chain.to_pem(), ca)
