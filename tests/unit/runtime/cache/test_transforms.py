"""Projections keep identity, keep or drop what they name, and compare by what they name."""

import json
from typing import Any

import pytest

from certwright.runtime.cache.transforms import DropFields, KeepFields

SECRET: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "s", "annotations": {"a/b": "c", "note": "x"}},
    "type": "kubernetes.io/tls",
    "data": {"tls.crt": "QQ==", "tls.key": "Qg==", "ca.crt": "Qw=="},
}


def put_through(transform: KeepFields | DropFields, obj: dict[str, Any] = SECRET) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(transform(json.dumps(obj).encode()))
    return found


def test_keep_drops_everything_else() -> None:
    kept = put_through(KeepFields("/data/tls.crt", "/type"))
    assert kept == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": SECRET["metadata"],
        "type": "kubernetes.io/tls",
        "data": {"tls.crt": "QQ=="},
    }


def test_drop_keeps_everything_else() -> None:
    rest = put_through(DropFields("/data/tls.key", "/metadata/annotations/a~1b"))
    assert rest["data"] == {"tls.crt": "QQ==", "ca.crt": "Qw=="}
    assert rest["metadata"] == {"name": "s", "annotations": {"note": "x"}}


@pytest.mark.parametrize("odd", [{"data": None}, {"data": ["x"]}, {"data": "x"}, {}])
def test_absent_and_odd_parts_are_no_trouble(odd: dict[str, Any]) -> None:
    obj = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **odd}
    kept = put_through(KeepFields("/data/tls.crt"), obj)
    assert not kept.pop("data", None)
    assert kept == {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    assert put_through(DropFields("/data/tls.crt"), obj) == obj


def test_nothing_to_drop_leaves_the_bytes_alone() -> None:
    raw = b'{"metadata": {"name": "s"}, "n": 1.50}'
    assert DropFields("/data")(raw) is raw


def test_equal_projections_share_a_store() -> None:
    assert KeepFields("/a", "/b") == KeepFields("/b", "/a")
    assert hash(KeepFields("/a", "/b")) == hash(KeepFields("/b", "/a"))
    assert KeepFields("/a") != KeepFields("/b")


@pytest.mark.parametrize("path", ["", "data", "/", "/data/", "/metadata", "/metadata/name"])
def test_paths_that_make_no_sense_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match=r"no path|always stays"):
        DropFields(path)
