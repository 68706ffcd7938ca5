"""Amounts of resources: ``500m``, ``1.5Gi``, ``1e3``.

A `Quantity` is exact: it counts nano-units as an integer, which is the resolution the API
server itself keeps. It prints in the server's canonical form:

- no fraction: the mantissa is a whole number and the suffix as large as possible
  (``1.5Gi`` → ``1536Mi``, ``0.1`` → ``100m``, ``1000`` → ``1k``);
- the family of the suffix survives: binary stays binary, ``1e3`` stays an exponent. Binary
  amounts below 1024, or with a fraction, print as decimals (``0.5Ki`` → ``512``);
- amounts of a thousand exa and more keep that suffix (where the server drops it and a
  thousand exa becomes ``1``);
- what is finer than ``1n`` is rounded away from zero, so that "some" never becomes "none";
- a text the server takes for canonical stays as it was typed. That includes oddities such
  as ``1.500`` and ``+5``, and reproducing them is what makes live and desired state agree.

Quantities compare and hash by value: ``Quantity.parse("1k") == Quantity.parse("1e3")``.
"""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from functools import total_ordering

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_NANO = 10**9
_INT64_MAX = (1 << 63) - 1
_MAX_EXPONENT = 1_000
"""Far beyond any resource, far below what would make arithmetic slow."""

PATTERN = (
    r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$"
)
"""The texts that are quantities; serves as ``pattern`` in schemas."""

_TEXT = re.compile(r"([+-]?)0*([0-9]*)(?:\.([0-9]*))?([A-Za-z]*[+-]?[0-9]*)")


class Format(StrEnum):
    """The family of suffixes a quantity was written with, and is printed with."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Quantity:
    """An exact amount and the suffix family it prints with."""

    nanos: int
    """The amount in units of 10⁻⁹."""
    format: Format = Format.DECIMAL
    _text: str = field(default="", repr=False)

    @classmethod
    def parse(cls, value: str | float) -> "Quantity":
        """Read a quantity as objects hold it, even a bare number; `ValueError` if it is none."""
        text = str(value).strip()
        match = _TEXT.fullmatch(text)
        if match is None or isinstance(value, bool) or not re.match(PATTERN, text):
            raise ValueError(f"{value!r} is not a quantity such as 500m, 1.5Gi or 1e3")
        sign, whole, fraction, suffix = match.groups()
        whole, fraction = whole or "0", fraction or ""
        factor = -1 if sign == "-" else 1
        if suffix in _BINARY:
            nanos, format_ = _binary(whole, fraction, _BINARY[suffix])
            verbatim = _is_canonical_binary(whole, fraction, _BINARY[suffix])
        else:
            exponent, format_ = _exponent(suffix, text)
            nanos = _scaled(int(whole + fraction), exponent - len(fraction))
            verbatim = _is_canonical_decimal(whole, fraction, exponent)
        return cls(factor * nanos, format_, text if verbatim else "")

    @property
    def value(self) -> Decimal:
        """The exact amount."""
        whole, fraction = divmod(abs(self.nanos), _NANO)
        # Through text, because Decimal arithmetic would round to the context's precision.
        text = f"{whole}.{fraction:09d}".rstrip("0").rstrip(".")
        return Decimal(f"-{text}" if self.nanos < 0 else text)

    def __int__(self) -> int:
        """Return whole units, rounded away from zero as the server does: ``500m`` is 1."""
        return _divide_away(self.nanos, _NANO)

    @property
    def millis(self) -> int:
        """Thousandths, rounded away from zero: the unit of CPU."""
        return _divide_away(self.nanos, _NANO // 1_000)

    def __str__(self) -> str:
        if self._text:
            return self._text
        if self.nanos == 0:
            return "0"
        if (
            self.format is Format.BINARY
            and abs(self.nanos) >= 1024 * _NANO
            and self.nanos % _NANO == 0
        ):
            return _print_binary(self.nanos // _NANO)
        return _print_decimal(self.nanos, self.format)

    def __eq__(self, other: object) -> bool:
        return self.nanos == other.nanos if isinstance(other, Quantity) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self.nanos < other.nanos if isinstance(other, Quantity) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.nanos)

    def __bool__(self) -> bool:
        return self.nanos != 0

    def __add__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos + other.nanos, self.format if self else other.format)

    def __sub__(self, other: "Quantity") -> "Quantity":
        return Quantity(self.nanos - other.nanos, self.format if self else other.format)

    def __mul__(self, times: int) -> "Quantity":
        return Quantity(self.nanos * times, self.format)

    def __neg__(self) -> "Quantity":
        return Quantity(-self.nanos, self.format)


def _exponent(suffix: str, text: str) -> tuple[int, Format]:
    if suffix in _DECIMAL:
        return _DECIMAL[suffix], Format.DECIMAL
    exponent = int(suffix[1:])
    if exponent > _MAX_EXPONENT:
        raise ValueError(f"{text!r}: the exponent is larger than {_MAX_EXPONENT}")
    return exponent, Format.EXPONENT


def _scaled(digits: int, exponent: int) -> int:
    """Return the nanos in ``digits * 10^exponent``, rounded up; powers stay bounded."""
    shift = exponent + 9
    if shift >= 0:
        return digits * int(10**shift)
    if -shift > len(str(digits)):
        return min(digits, 1)
    return -(-digits // int(10**-shift))


def _binary(whole: str, fraction: str, power: int) -> tuple[int, Format]:
    nanos = _scaled(int(whole + fraction) << power, -len(fraction))
    # The server caps binary amounts at what an int64 holds, and only those.
    nanos = min(nanos, _INT64_MAX * _NANO)
    return nanos, Format.DECIMAL if 0 < nanos < _NANO else Format.BINARY


def _is_canonical_decimal(whole: str, fraction: str, exponent: int) -> bool:
    """Return whether the server keeps a decimal text as it is."""
    digits, scale = whole + fraction, exponent - len(fraction)
    fits = len(digits) <= 18 and scale >= -9
    return fits and scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"


def _is_canonical_binary(whole: str, fraction: str, power: int) -> bool:
    """Return whether the server keeps a binary text as it is."""
    fits = not fraction and len(whole) + power * 3 // 10 <= 14
    return fits and int(whole) % 8 != 0


def _print_decimal(nanos: int, format_: Format) -> str:
    sign, digits, exponent = ("-" if nanos < 0 else ""), abs(nanos), -9
    while digits % 1_000 == 0 and (format_ is Format.EXPONENT or exponent < 18):
        digits, exponent = digits // 1_000, exponent + 3
    if format_ is Format.EXPONENT:
        return f"{sign}{digits}e{exponent}" if exponent else f"{sign}{digits}"
    suffix = next(suffix for suffix, power in _DECIMAL.items() if power == exponent)
    return f"{sign}{digits}{suffix}"


def _print_binary(units: int) -> str:
    sign, digits, steps = ("-" if units < 0 else ""), abs(units), 0
    while digits % 1024 == 0 and steps < len(_BINARY):
        digits, steps = digits // 1024, steps + 1
    return f"{sign}{digits}{['', *_BINARY][steps]}"


def _divide_away(dividend: int, divisor: int) -> int:
    quotient = -(-abs(dividend) // divisor)
    return quotient if dividend >= 0 else -quotient
