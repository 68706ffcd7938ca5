import base64
import hashlib
import json
from typing import Any

import brotli
import pytest

from certwright.apply import ObjectRef, ReadLimits
from certwright.apply.manifests.limits import Budget
from certwright.kube import GroupVersionKind, Key
from certwright.operators.managedresource.declared import (
    Input,
    Mode,
    combined_input,
    decode_secret,
)

SECRET = Key("garden", "s")
MODE = "resources.gardener.cloud/mode"
CLUSTER_SCOPED = {"Namespace", "ClusterRole"}
UNKNOWN = {"Widget"}


def scope(gvk: GroupVersionKind) -> bool | None:
    if gvk.kind in UNKNOWN:
        return None
    return gvk.kind not in CLUSTER_SCOPED


def desire(*secrets: dict[str, Any], **options: Any) -> Input:
    decoded = [
        decode_secret(Key("garden", f"s{n}" if n else "s"), data, **options)
        for n, data in enumerate(secrets)
    ]
    return combined_input(decoded, scope)


def config_map(name: str, **metadata: Any) -> str:
    return json.dumps(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}}
    )


def names(desired: Input) -> list[str]:
    return [item.ref.name for item in desired.objects]


def undecodable(index: int, key: str, problem: str) -> str:
    return f"Could not decode resource at index {index} in '{key}' in secret 'garden/s': {problem}."


# What is read


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", []),
        ("# nothing\n---\n\n---\nnull\n", []),
        (config_map("a"), ["a"]),
        (config_map("a") + config_map("b"), ["a", "b"]),
        (
            config_map("a") + "\n---\n" + "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n",
            ["a", "b"],
        ),
        ("--- # note\n" + config_map("a") + "\n---\n---\n", ["a"]),
    ],
)
def test_documents(content: str, expected: list[str]) -> None:
    desired = desire({"k": content.encode()})
    assert names(desired) == expected
    assert not desired.in_doubt


def test_values_may_be_base64_bytes_or_compressed() -> None:
    plain = config_map("a").encode()
    desired = desire(
        {
            "1": base64.b64encode(plain).decode(),
            "2.br": brotli.compress(config_map("b").encode()),
        }
    )
    assert names(desired) == ["a", "b"]


def test_base64_makes_no_difference() -> None:
    content = config_map("a").encode()
    assert desire({"k": base64.b64encode(content).decode()}) == desire({"k": content})


def test_lists_are_replaced_by_their_items() -> None:
    items = [json.loads(config_map(name)) for name in "abc"]
    content = json.dumps({"apiVersion": "v1", "kind": "List", "items": items}).encode()
    desired = desire({"k": content})
    assert names(desired) == ["a", "b", "c"]
    assert desired.checksum == hashlib.sha256(content).hexdigest()


def test_objects_are_in_the_order_of_the_inventory() -> None:
    deployment = '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}}'
    desired = desire(
        {"b": deployment.encode(), "a": config_map("z").encode()}, {"x": config_map("y").encode()}
    )
    assert names(desired) == ["y", "z", "a"]


def test_the_result_does_not_depend_on_the_order_of_keys() -> None:
    one, two = config_map("a").encode(), config_map("b").encode()
    assert desire({"b": two, "a": one}) == desire({"a": one, "b": two})


def test_duplicate_keys_are_remarked_and_the_last_counts() -> None:
    desired = desire({"k": b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, name: b}\n"})
    assert names(desired) == ["b"]
    (remark,) = desired.remarks
    assert (
        remark
        == "secret 'garden/s': k: document 1 (line 3): key 'name' occurs twice; the last one counts"
    )
    assert not desired.in_doubt


# What is not


@pytest.mark.parametrize(
    ("content", "errors"),
    [
        (
            b"---foo\nx: 1\n---\n" + config_map("a").encode(),
            [undecodable(0, "k", "line 1: invalid document separator: more than --- on its line")],
        ),
        (
            b"[1]\n---\n" + config_map("a").encode(),
            [undecodable(0, "k", "line 1: a list instead of an object")],
        ),
        (
            config_map("a").encode() + b"\n---\n# blank\n---\nplain text",
            [undecodable(2, "k", "line 5: text instead of an object")],
        ),
        (
            b'{"kind":"List","apiVersion":"v1","items":[7]}\n---\n' + config_map("a").encode(),
            [undecodable(0, "k", "line 1, item 1: a number instead of an object")],
        ),
    ],
)
def test_undecodable_documents_are_named_and_the_others_wanted(
    content: bytes, errors: list[Any]
) -> None:
    desired = desire({"k": content})
    assert names(desired) == ["a"]
    assert list(desired.undecodable) == errors
    assert desired.in_doubt


def test_a_value_that_cannot_be_unpacked_is_one_error() -> None:
    desired = desire({"k.br": b"not brotli at all", "l": config_map("a").encode()})
    assert names(desired) == ["a"]
    (error,) = desired.undecodable
    assert error.startswith("Could not decode resource at index 0 in 'k.br' in secret 'garden/s': ")


def test_a_value_that_is_not_base64_is_one_error() -> None:
    assert desire({"k": "%%%"}).undecodable == (undecodable(0, "k", "line 1: not base64"),)


def test_limits_are_errors_too() -> None:
    bomb = brotli.compress(b" " * 100_000)
    desired = desire({"k.br": bomb}, budget=Budget(ReadLimits(size=50_000)))
    assert len(desired.undecodable) == 1
    assert desired.in_doubt


NO_OBJECTS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no kind": (
        {"apiVersion": "v1", "metadata": {"name": "a", "namespace": "n"}},
        "v1//n/a",
        "kind is missing",
    ),
    "no apiVersion": (
        {"kind": "ConfigMap", "metadata": {"name": "a"}},
        "/ConfigMap/default/a",
        "apiVersion is missing",
    ),
    "neither": ({"metadata": {"name": "a"}}, "//default/a", "apiVersion is missing"),
    "no name": (
        {"apiVersion": "v1", "kind": "ConfigMap"},
        "v1/ConfigMap/default/",
        "metadata.name is missing",
    ),
    "a name that is a number": (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": 7}},
        "v1/ConfigMap/default/7",
        "metadata.name is not a text",
    ),
    "a strange version": (
        {"apiVersion": "a/b/c", "kind": "ConfigMap", "metadata": {"name": "a"}},
        "a/b/c/ConfigMap/default/a",
        "apiVersion is not of the form version or group/version",
    ),
    "a namespace that is a list": (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": ["n"]}},
        "v1/ConfigMap/['n']/a",
        "metadata.namespace is not a text",
    ),
    "a label that is a boolean": (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "labels": {"x": True}}},
        "v1/ConfigMap/default/a",
        "metadata.labels is not a mapping of texts; quote numbers and booleans",
    ),
    "annotations that are a list": (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": []}},
        "v1/ConfigMap/default/a",
        "metadata.annotations is not a mapping of texts; quote numbers and booleans",
    ),
}


@pytest.mark.parametrize("name", NO_OBJECTS)
def test_documents_that_are_no_objects_are_refused_by_name(name: str) -> None:
    obj, id_, problem = NO_OBJECTS[name]
    desired = desire({"k": json.dumps(obj).encode() + b"\n---\n" + config_map("good").encode()})
    assert names(desired) == ["good"]
    (refusal,) = desired.refused
    assert str(refusal) == (
        f"error during apply of object \"{id_}\": {problem} (secret 'garden/s', k: document 1 (line 1))"
    )
    assert desired.undecodable == ()
    assert desired.in_doubt


def test_values_do_not_reach_messages() -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a"},
        "data": {"x": "c2VjcmV0"},
    }
    other = {**secret, "data": {"x": "b3RoZXI="}}
    desired = desire({"k": json.dumps(secret).encode() + json.dumps(other).encode()})
    assert "c2VjcmV0" not in str(desired.refused)
    assert "b3RoZXI=" not in str(desired.refused)


# Where objects belong


@pytest.mark.parametrize(
    ("kind", "namespace", "normalised"),
    [
        ("ConfigMap", None, "default"),
        ("ConfigMap", "", "default"),
        ("ConfigMap", "web", "web"),
        ("ClusterRole", None, ""),
        ("ClusterRole", "web", ""),
        ("Widget", None, "default"),
        ("Widget", "web", "web"),
        ("Namespace", None, ""),
        ("Namespace", "web", ""),
    ],
)
def test_namespaces(kind: str, namespace: str | None, normalised: str) -> None:
    metadata = {"name": "a"} if namespace is None else {"name": "a", "namespace": namespace}
    content = json.dumps({"apiVersion": "v1", "kind": kind, "metadata": metadata}).encode()
    (item,) = desire({"k": content}).objects
    assert item.ref == ObjectRef("v1", kind, normalised, "a")
    assert item.obj["metadata"].get("namespace", "") == normalised


def test_a_namespace_stays_without_one_even_if_the_target_knows_no_kinds() -> None:
    content = b'{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}'
    desired = combined_input([decode_secret(SECRET, {"k": content})], lambda _: None)
    assert desired.objects[0].ref.namespace == ""


# Modes


@pytest.mark.parametrize(
    ("value", "mode"),
    [
        ("EnsureExists", Mode.ENSURE_EXISTS),
        ("Keep", Mode.KEEP),
        ("FallBack", Mode.FALL_BACK),
        ("", Mode.APPLY),
    ],
)
def test_modes(value: str, mode: Mode) -> None:
    (item,) = desire({"k": config_map("a", annotations={MODE: value}).encode()}).objects
    assert item.mode is mode


@pytest.mark.parametrize("value", ["ignore", "IGNORE", "Other"])
def test_modes_that_are_none_are_remarked(value: str) -> None:
    desired = desire({"k": config_map("a", annotations={MODE: value}).encode()})
    assert desired.objects[0].mode is Mode.APPLY
    assert desired.remarks == (
        f"secret 'garden/s', k: document 1 (line 1): mode {value!r} is none; it is applied as usual",
    )


def test_ignored_objects_are_released_and_leave_the_checksum() -> None:
    ignored = config_map("a", annotations={MODE: "Ignore"}).encode()
    desired = desire({"1": ignored, "2": config_map("b").encode()})
    assert names(desired) == ["b"]
    assert desired.released == (ObjectRef("v1", "ConfigMap", "default", "a"),)
    assert desired.checksum == hashlib.sha256(config_map("b").encode()).hexdigest()
    assert not desired.in_doubt


@pytest.mark.parametrize(
    ("value", "create_only"), [("1", True), ("T", True), ("True", True), ("yes", False)]
)
def test_objects_to_be_ignored_are_only_created(value: str, *, create_only: bool) -> None:
    annotations = {"resources.gardener.cloud/ignore": value}
    (item,) = desire({"k": config_map("a", annotations=annotations).encode()}).objects
    assert item.create_only is create_only


# Duplicates


def test_the_same_object_twice_is_wanted_once_and_remarked() -> None:
    desired = desire({"k": (config_map("a") * 2).encode()})
    assert names(desired) == ["a"]
    places = [f"secret 'garden/s', k: document {n} (line 1)" for n in (1, 2)]
    assert desired.remarks == (f"ConfigMap default/a is defined 2 times: {'; '.join(places)}",)


def test_the_same_secret_twice_counts_once_and_is_remarked() -> None:
    content = {"k": config_map("a").encode()}
    desired = combined_input([decode_secret(SECRET, content)] * 2, scope)
    assert names(desired) == ["a"]
    assert desired.remarks == ("secret 'garden/s' is referred to 2 times",)
    assert desired.checksum == hashlib.sha256(content["k"] * 2).hexdigest()
    assert not desired.in_doubt


def test_leaving_out_the_namespace_makes_no_other_object() -> None:
    desired = desire({"k": (config_map("a") + config_map("a", namespace="default")).encode()})
    assert names(desired) == ["a"]


def test_an_object_defined_differently_is_refused_and_the_others_wanted() -> None:
    documents = config_map("a") + config_map("a", labels={"x": "y"}) + config_map("b")
    desired = desire({"k": documents.encode()})
    assert names(desired) == ["b"]
    (refusal,) = desired.refused
    assert str(refusal) == (
        'error during apply of object "v1/ConfigMap/default/a": Conflict: it is defined differently'
        " in several documents: secret 'garden/s', k: document 1 (line 1);"
        " secret 'garden/s', k: document 2 (line 1)"
    )
    assert desired.in_doubt


def test_conflicts_do_not_depend_on_the_order_of_documents() -> None:
    one, two = config_map("a"), config_map("a", labels={"x": "y"})
    for documents in (one + two, two + one):
        assert [r.ref.name for r in desire({"k": documents.encode()}).refused] == ["a"]


def test_the_same_name_in_other_places_is_another_object() -> None:
    role = '{"apiVersion":"v1","kind":"ClusterRole","metadata":{"name":"a"}}'
    desired = desire({"k": (config_map("a") + config_map("a", namespace="x") + role).encode()})
    assert len(desired.objects) == 3


def test_another_version_of_the_same_object_is_a_conflict() -> None:
    one = '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}}'
    two = '{"apiVersion":"apps/v1beta1","kind":"Deployment","metadata":{"name":"a"}}'
    assert len(desire({"k": (one + two).encode()}).refused) == 1


# The checksum


def test_the_checksum_counts_documents_and_compressed_bytes() -> None:
    two = (config_map("a") + "\n---\n# none\n---\n" + config_map("b")).encode()
    packed = brotli.compress(config_map("c").encode())
    desired = desire({"b": two, "a.br": packed, "c": b"# nothing"}, {"k": config_map("d").encode()})
    expected = hashlib.sha256(packed + two + two + config_map("d").encode())
    assert desired.checksum == expected.hexdigest()


def test_undecodable_documents_do_not_enter_the_checksum() -> None:
    good = config_map("a").encode()
    assert desire({"a": good, "b": b"- 1"}).checksum == desire({"a": good}).checksum
