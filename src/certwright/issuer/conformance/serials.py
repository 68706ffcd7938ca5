"""Judges the serial numbers of several certificates of one authority. Pure.

``SerialRepeated``, ``SerialMalformed``, ``SerialPredictable``.
"""

from collections.abc import Sequence
from typing import Final

from certwright.pki import Violation

SAMPLE: Final = 12
"""How many serial numbers show whether they are random."""

_LONGEST: Final = 159
"""Bits of the largest positive number in 20 octets, RFC 5280, 4.1.2.2."""
_VARYING: Final = 61
"""Bits that must differ somewhere in a sample. Of 63 random ones, which is what eight octets hold
beside the sign, fewer do so in one of 200,000 samples."""


def serial_violations(serials: Sequence[int]) -> list[Violation]:
    """Return what is wrong with serial numbers: repeats, their form, too little chance in them."""
    if malformed := [one for one in serials if one <= 0 or one.bit_length() > _LONGEST]:
        said = f"the serial number {malformed[0]} is not positive, or longer than 20 octets"
        return [Violation("SerialMalformed", said)]
    if len(set(serials)) != len(serials):
        return [Violation("SerialRepeated", "two certificates carry the same serial number")]
    if len(serials) >= SAMPLE and (varying := _varying_bits(serials)) < _VARYING:
        said = (
            f"the serial numbers of {len(serials)} certificates differ in {varying} bits only;"
            " at least 64 have to be random"
        )
        return [Violation("SerialPredictable", said)]
    return []


def _varying_bits(serials: Sequence[int]) -> int:
    differing = 0
    for one in serials:
        differing |= one ^ serials[0]
    return differing.bit_count()
