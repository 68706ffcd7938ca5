"""What YAML scalars mean to kubectl: unquoted ones, and those with a tag such as ``!!str 1``.

kubectl reads YAML 1.1 with changes of its own: ``on``, ``no`` and ``y`` are booleans and ``010`` is
eight, yet dates and sexagesimals stay text, and numbers too large for a float do as well. The
result then passes through JSON, so ``1.0`` arrives as the integer 1. The rules below are pinned
by a table in the tests that was recorded from the library kubectl uses.
"""

import base64
import binascii
import math
import re
import struct
from decimal import Decimal
from typing import Final

Scalar = str | int | float | bool | None

_WORDS: Final[dict[str, Scalar]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_TAG_PREFIX: Final = "tag:yaml.org,2002:"
_NUMERIC_STARTS: Final = frozenset("+-0123456789")
_INTEGER: Final = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)"
    r"|(?P<dec>0|[1-9][0-9]{0,19}))"
)
_SIGNED_BINARY: Final = re.compile(r"0b([-+][01]+)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DOT_FLOAT: Final = re.compile(r"\.[0-9](?:_?[0-9])*(?:[eE][-+]?[0-9](?:_?[0-9])*)?")
_BASES: Final = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}


def resolve_plain(text: str) -> Scalar:
    """Return what an unquoted scalar stands for; text that is nothing else stays text."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == ".":
        number = _float(text.replace("_", "")) if _DOT_FLOAT.fullmatch(text) else None
    elif text[0] in _NUMERIC_STARTS:
        number = _number(text.replace("_", ""))
    else:
        return text
    return text if number is None else number


def json_number(value: float) -> int | float:
    """Return a number as JSON has it, whole ones as integers; `ValueError` if it is not finite."""
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**63 else float(value)
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a number in JSON")
    if value.is_integer():
        whole = int(Decimal(repr(value)))
        if -(2**63) <= whole < 2**63:
            return whole
    return value


def key_text(key: Scalar) -> str:
    """Return the field name that a scalar key stands for; `ValueError` if it can stand for none."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int) and key < 2**63:
        return str(key)
    if isinstance(key, float):
        return _float_key(key)
    raise ValueError(f"{'null' if key is None else 'this number'} cannot be a key; quote it")


def _number(plain: str) -> int | float | None:
    if match := _INTEGER.fullmatch(plain):
        base = next(name for name in _BASES if match[name] is not None)
        whole = int(match["sign"] + match[base], _BASES[base])
        # Beyond 63 bits only numbers without a sign are integers, up to 64 bits.
        if -(2**63) <= whole < 2**63 or (not match["sign"] and whole < 2**64):
            return whole
    if _FLOAT.fullmatch(plain):
        return _float(plain)
    if match := _SIGNED_BINARY.fullmatch(plain):
        whole = int(match[1], 2)
        return whole if -(2**63) <= whole < 2**63 else None
    return None


def _float(plain: str) -> float | None:
    value = float(plain)
    return value if math.isfinite(value) else None


def _float_key(value: float) -> str:
    """Write a number with the fewest digits that tell it apart in 32 bits, as kubectl does."""
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else (".inf" if value > 0 else "-.inf")
    single = _to_32_bits(value)
    if math.isinf(single):
        return _float_key(single)
    for digits in range(9):
        text = f"{single:.{digits}e}"
        if _to_32_bits(float(text)) == single:
            break
    exponent = int(text.partition("e")[2])
    return f"{Decimal(text):f}" if -4 <= exponent < 6 else text


def _to_32_bits(value: float) -> float:
    try:
        single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return single


# Tags


def resolve_tagged(tag: str, text: str) -> Scalar:
    """Return what a tagged scalar stands for, text if the tag is unknown; else `ValueError`."""
    match tag.removeprefix(_TAG_PREFIX):
        case "int" | "float" | "bool" | "null" as name:
            value = resolve_plain(text)
            kind = _kind(value)
            if kind == name or (name == "float" and kind == "int"):
                return value
            raise ValueError(f"cannot decode !!{kind} as a !!{name}")  # and quotes no value
        case "binary":
            return _binary(text)
        case _:
            return text


def _kind(value: Scalar) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "bool"
        case int():
            return "int"
        case float():
            return "float"
        case _:
            return "str"


def _binary(text: str) -> str:
    try:
        content = base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error as error:
        raise ValueError("!!binary value contains invalid base64 data") from error
    return content.decode("utf-8", "replace")
