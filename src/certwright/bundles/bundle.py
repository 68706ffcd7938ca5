"""The objects of one version of cert-manager, as a value, and as one file.

A file begins with a line of JSON that says what it holds, so that a folder of them can be listed
without reading them whole. What follows is the canonical JSON of the objects, packed with LZMA:
the definitions repeat themselves over hundreds of kilobytes, further than gzip looks back.
"""

import hashlib
import lzma
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import orjson

from certwright.apply.ordering import in_apply_order
from certwright.apply.refs import ObjectRef
from certwright.bundles.errors import BundleCorrupt, BundleTooLarge
from certwright.bundles.versions import Release
from certwright.kube import JsonObject

FORMAT: Final = "certwright.dev/bundle/v1"
SUFFIX: Final = ".bundle"
"""How names of files end."""

MOST_BYTES: Final = 700 * 1024
"""Of a file: in base64 it has to fit into a ConfigMap, which ends at 1 MiB."""
MOST_UNPACKED: Final = 16 * 1024 * 1024
MOST_OBJECTS: Final = 500
DEEPEST: Final = 100
_LONGEST_HEADER: Final = 1000
_MOST_MEMORY: Final = 64 * 1024 * 1024
"""Of the decompressor; the dictionary takes 8 MiB."""
_PRESET: Final = 6


@dataclass(frozen=True, slots=True)
class Bundle:
    """What a release of cert-manager consists of, as its published manifest installs it."""

    version: str
    """With the leading ``v``, such as ``v1.21.2``."""
    objects: tuple[JsonObject, ...] = field(repr=False)
    """The Namespace, the definitions and all others, in the order in which they are applied."""
    digest: str
    """SHA-256, in hexadecimal digits, over the canonical JSON of the objects."""


class BundleHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line of a file."""

    format: str
    version: str
    digest: str
    size: int
    """How many bytes the objects are, unpacked."""


def make_bundle(version: str, objects: Iterable[JsonObject]) -> Bundle:
    """Return a bundle of objects in any order; `ValueError` if they cannot be one.

    What is not declared is dropped: empty fields that renderers leave behind (``null``), and
    the ``status`` that generators write into definitions.
    """
    Release.parse(version)
    kept = [_declared(obj) for obj in objects]
    if not kept or len(kept) > MOST_OBJECTS:
        raise ValueError(f"{len(kept)} objects; a bundle has 1 to {MOST_OBJECTS}")
    refs = [ObjectRef.of(obj) for obj in kept]
    if bad := [number for number, ref in enumerate(refs, 1) if not ref.possible]:
        raise ValueError(f"object {bad[0]} lacks apiVersion, kind or name")
    if twice := {str(ref) for ref in refs if refs.count(ref) > 1}:
        raise ValueError(f"there are two of {', '.join(sorted(twice))}")
    return Bundle(version, tuple(in_apply_order(kept)), digest_of(kept))


def canonical_json(objects: Iterable[JsonObject]) -> bytes:
    """Return the JSON of objects that is the same whatever their order and that of their keys."""
    ordered = sorted(objects, key=_identity)
    return orjson.dumps(ordered, option=orjson.OPT_SORT_KEYS)


def digest_of(objects: Iterable[JsonObject]) -> str:
    """Return the digest of objects."""
    return hashlib.sha256(canonical_json(objects)).hexdigest()


def encode(bundle: Bundle) -> bytes:
    """Return a bundle as the content of a file; the same bundle always gives the same bytes.

    Raises:
        BundleTooLarge: it would not be read again.
    """
    content = canonical_json(bundle.objects)
    source = f"cert-manager {bundle.version}"
    if len(content) > MOST_UNPACKED:
        problem = f"{len(content)} bytes unpacked, a bundle has at most {MOST_UNPACKED}"
        raise BundleTooLarge(source, problem, bundle.version)
    header = BundleHeader(FORMAT, bundle.version, bundle.digest, len(content))
    data = msgspec.json.encode(header) + b"\n" + lzma.compress(content, preset=_PRESET)
    if len(data) > MOST_BYTES:
        problem = f"{len(data)} bytes, a bundle has at most {MOST_BYTES}"
        raise BundleTooLarge(source, problem, bundle.version)
    return data


def decode_header(data: bytes, source: str = "the bundle") -> BundleHeader:
    """Return what a file says about itself, without unpacking it; *source* names it in errors.

    Raises:
        BundleCorrupt: it is no bundle, or made for a later certwright.
        BundleTooLarge: it is larger than any bundle.
    """
    if len(data) > MOST_BYTES:
        raise BundleTooLarge(source, f"{len(data)} bytes, a bundle has at most {MOST_BYTES}")
    line, _, rest = data[:_LONGEST_HEADER].partition(b"\n")
    try:
        header = msgspec.json.decode(line, type=BundleHeader)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise BundleCorrupt(source, "not a bundle, or the beginning of one is missing") from None
    if header.format != FORMAT:
        raise BundleCorrupt(source, f"its format is {header.format[:50]!r} instead of {FORMAT!r}")
    try:
        Release.parse(header.version)
    except ValueError as error:
        raise BundleCorrupt(source, f"its first line names no version: {error}") from None
    if not rest:
        raise BundleCorrupt(source, "truncated: it ends after its first line", header.version)
    if not 0 < header.size <= MOST_UNPACKED:
        problem = f"{header.size} bytes unpacked, a bundle has at most {MOST_UNPACKED}"
        raise BundleTooLarge(source, problem, header.version)
    return header


def decode(data: bytes, source: str = "the bundle") -> Bundle:
    """Return the bundle that a file holds, checked against its digest; *source* names the file.

    That the digest is the one of a release is for the catalogue to tell (`Catalogue.check`).

    Raises:
        BundleCorrupt: it is truncated, was edited, or is no bundle.
        BundleTooLarge: it exceeds a limit.
    """
    header = decode_header(data, source)
    content = _unpacked(data[data.index(b"\n") + 1 :], header, source)
    if hashlib.sha256(content).hexdigest() != header.digest:
        raise BundleCorrupt(source, "its contents do not fit its digest", header.version)
    try:
        objects = orjson.loads(content)
    except orjson.JSONDecodeError:
        raise BundleCorrupt(source, "its contents are not JSON", header.version) from None
    _check(objects, header, source)
    return Bundle(header.version, tuple(in_apply_order(objects)), header.digest)


def _unpacked(packed: bytes, header: BundleHeader, source: str) -> bytes:
    try:
        decompressor = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_MEMORY)
        content = decompressor.decompress(packed, max_length=header.size + 1)
    except lzma.LZMAError:
        raise BundleCorrupt(source, "its contents cannot be unpacked", header.version) from None
    if len(content) > header.size:
        problem = f"its contents are larger than the {header.size} bytes it announces"
        raise BundleTooLarge(source, problem, header.version)
    if not decompressor.eof or len(content) < header.size:
        raise BundleCorrupt(source, "truncated: its end is missing", header.version)
    if decompressor.unused_data:
        raise BundleCorrupt(source, "there is more after its end", header.version)
    return content


def _check(objects: Any, header: BundleHeader, source: str) -> None:
    """Refuse what has the digest it announces and is no list of objects nonetheless."""
    if not isinstance(objects, list) or not objects:
        raise BundleCorrupt(source, "its contents are not a list of objects", header.version)
    if len(objects) > MOST_OBJECTS:
        problem = f"{len(objects)} objects, a bundle has at most {MOST_OBJECTS}"
        raise BundleTooLarge(source, problem, header.version)
    if _is_deep(objects):
        problem = f"its objects are nested more than {DEEPEST} levels deep"
        raise BundleTooLarge(source, problem, header.version)
    for number, obj in enumerate(objects, 1):
        if not isinstance(obj, dict) or not ObjectRef.of(obj).possible:
            problem = f"part {number} of its contents is no object with apiVersion, kind and name"
            raise BundleCorrupt(source, problem, header.version)


def _is_deep(value: Any) -> bool:
    """Return whether a value is nested too deeply; by levels, because recursion would be, too."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def _identity(obj: JsonObject) -> tuple[str, str, str, str]:
    metadata = obj["metadata"]
    return (obj["apiVersion"], obj["kind"], metadata.get("namespace") or "", metadata["name"])


def _declared(obj: JsonObject) -> JsonObject:
    kept: JsonObject = _without_nulls(obj)
    kept.pop("status", None)
    return kept


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [_without_nulls(inner) for inner in value]
    return value
