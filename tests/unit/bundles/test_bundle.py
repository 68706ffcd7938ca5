"""A bundle as a value and as a file: the same bytes everywhere, and nothing bad gets through."""

import base64
import hashlib
import json
import lzma
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.bundles.small import definition, objects, small_bundle

from certwright.bundles.bundle import (
    MOST_BYTES,
    MOST_OBJECTS,
    MOST_UNPACKED,
    Bundle,
    canonical_json,
    decode,
    decode_header,
    digest_of,
    encode,
    make_bundle,
)
from certwright.bundles.errors import BundleCorrupt, BundleError, BundleTooLarge

FILE = encode(small_bundle())
HEADER = json.loads(FILE.partition(b"\n")[0])


def file_of(content: Any, **header: Any) -> bytes:
    """Return a file that fits its digest, whatever its contents."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    digest = hashlib.sha256(raw).hexdigest()
    line = {**HEADER, "digest": digest, "size": len(raw), **header}
    return json.dumps(line).encode() + b"\n" + lzma.compress(raw)


def test_what_is_written_is_read_again() -> None:
    bundle = small_bundle()
    again = decode(FILE)
    assert again == bundle
    assert again.version == "v9.9.1"
    assert [obj["kind"] for obj in again.objects] == [
        "Namespace",
        *["CustomResourceDefinition"] * 6,
        *["Deployment"] * 3,
        "ValidatingWebhookConfiguration",
    ]


def test_the_first_line_says_what_is_in_it() -> None:
    header = decode_header(FILE)
    assert (header.version, header.digest) == ("v9.9.1", small_bundle().digest)
    assert header.size == len(canonical_json(small_bundle().objects))
    assert json.loads(FILE.partition(b"\n")[0])["format"] == "certwright.dev/bundle/v1"


def test_neither_the_order_of_objects_nor_of_keys_counts() -> None:
    turned = [json.loads(json.dumps(obj, sort_keys=True)) for obj in reversed(objects())]
    assert make_bundle("v9.9.1", turned) == small_bundle()
    assert encode(make_bundle("v9.9.1", turned)) == FILE


def test_the_digest_is_the_one_of_the_canonical_json() -> None:
    one = {"kind": "Namespace", "metadata": {"name": "a"}, "apiVersion": "v1"}
    text = b'[{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}]'
    assert digest_of([one]) == hashlib.sha256(text).hexdigest()


def test_what_is_not_declared_is_dropped() -> None:
    obj = definition("issuers.cert-manager.io")
    noisy = {
        **obj,
        "status": {"conditions": []},
        "metadata": {**obj["metadata"], "creationTimestamp": None, "labels": {"a": None}},
    }
    (kept,) = make_bundle("v9.9.1", [noisy]).objects
    assert "status" not in kept
    assert kept["metadata"] == {"name": "issuers.cert-manager.io", "labels": {}}


@pytest.mark.parametrize(
    ("version", "parts", "problem"),
    [
        ("1.2.3", objects(), "not a version such as v1.21.2"),
        ("v1.2", objects(), "not a version such as v1.21.2"),
        ("v1.2.3-", objects(), "not a version"),
        ("v1.2.3", [], "0 objects"),
        ("v1.2.3", [definition(f"a{n}.b") for n in range(MOST_OBJECTS + 1)], "501 objects"),
        ("v1.2.3", [*objects(), objects()[0]], "two of ValidatingWebhookConfiguration"),
        ("v1.2.3", [{"kind": "Namespace", "metadata": {"name": "a"}}], "object 1 lacks"),
    ],
)
def test_what_is_no_bundle_is_refused(version: str, parts: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        make_bundle(version, parts)


OBJECT = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
BAD: dict[str, tuple[bytes, type[BundleError], str]] = {
    "empty": (b"", BundleCorrupt, "not a bundle"),
    "another file": (b"apiVersion: v1\nkind: Namespace\n", BundleCorrupt, "not a bundle"),
    "no object": (b"[1]\n" + FILE.partition(b"\n")[2], BundleCorrupt, "not a bundle"),
    "deep header": (b"[" * 100_000, BundleCorrupt, "not a bundle"),
    "binary": (bytes(range(256)), BundleCorrupt, "not a bundle"),
    "unknown field": (file_of([OBJECT], more=1), BundleCorrupt, "not a bundle"),
    "later format": (file_of([OBJECT], format="x/v2"), BundleCorrupt, "format is 'x/v2'"),
    "no version": (file_of([OBJECT], version="latest"), BundleCorrupt, "names no version"),
    "half a line": (FILE[:20], BundleCorrupt, "not a bundle"),
    "only a line": (FILE.partition(b"\n")[0], BundleCorrupt, "ends after its first line"),
    "truncated": (FILE[:-10], BundleCorrupt, "truncated: its end is missing"),
    "nearly all": (FILE[:-1], BundleCorrupt, "truncated: its end is missing"),
    "edited digest": (file_of([OBJECT], digest="0" * 64), BundleCorrupt, "do not fit its digest"),
    "edited contents": (FILE.replace(b"\xfd7zXZ", b"\xfd7zXX"), BundleCorrupt, "unpacked"),
    "appended": (FILE + b"x", BundleCorrupt, "more after its end"),
    "too large": (FILE + b"x" * MOST_BYTES, BundleTooLarge, f"at most {MOST_BYTES}"),
    "promises too much": (
        file_of([OBJECT], size=MOST_UNPACKED + 1), BundleTooLarge, f"at most {MOST_UNPACKED}",
    ),
    "promises nothing": (file_of([OBJECT], size=0), BundleTooLarge, "0 bytes unpacked"),
    "unpacks to more": (file_of(b" " * 5_000_000, size=100), BundleTooLarge, "than the 100 bytes"),
    "no JSON": (file_of(b"{"), BundleCorrupt, "are not JSON"),
    "no list": (file_of(OBJECT), BundleCorrupt, "not a list of objects"),
    "no objects": (file_of([]), BundleCorrupt, "not a list of objects"),
    "no kind": (file_of([OBJECT, {"metadata": {}}]), BundleCorrupt, "part 2 of its contents"),
    "a text": (file_of(["a"]), BundleCorrupt, "part 1 of its contents"),
    "many": (
        file_of([{**OBJECT, "metadata": {"name": str(n)}} for n in range(501)]),
        BundleTooLarge, "501 objects, a bundle has at most 500",
    ),
    "deep": (
        file_of(b'[{"a":' + b"[" * 200 + b"]" * 200 + b"}]"), BundleTooLarge, "100 levels deep",
    ),
    "very deep": (file_of(b"[" * 100_000 + b"]" * 100_000), BundleCorrupt, "not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_refused_with_the_command_that_helps(name: str) -> None:
    data, error, problem = BAD[name]
    with pytest.raises(
        error, match=r"x/y\.bundle: .*; make it again: certwright bundle build"
    ) as no:
        decode(data, "x/y.bundle")
    assert type(no.value) is error
    assert problem in str(no.value)
    assert no.value.reason == "CatalogCorrupt"
    assert "\n" not in str(no.value)
    assert len(str(no.value)) < 300


NOISE = base64.b64encode(hashlib.shake_256(b"noise").digest(MOST_BYTES)).decode()


@pytest.mark.parametrize(
    ("text", "problem"), [("a" * MOST_UNPACKED, "bytes unpacked"), (NOISE, f"at most {MOST_BYTES}")]
)
def test_a_bundle_that_would_not_be_read_again_is_not_written(text: str, problem: str) -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": text}}
    with pytest.raises(BundleTooLarge, match=rf"cert-manager v9\.9\.1: .*{problem}"):
        encode(make_bundle("v9.9.1", [obj]))


@given(st.integers(0, len(FILE) - 1), st.integers(1, 255))
def test_a_changed_byte_never_changes_what_is_installed(position: int, change: int) -> None:
    edited = bytearray(FILE)
    edited[position] ^= change
    try:
        found = decode(bytes(edited))
    except BundleError:
        return
    # A digit of the version is not covered by the digest: the catalogue notices.
    assert Bundle("", found.objects, found.digest) == Bundle(
        "", small_bundle().objects, small_bundle().digest
    )
