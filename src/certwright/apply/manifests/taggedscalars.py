"""Scalars with an explicit tag, such as ``!!str 1``: rare, and still kubectl's business."""

import base64
import binascii

from certwright.apply.manifests.scalars import Scalar, resolve_plain

_PREFIX = "tag:yaml.org,2002:"


def resolve_tagged(tag: str, text: str) -> Scalar:
    """Return what a tagged scalar stands for; tags nobody knows leave the text as it is.

    Raises:
        ValueError: the text is not what its tag says.
    """
    match tag.removeprefix(_PREFIX):
        case "int" | "float" | "bool" | "null" as name:
            value = resolve_plain(text)
            kind = _kind(value)
            if kind == name or (name == "float" and kind == "int"):
                return value
            raise ValueError(f"cannot decode !!{kind} `{text[:64]}` as a !!{name}")
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
