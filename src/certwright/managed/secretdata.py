"""Objects into the bytes a Secret holds, and out again.

Every object is one JSON document, which is YAML too, and which every reader reads alike; readers
of plain YAML disagree on ``1e3`` and ``no``.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from certwright.apply import Manifest, ManifestError, ObjectRef, pack_brotli, read_secret
from certwright.kube import JsonObject
from certwright.managed.unique import contents_of

DATA_KEY: Final = "data.yaml.br"
"""Where in a Secret the objects are."""

SECRET_BYTES: Final = 900_000
"""How much one Secret holds at most; the API server refuses more than a MiB."""

_READ_BYTES: Final = 8 * 1024 * 1024
"""How much one Secret holds unpacked: half of what readers accept."""

_SEPARATOR: Final = b"---\n"
_NOT_YAML: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What JSON may hold as it is and YAML may not."""


class PackingError(ValueError):
    """Objects that cannot be packed: twice the same, without a name, not JSON, too large."""


def file_name(obj: JsonObject) -> str:
    """Return the name an object is sorted by: kind, namespace and name."""
    ref = ObjectRef.of(obj)
    try:
        gvk = ref.gvk
    except ValueError as error:
        raise PackingError(f"{ref}: {error}") from None
    if not ref.name:
        raise PackingError(f"{ref} has no name")
    kind = "_".join(part for part in (gvk.kind, gvk.version, gvk.group) if part).lower()
    return f"{kind}__{ref.namespace}__{ref.name.replace(':', '_')}.yaml"


def pack(objects: Iterable[JsonObject], *, most: int = SECRET_BYTES) -> tuple[bytes, ...]:
    """Return objects as Brotli, in as many parts as needed to keep each within *most* bytes.

    The order of the objects makes no difference. Without objects there is one empty part. Raises
    `PackingError` if an object occurs twice, has no name or kind, is not JSON, or does not fit into
    a part by itself.
    """
    documents: dict[str, bytes] = {}
    for obj in objects:
        name = file_name(obj)
        if name in documents:
            raise PackingError(f"{ObjectRef.of(obj)} occurs twice")
        documents[name] = _document(obj)
    return tuple(_parts([documents[name] for name in sorted(documents)], sorted(documents), most))


def unpack(secrets: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the objects in the data of Secrets, packed by us or written by hand.

    Raises:
        ManifestError: a document cannot be read, or has no ``apiVersion`` and ``kind``.
        ExceptionGroup: of several of them.
        ValueError: an object is not a Secret, or its data not base64.
    """
    found: list[JsonObject] = []
    for secret in secrets:
        found += map(_checked, read_secret(contents_of(secret)).require())
    return found


def _checked(manifest: Manifest) -> JsonObject:
    try:
        ObjectRef.of(manifest.obj).gvk  # noqa: B018 - raises
    except ValueError as error:
        raise ManifestError(manifest.origin, str(error)) from None
    return manifest.obj


def _document(obj: JsonObject) -> bytes:
    try:
        text = orjson.dumps(obj).decode()
    except TypeError as error:
        raise PackingError(f"{ObjectRef.of(obj)} is not JSON: {error}") from None
    return _NOT_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text).encode() + b"\n"


def _parts(documents: Sequence[bytes], names: Sequence[str], most: int) -> list[bytes]:
    """Pack documents, halving what is too large."""
    whole = _SEPARATOR.join(documents)
    fits = len(whole) <= _READ_BYTES
    if fits and len(packed := pack_brotli(whole)) <= most:
        return [packed]
    if len(documents) == 1:
        size = f"{len(packed)} bytes packed" if fits else f"{len(whole)} bytes"
        raise PackingError(f"{names[0]}: {size} do not fit into a Secret")
    middle = len(documents) // 2
    return [
        *_parts(documents[:middle], names[:middle], most),
        *_parts(documents[middle:], names[middle:], most),
    ]
