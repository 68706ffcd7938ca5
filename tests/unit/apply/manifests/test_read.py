"""Streams of manifests from text, files and Secrets, and what is said about bad ones."""

import base64
import hashlib
import io
from pathlib import Path
from typing import Any

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.apply import Manifests
from certwright.apply.manifests.limits import ReadLimits
from certwright.apply.manifests.read import ManifestError, read_files, read_secret, read_text
from certwright.kube import JsonObject


def objects(manifests: Manifests) -> list[JsonObject]:
    return [manifest.obj for manifest in manifests.objects]


def places(manifests: Manifests) -> list[tuple[int, int, int | None]]:
    return [(m.origin.index, m.origin.line, m.origin.item) for m in manifests.objects]


def problems(manifests: Manifests) -> list[str]:
    return [str(error) for error in manifests.errors]


def read(text: bytes | str, **options: Any) -> Manifests:
    return read_text(text, "web.yaml", **options)


# ---- streams


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1", [(0, 1)]),
        ("---\na: 1", [(0, 2)]),
        ("a: 1\n---\n", [(0, 1)]),
        ("a: 1\n---\nb: 1", [(0, 1), (1, 3)]),
        ("a: 1\n--- # note\nb: 1", [(0, 1), (1, 3)]),
        ("a: 1\n---  \t\r\nb: 1", [(0, 1), (1, 3)]),
        ("a: 1\n---\n---\nb: 1", [(0, 1), (1, 4)]),
        ("a: 1\n---\n---\n---\nb: 1", [(0, 1), (2, 5)]),
        ("a: 1\n---\n\n---\nb: 1", [(0, 1), (2, 5)]),
        ("# remark\n---\na: 1\n---\n# remark\n---\nnull\n---\n\n# r\n\nb: 1", [(1, 3), (4, 12)]),
        ('{"a": 1}', [(0, 1)]),
        ('{"a": 1}{"b": 1}\n\n{"c": 1}\n', [(0, 1), (1, 1), (2, 3)]),
        ('{"a": 1}\n---\nb: 1', [(0, 1), (1, 3)]),
        ('  \n{"a": 1}\n---\n{"b": 1}\n---\n{"c": 1}', [(0, 2), (1, 4), (2, 6)]),
        ("{a: b}", [(0, 1)]),
        ('{"a": 1}\nb: 1', [(0, 1), (1, 2)]),
        ("\ufeffa: 1", [(0, 1)]),
        ("", []),
        ("\n\n", []),
    ],
)
def test_documents_are_found_where_they_begin(text: str, expected: list[tuple[int, int]]) -> None:
    manifests = read(text)
    assert problems(manifests) == []
    assert places(manifests) == [(*place, None) for place in expected]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("---foo\na: 1", "document 1 (line 1): invalid document separator: more than --- on its line"),
        ("a: 1\n---foo\nb: 1", "document 2 (line 2): invalid document separator: more than --- on its line"),
        ("a: 1\n---\n- b", "document 2 (line 3): a list instead of an object"),
        ("a: 1\n---\ntext", "document 2 (line 3): text instead of an object"),
        ("a: 1\n---\n17", "document 2 (line 3): a number instead of an object"),
        ("a: 1\n---\nyes", "document 2 (line 3): a boolean instead of an object"),
        ("a: 1\n---\nb: 1\nc: d: e", "document 2 (line 4): mapping values are not allowed in this context"),
        ("a: 1\n---\nb: 1\nb: 2", "document 2 (line 4): key 'b' occurs twice"),
        ('{"a": 1}\n{"b": {"c": 1, "c": 2}}', "document 2 (line 2): key 'c' occurs twice"),
        ('{"a": 1}{"b": 1}\n{"c":', "document 3 (line 2): not JSON: Expecting value"),
        ('{"a": 1}{"b": NaN}{"c": 1}', "document 2 (line 1): did not find expected <document start>"),
        (b"a: 1\nb: \xff", "document 1 (line 2): not UTF-8: byte 0xff"),
        ("a: \ud83d", "document 1 (line 1): holds half of a surrogate pair"),
    ],
)  # fmt: skip
def test_mistakes_are_placed(text: bytes | str, problem: str) -> None:
    assert problems(read(text)) == [f"web.yaml: {problem}"]


def test_one_bad_document_does_not_spoil_the_others() -> None:
    manifests = read("a: 1\n---\n[\n---\nb: 1\n---foo\nx: 1\n---\nc: 1")
    assert objects(manifests) == [{"a": 1}, {"b": 1}, {"c": 1}]
    assert [error.origin.index for error in manifests.errors] == [1, 3]


def test_a_json_stream_that_breaks_after_two_objects_ends_there() -> None:
    manifests = read('{"a": 1}{"b": 1}{"c": ' + "x" * 1000)
    assert objects(manifests) == [{"a": 1}, {"b": 1}]
    assert len(manifests.errors) == 1


def test_duplicate_keys_may_be_allowed() -> None:
    manifests = read("a: 1\na: 2", allow_duplicates=True)
    assert objects(manifests) == [{"a": 2}]
    assert manifests.remarks == [
        "web.yaml: document 1 (line 2): key 'a' occurs twice; the last one counts"
    ]


def test_numbers_and_text_in_json() -> None:
    manifests = read('{"a": 1.0, "b": 1e400, "c": 1}{"a": 1.0, "b": 1e3, "c": 9223372036854775808}')
    assert len(manifests.errors) == 1
    manifests = read('{"a": 1.0, "b": 1e3, "c": 9223372036854775808, "d": "\\ud83d\\ude00\\ud83d"}')
    assert objects(manifests) == [
        {"a": 1, "b": 1000, "c": 9.223372036854776e18, "d": "\U0001f600\ufffd"}
    ]


# ---- lists


def test_lists_are_replaced_by_their_items() -> None:
    manifests = read(
        "a: 1\n---\nkind: List\nitems:\n- kind: A\n- kind: List\n  items: [{kind: B}]\n- null\n- 1\n"
        "---\napiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: x}}]"
    )
    assert objects(manifests) == [
        {"a": 1},
        {"kind": "A"},
        {"kind": "B"},
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
    ]
    assert places(manifests) == [(0, 1, None), (1, 3, 0), (1, 3, 0), (2, 11, 0)]
    assert problems(manifests) == [
        "web.yaml: document 2 (line 3, item 4): a number instead of an object"
    ]


def test_items_of_plain_lists_are_not_given_a_kind() -> None:
    assert objects(read("kind: List\nitems: [{a: 1}]")) == [{"a": 1}]


def test_a_kind_that_only_sounds_like_a_list_is_none() -> None:
    assert objects(read("kind: AllowList\nspec: {items: [1]}")) == [
        {"kind": "AllowList", "spec": {"items": [1]}}
    ]


# ---- bounds


@pytest.mark.parametrize(
    ("text", "limits", "problem"),
    [
        ("a: 1234567890", {"size": 10}, "document 1 (line 1): more than 10 bytes of manifests"),
        ("a: 1\n---\nb: 1\n---\nc: 1", {"documents": 2}, "document 3 (line 3): more than 2 documents"),
        ('{"a": [[[1]]]}', {"depth": 4}, "document 1 (line 1): nested more than 4 levels deep"),
        ('{"a":1}{"b":1}{"a":[[[1]]]}', {"depth": 4}, "document 3 (line 1): nested more than 4 levels deep"),
        ('{"a": [[], [], []]}', {"nodes": 3}, "document 1 (line 1): more than 3 values"),
        ("a: [1, 2, 3]", {"nodes": 4}, "document 1 (line 1): more than 4 values"),
    ],
)  # fmt: skip
def test_input_is_bounded(text: str, limits: dict[str, int], problem: str) -> None:
    assert problems(read(text, limits=ReadLimits(**limits))) == [f"web.yaml: {problem}"]


def test_errors_and_remarks_stay_short_whatever_was_written() -> None:
    long = "k" * 100_000
    assert len(problems(read(f"{long}: 1\n{long}: 2"))[0]) < 300
    assert len(problems(read(f"a: *{long}"))[0]) < 700
    manifests = read("\n".join(["a: 1"] * 1000), allow_duplicates=True)
    assert len(manifests.remarks) == 20


def test_many_documents_of_json_are_read_in_linear_time() -> None:
    manifests = read('{"a":1}\n' * 10_000 + "\n" * 2_000_000)
    assert manifests.objects[-1].origin.line == 10_000


def test_json_nested_beyond_every_stack_is_refused_and_survived() -> None:
    manifests = read('{"a":' * 100_000)
    assert problems(manifests) == [
        "web.yaml: document 1 (line 1): nested more than 100 levels deep"
    ]


# ---- files


def test_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("b: 1")
    (tmp_path / "a.json").write_text('{"a": 1}')
    (tmp_path / "notes.txt").write_text("[")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "c.yml").write_text("c: 1\n---\n[")
    assert objects(read_files([tmp_path])) == [{"a": 1}, {"b": 1}]
    manifests = read_files([tmp_path, "-"], stdin=io.BytesIO(b"d: 1"), recursive=True)
    assert objects(manifests) == [{"a": 1}, {"b": 1}, {"c": 1}, {"d": 1}]
    assert [error.origin.source for error in manifests.errors] == [str(tmp_path / "more/c.yml")]
    assert [m.origin.source for m in manifests.objects][-1] == "standard input"


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.yaml").write_text("a: 1")
    manifests = read_files([tmp_path / "none", tmp_path / "empty", tmp_path / "a.yaml"])
    assert [error.problem for error in manifests.errors] == [
        "No such file or directory",
        "no .yaml, .yml or .json files in this directory",
    ]
    assert str(manifests.errors[0]) == f"{tmp_path}/none: No such file or directory"
    assert objects(manifests) == [{"a": 1}]


def test_several_files_share_one_budget(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_text("a: 1234567890")
    manifests = read_files([tmp_path], limits=ReadLimits(size=20))
    assert len(manifests.objects) == 1
    assert problems(manifests) == [
        f"{tmp_path}/b.yaml: document 1 (line 1): more than 20 bytes of manifests"
    ]


# ---- Secrets

NOISE = hashlib.shake_256(b"noise").digest(64 * 1024 - 4)
"""Compresses to as many bytes as are unpacked in one step."""


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_keys_of_secrets_are_read_in_order_and_unpacked() -> None:
    data = {
        "z.yaml": encoded(b"z: 1"),
        "b": encoded(b'{"b": 1}'),
        "data.yaml.br": encoded(brotli.compress(b"c: 1\n---\nd: 1")),
    }
    manifests = read_secret(data)
    assert objects(manifests) == [{"b": 1}, {"c": 1}, {"d": 1}, {"z": 1}]
    assert [m.origin.source for m in manifests.objects] == ["b", *["data.yaml.br"] * 2, "z.yaml"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (brotli.compress(b"a: 1" * 1000)[:-3], "Brotli data ends too early"),
        (b"", "Brotli data ends too early"),
        (b"certainly no Brotli", "not Brotli, or corrupt"),
        (b"\xff" * 100, "not Brotli, or corrupt"),
        (brotli.compress(b"a: 1") + b"tail", "not Brotli, or corrupt"),
        (brotli.compress(NOISE) + b"tail", "data follows the end of the Brotli stream"),
        (brotli.compress(b"\xff"), "not UTF-8: byte 0xff"),
    ],
)
def test_broken_compression_is_one_error_of_its_key(content: bytes, problem: str) -> None:
    manifests = read_secret({"good": b"a: 1", "bad.br": content})
    assert [(error.origin.source, error.problem) for error in manifests.errors] == [
        ("bad.br", problem)
    ]
    assert objects(manifests) == [{"a": 1}]


def test_bombs_do_not_go_off() -> None:
    step = b"a" * (1024 * 1024)
    compressor = brotli.Compressor(quality=1, lgwin=24)
    bomb = b"".join(compressor.process(step) for _ in range(64)) + compressor.finish()
    assert len(bomb) < 16_000
    manifests = read_secret({"bomb.br": bomb}, limits=ReadLimits(ratio=10**9))
    assert [e.problem for e in manifests.errors] == [
        f"{len(bomb)} bytes of Brotli become more than 16777216"
    ]
    manifests = read_secret({"bomb.br": bomb}, limits=ReadLimits(ratio=200))
    assert [e.problem for e in manifests.errors] == [
        f"{len(bomb)} bytes of Brotli become more than {len(bomb) * 200}"
    ]


def test_values_that_are_no_base64_are_errors() -> None:
    assert [error.problem for error in read_secret({"a": "*"}).errors] == ["not base64"]


@given(st.binary(max_size=200))
def test_any_bytes_under_a_compressed_key_end(content: bytes) -> None:
    manifests = read_secret({"x.br": content})
    assert {error.origin.source for error in manifests.errors} <= {"x.br"}


# ---- all or nothing


def test_require_returns_objects_or_raises_what_is_wrong() -> None:
    assert [m.obj for m in read("a: 1").require()] == [{"a": 1}]
    with pytest.raises(ManifestError, match="line 1"):
        read("[").require()
    with pytest.raises(ExceptionGroup, match="2 documents cannot be read"):
        read("[\n---\n[").require()
