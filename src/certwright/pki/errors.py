"""What the PKI refuses, as exceptions.

::

    PkiError                   anything below; the message fits one line of a condition
    ├── MalformedInput         bytes or text that are not what they should be
    │   ├── TooLarge           refused by its size, before anything was parsed
    │   ├── MalformedPem       markers or base64 are broken, or a block is missing
    │   ├── MalformedKey       a private key that does not parse or contradicts itself
    │   ├── MalformedRequest   a certificate signing request that does not parse
    │   ├── MalformedCertificate
    │   └── MalformedName      a distinguished or alternative name
    ├── UnsupportedKey         a key of an algorithm, size or exponent that is not accepted
    ├── UnknownUsage           a usage string that names nothing
    ├── BrokenChain            certificates that do not form exactly one chain
    ├── AuthorityUnfit         a certificate or key that cannot sign what it is asked to
    ├── RenewalPolicyError     a renewal rule that the validity cannot satisfy
    └── Refused                checks found violations; ``violations`` lists them by name
        ├── RequestRefused     a signing request against what was asked for
        ├── CertificateRefused a certificate against the request it should answer
        └── PathRefused        a chain against the roots that are trusted

The class name is the reason: it is stable and may be shown, counted and matched. Messages
never hold key material, and foreign text in them is quoted and cut.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

PARSE_ERRORS = (
    ValueError,
    TypeError,
    OverflowError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""All that the underlying library raises for bytes it does not like."""

_LONGEST_QUOTE = 80


class PkiError(Exception):
    """Anything that `certwright.pki` refuses."""

    @property
    def reason(self) -> str:
        """The name of the refusal, fit for a condition or a metric label."""
        return type(self).__name__


class MalformedInput(PkiError):
    """Bytes or text that are not what they should be. Trying again does not help."""


class TooLarge(MalformedInput):
    """Input beyond its limit, refused before it was parsed."""


class MalformedPem(MalformedInput):
    """PEM whose markers or base64 are broken, or that lacks the block asked for."""


class MalformedKey(MalformedInput):
    """A private key that does not parse, is encrypted, or contradicts itself."""


class MalformedRequest(MalformedInput):
    """A certificate signing request that does not parse."""


class MalformedCertificate(MalformedInput):
    """A certificate that does not parse."""


class MalformedName(MalformedInput):
    """A distinguished name or alternative name that cannot be read or written."""


class UnsupportedKey(PkiError):
    """A key whose algorithm, size, curve or exponent is not accepted."""


class UnknownUsage(PkiError):
    """Usage strings that name no key usage and no extended key usage."""


class BrokenChain(PkiError):
    """Certificates that do not join into exactly one chain."""


class AuthorityUnfit(PkiError):
    """A certificate or key that cannot sign what it is asked to sign."""


class RenewalPolicyError(PkiError):
    """A renewal rule that the validity at hand cannot satisfy."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One thing that is wrong: a stable PascalCase name, and a sentence with the facts."""

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


class Refused(PkiError):
    """A check that found at least one violation."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__("; ".join(violation.message for violation in violations))
        self.violations = tuple(violations)


class RequestRefused(Refused):
    """A signing request that does not agree with what was asked for."""


class CertificateRefused(Refused):
    """A certificate that does not answer its request."""


class PathRefused(Refused):
    """A chain that leads to no trusted root."""


def quoted(text: object) -> str:
    """Show foreign text: escaped, so that it cannot forge a line, and cut to a bearable length."""
    shown = repr(str(text))
    return shown if len(shown) <= _LONGEST_QUOTE else shown[: _LONGEST_QUOTE - 2] + "…'"


def listed(items: Iterable[object]) -> str:
    """Show foreign values as a list of at most ten."""
    values = list(items)
    more = f" and {len(values) - 10} more" if len(values) > 10 else ""
    return ", ".join(quoted(value) for value in values[:10]) + more
