"""Immutable objects named by their contents."""

import base64
import hashlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.kube import JsonObject
from certwright.managed import make_unique
from certwright.managed.unique import COLLECTABLE, contents_of


def hexed(*values: bytes) -> str:
    inner = "".join(hashlib.sha256(value).hexdigest() for value in values)
    return hashlib.sha256(inner.encode()).hexdigest()[:8]


def encoded(value: bytes) -> str:
    return base64.b64encode(value).decode()


def config_map(data: JsonObject, name: str = "it", **fields: Any) -> JsonObject:
    metadata = {"namespace": "ns", "name": name, "labels": {"mine": "stays"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data, **fields}


def secret(data: dict[str, str], name: str = "it", **fields: Any) -> JsonObject:
    return {**config_map({}, name), "kind": "Secret", "data": data, **fields}


def name_of(obj: JsonObject, **keywords: bool) -> str:
    value: str = make_unique(obj, **keywords)["metadata"]["name"]
    return value


def test_the_name_is_made_of_the_values_in_the_order_of_their_keys() -> None:
    assert name_of(config_map({"b": "2", "a": "1"})) == f"it-{hexed(b'1', b'2')}"
    assert name_of(secret({"a": encoded(b"1")})) == f"it-{hexed(b'1')}"
    assert name_of(config_map({}, name="it-")) == f"it-{hexed()}"


def test_the_copy_is_immutable_and_collectable() -> None:
    original = config_map({"a": "1"})
    unique = make_unique(original)
    assert unique["immutable"] is True
    assert unique["metadata"]["labels"] == {"mine": "stays", COLLECTABLE: "true"}
    assert unique["data"] == {"a": "1"}
    assert original["metadata"]["name"] == "it"
    assert "immutable" not in original


def test_text_is_overlaid_by_bytes() -> None:
    both = secret({"a": encoded(b"data")}, stringData={"a": "text", "b": "text"})
    assert name_of(both) == f"it-{hexed(b'data', b'text')}"
    binary = config_map({"a": "text"}, binaryData={"a": encoded(b"\xff")})
    assert name_of(binary) == f"it-{hexed(bytes([255]))}"


def test_a_renamed_key_needs_a_name_by_keys() -> None:
    """The name Gardener gives is the same; ours by request is not."""
    old, new = config_map({"a": "1"}), config_map({"b": "1"})
    assert name_of(old) == name_of(new)
    assert name_of(old, by_keys=True) != name_of(new, by_keys=True)


def test_another_type_needs_a_name_by_keys() -> None:
    old = secret({"tls.crt": "", "tls.key": ""})
    new = {**old, "type": "kubernetes.io/tls"}
    assert name_of(old) == name_of(new)
    assert name_of(old, by_keys=True) != name_of(new, by_keys=True)


CONTENTS = st.dictionaries(st.from_regex(r"[-._a-z]{1,4}", fullmatch=True), st.text(max_size=4))


@settings(deadline=None)
@given(CONTENTS, CONTENTS)
def test_names_by_keys_are_equal_for_equal_contents_only(
    one: dict[str, str], other: dict[str, str]
) -> None:
    names = [name_of(config_map(data), by_keys=True) for data in (one, other)]
    assert (names[0] == names[1]) == (one == other)


@settings(deadline=None)
@given(CONTENTS)
def test_text_and_its_bytes_are_the_same_contents(data: dict[str, str]) -> None:
    as_bytes = {key: encoded(value.encode()) for key, value in data.items()}
    assert contents_of(secret(as_bytes)) == contents_of(secret({}, stringData=data))
    assert name_of(secret(as_bytes)) == name_of(config_map(data))


@pytest.mark.parametrize(
    ("obj", "problem"),
    [
        ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "it"}}, "neither"),
        ({**config_map({}), "apiVersion": "example.com/v1"}, "neither"),
        (config_map({}, name=""), "needs a name"),
        (secret({"a": "no base64!"}), r"data\['a'\] is not base64"),
        (config_map({"a": 1}), r"data\['a'\] is not text"),
    ],
)
def test_what_cannot_be_made_unique(obj: JsonObject, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        make_unique(obj)


def test_errors_do_not_show_contents() -> None:
    with pytest.raises(ValueError, match="not base64") as caught:
        make_unique(secret({"a": "hunter2!"}))
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None
