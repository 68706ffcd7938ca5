"""Objects into the bytes of a Secret, and out again."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.apply import ManifestError
from certwright.apply.manifests.compression import unpack_brotli
from certwright.apply.manifests.limits import ReadLimits
from certwright.kube import JsonObject
from certwright.managed import PackingError, pack, unpack
from certwright.managed.secretdata import file_name


def thing(name: str, namespace: str = "ns", kind: str = "ConfigMap", **fields: Any) -> JsonObject:
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def secret(**data: bytes) -> JsonObject:
    encoded = {
        key.replace("_", "."): base64.b64encode(value).decode() for key, value in data.items()
    }
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": encoded}


def opened(parts: Sequence[bytes]) -> list[str]:
    return [unpack_brotli(part, ReadLimits()).decode() for part in parts]


def test_objects_are_named_by_kind_namespace_and_name() -> None:
    assert file_name(thing("a:b")) == "configmap_v1__ns__a_b.yaml"
    role = {**thing("x", "", "ClusterRole"), "apiVersion": "rbac.authorization.k8s.io/v1"}
    assert file_name(role) == "clusterrole_v1_rbac.authorization.k8s.io____x.yaml"


def test_the_order_of_the_objects_makes_no_difference() -> None:
    objects = [thing("b"), thing("a"), thing("a", kind="Secret")]
    assert pack(objects) == pack(reversed(objects))
    [text] = opened(pack(objects))
    names = [json.loads(line)["metadata"]["name"] for line in text.splitlines() if line != "---"]
    assert names == ["a", "b", "a"]


def test_what_is_packed_is_unpacked() -> None:
    objects = [thing("a", data={"k": "no"}), thing("b", data={"k": "1e3", "multi": "x\n---\ny"})]
    [part] = pack(objects)
    assert unpack([secret(data_yaml_br=part)]) == objects


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_reader_of_yaml_reads_the_same(text: str) -> None:
    [part] = opened(pack([thing("a", data={"k": text}), thing("b", data={"k": text})]))
    first, second = yaml.safe_load_all(part)
    assert first["data"]["k"] == second["data"]["k"] == text


def test_nothing_is_one_part() -> None:
    [part] = pack([])
    assert opened([part]) == [""]
    assert unpack([secret(data_yaml_br=part)]) == []


def test_what_does_not_fit_is_split() -> None:
    objects = [thing(f"c{number:03}", data={"k": f"{number:x}" * 500}) for number in range(64)]
    whole = len(pack(objects)[0])
    parts = pack(objects, most=whole // 3)
    assert len(parts) > 3
    assert all(len(part) <= whole // 3 for part in parts)
    assert unpack([secret(data_yaml_br=part) for part in parts]) == objects


def test_an_object_too_large_for_a_secret_is_refused_by_name() -> None:
    with pytest.raises(PackingError, match=r"configmap_v1__ns__big\.yaml: .* do not fit"):
        pack([thing("big", data={"k": "x" * 9_000_000}), thing("small")])


@pytest.mark.parametrize(
    ("objects", "problem"),
    [
        ([thing("a"), thing("a")], "ConfigMap ns/a occurs twice"),
        ([thing("")], "has no name"),
        ([{"metadata": {"name": "a"}}], "not a kind"),
        ([thing("a", data={"k": object()})], "ConfigMap ns/a is not JSON"),
    ],
)
def test_what_cannot_be_packed(objects: list[JsonObject], problem: str) -> None:
    with pytest.raises(PackingError, match=problem):
        pack(objects)


def test_secrets_written_by_hand_are_unpacked() -> None:
    two = b"---\n\napiVersion: v1\nkind: A\n---\n# nothing\n---\napiVersion: v1\nkind: B\n"
    assert [obj["kind"] for obj in unpack([secret(x=two), secret(y=b"")])] == ["A", "B"]


@pytest.mark.parametrize(
    "data", [{"x_br": b"no brotli"}, {"x": b"[1]"}, {"x": b"{"}, {"x": b"kind: A\n"}]
)
def test_what_cannot_be_unpacked(data: dict[str, bytes]) -> None:
    with pytest.raises(ManifestError, match=r"^x"):
        unpack([secret(**data)])
