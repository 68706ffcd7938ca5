"""Manifests from files, as commands read them."""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from certwright.apply import Manifest
from certwright.cli.apply.inputs import read_input, read_manifests
from certwright.cli.errors import UsageError

MAP = "{apiVersion: v1, kind: ConfigMap, metadata: {name: %s}}"


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Any]:
    def file(content: bytes | str, name: str = "objects.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return file


def names(manifests: list[Manifest]) -> list[str]:
    return [manifest.obj["metadata"]["name"] for manifest in manifests]


def test_documents_and_lists_become_objects(file: Callable[..., Any]) -> None:
    text = f"---\n{MAP % 'a'}\n---\n# nothing\n---\n{{kind: List, items: [{MAP % 'b'}]}}\n"
    assert names(read_manifests([file(text)])) == ["a", "b"]


def test_directories_and_all_below_them_if_asked_for(
    file: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "below").mkdir()
    file(MAP % "a")
    file(MAP % "b", "below/b.yaml")
    assert names(read_manifests([tmp_path])) == ["a"]
    assert names(read_manifests([tmp_path], recursive=True)) == ["b", "a"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((MAP % "a").encode())))
    assert names(read_manifests(["-"])) == ["a"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a: [", "document 1 (line 1): "),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("just text", "text instead of an object"),
        ("{apiVersion: v1}", "no kind; every object has one"),
        ("{kind: ConfigMap}", "no apiVersion; every object has one"),
        (f"{MAP % 'a'}\n---\n{{apiVersion: v1, kind: A}}", "document 2 (line 3): no metadata.name"),
        ("{apiVersion: a/b/c, kind: A, metadata: {name: a}}", "not a kind"),
        ("{apiVersion: v1, kind: A, metadata: {name: a/b}}", "'a/b' is not a possible namespace"),
        ("{apiVersion: v1, kind: A, metadata: {name: ''}}", "not a possible namespace and name"),
        ("{apiVersion: v1, kind: A, metadata: {name: a, namespace: [b]}}", "is not text"),
        ("{apiVersion: v1, kind: A, metadata: {name: a, labels: [b]}}", "metadata.labels is not a"),
        ("{kind: List, items: [1]}", "a number instead of an object"),
        ("!!python/object/apply:os.getcwd []", "document 1 (line 1)"),
        (b"#" * (16 * 1024 * 1024 + 1), "bytes of manifests"),
    ],
)  # fmt: skip
def test_what_is_no_manifest_is_refused_by_name(
    file: Callable[..., Any], content: bytes | str, problem: str
) -> None:
    path = file(content)
    with pytest.raises(ExceptionGroup) as caught:
        read_manifests([path])
    (error,) = caught.value.exceptions
    assert isinstance(error, UsageError)
    assert str(path) in str(error)
    assert problem in str(error)


def test_all_that_is_wrong_is_named_at_once(file: Callable[..., Any]) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        read_manifests([file("a: b\n---\nc: ["), file("d: [", "other.yaml")])
    assert len(caught.value.exceptions) == 3


def test_the_good_part_can_be_had_with_what_is_wrong_with_the_rest(
    file: Callable[..., Any],
) -> None:
    given = read_input([file(f"{MAP % 'a'}\n---\nc: [\n---\n{{kind: A}}"), "nowhere.yaml"])
    assert names(given.manifests) == ["a"]
    unread, nowhere, no_object = given.problems
    assert "document 2 (line 3): " in unread
    assert "nowhere.yaml: " in nowhere
    assert "document 3 (line 5): no apiVersion" in no_object


def test_nothing_and_nowhere_are_named(file: Callable[..., Any], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"objects\.yaml: no manifests found"):
        read_manifests([file("# nothing")])
    with pytest.raises(ExceptionGroup) as caught:
        read_manifests([tmp_path / "nowhere.yaml"])
    assert "nowhere.yaml" in str(caught.value.exceptions[0])
