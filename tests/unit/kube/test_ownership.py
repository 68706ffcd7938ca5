import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube.ownership import FieldSet, project, projection_hash, without

ELEMENTS = st.sampled_from(["f:a", "f:b", "f:c:d", 'k:{"name":"x"}', 'v:"y"', "i:0"])
PATHS = st.frozensets(st.lists(ELEMENTS, min_size=1, max_size=3).map(tuple), max_size=6)


def fields_of(paths: frozenset[tuple[str, ...]]) -> FieldSet:
    fields = FieldSet()
    for path in paths:
        single: dict[str, Any] = {}
        for element in reversed(path):
            single = {element: single}
        fields |= FieldSet.parse(single)
    return fields


DEPLOYMENT_FIELDS = {
    "f:metadata": {"f:labels": {"f:app": {}}},
    "f:spec": {
        "f:replicas": {},
        "f:template": {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"web"}': {
                        ".": {},
                        "f:name": {},
                        "f:image": {},
                        "f:args": {},
                        "f:ports": {
                            'k:{"containerPort":80,"protocol":"TCP"}': {
                                ".": {},
                                "f:containerPort": {},
                            }
                        },
                    }
                }
            }
        },
    },
}


def deployment() -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "labels": {"app": "web", "team": "a"}, "resourceVersion": "7"},
        "spec": {
            "replicas": 2,
            "paused": False,
            "template": {
                "spec": {
                    "containers": [
                        {"name": "sidecar", "image": "proxy:1"},
                        {
                            "name": "web",
                            "image": "web:1",
                            "args": ["-v", "-x"],
                            "imagePullPolicy": "Always",
                            "ports": [
                                {"containerPort": 80, "protocol": "UDP"},
                                {"containerPort": 80, "protocol": "TCP"},
                            ],
                        },
                    ]
                }
            },
        },
        "status": {"replicas": 2},
    }


def test_projects_an_object_onto_what_a_manager_owns() -> None:
    assert project(deployment(), FieldSet.parse(DEPLOYMENT_FIELDS)) == {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "replicas": 2,
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": "web",
                            "image": "web:1",
                            "args": ["-v", "-x"],
                            "ports": [{"containerPort": 80}],
                        }
                    ]
                }
            },
        },
    }


def test_removes_what_is_owned_and_not_kept() -> None:
    owned = FieldSet.parse(DEPLOYMENT_FIELDS)
    kept = FieldSet.parse({"f:spec": {"f:template": {"f:spec": {"f:containers": {}}}}})
    left = without(deployment(), owned, kept)
    assert left["metadata"]["labels"] == {"team": "a"}
    assert "replicas" not in left["spec"]
    containers = {
        one["name"]: one for one in left["spec"]["template"]["spec"]["containers"] if "name" in one
    }
    assert "sidecar" in containers
    assert "web" not in containers


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        ({}, {}),
        ({"f:m": {"f:a": {}}}, {"m": {"a": 1}}),
        ({"f:m": {}}, {"m": {}}),
        ({"f:m": {"f:z": {}}}, {}),
        ({"f:l": {'k:{"name":"x"}': {"f:p": {}}}}, {"l": [{"p": 1}]}),
        ({"f:s": {'v:"y"': {}}}, {"s": ["y"]}),
    ],
)
def test_what_holds_a_kept_field_stays(kept: dict[str, Any], left: dict[str, Any]) -> None:
    obj = {"m": {"a": 1, "b": 2}, "l": [{"name": "x", "p": 1}], "s": ["x", "y"]}
    item: dict[str, Any] = {".": {}, "f:name": {}, "f:p": {}}
    fields = {
        "f:m": {".": {}, "f:a": {}, "f:b": {}},
        "f:l": {".": {}, 'k:{"name":"x"}': item},
        "f:s": {".": {}, 'v:"x"': {}, 'v:"y"': {}},
    }
    assert without(obj, FieldSet.parse(fields), FieldSet.parse(kept)) == left


def test_what_is_not_owned_is_not_removed() -> None:
    obj = {"m": {"a": 1}, "l": [1, {"x": 2}]}
    assert without(obj, FieldSet.parse({"f:z": {}, "f:l": {"i:5": {}}}), FieldSet()) == obj


def test_the_hash_follows_owned_fields_only() -> None:
    fields = FieldSet.parse(DEPLOYMENT_FIELDS)
    before = projection_hash(deployment(), fields)

    foreign = deployment()
    foreign["spec"]["paused"] = True
    foreign["metadata"]["labels"]["team"] = "b"
    foreign["spec"]["template"]["spec"]["containers"].pop(0)
    foreign["status"] = {}
    assert projection_hash(foreign, fields) == before

    change: Callable[[Any], object]
    for change in (
        lambda obj: obj["spec"].update(replicas=3),
        lambda obj: obj["spec"].pop("replicas"),
        lambda obj: obj["metadata"].pop("labels"),
        lambda obj: obj["spec"]["template"]["spec"]["containers"][1].update(image="web:2"),
        lambda obj: obj["spec"]["template"]["spec"]["containers"][1]["args"].append("-y"),
        lambda obj: obj["spec"]["template"]["spec"]["containers"].pop(1),
        lambda obj: obj["spec"]["template"]["spec"]["containers"][1]["ports"].pop(1),
    ):
        drifted = deployment()
        change(drifted)
        assert projection_hash(drifted, fields) != before


def test_items_of_sets_are_found_by_value() -> None:
    fields = FieldSet.parse({"f:finalizers": {'v:"a"': {}, "v:1": {}}})
    assert project({"finalizers": ["b", "a", 1, True, "1"]}, fields) == {"finalizers": ["a", 1]}


def test_items_may_be_owned_by_position_and_objects_by_value() -> None:
    fields = FieldSet.parse({"f:list": {"i:1": {}, 'v:{"b":1,"a":2}': {}}})
    assert project({"list": [{"a": 2, "b": 1}, "x", "y"]}, fields) == {
        "list": [{"a": 2, "b": 1}, "x"]
    }


def test_keys_of_items_are_compared_as_json_compares() -> None:
    fields = FieldSet.parse({"f:list": {'k:{"n":1}': {"f:v": {}}}})
    items = [{"n": True, "v": 1}, {"n": "1", "v": 2}, {"v": 3}, {"n": 1, "v": 4}, "n"]
    assert project({"list": items}, fields) == {"list": [{"v": 4}]}


def test_a_leaf_counts_whole_and_a_dot_means_it_exists() -> None:
    leaf = FieldSet.parse({"f:a": {}})
    dotted = FieldSet.parse({"f:a": {".": {}, "f:x": {}}})
    inner = FieldSet.parse({"f:a": {"f:x": {}}})
    obj = {"a": {"y": [1]}}
    assert project(obj, leaf) == {"a": {"y": [1]}}
    assert project(obj, dotted) == {"a": {}}
    assert project(obj, inner) == {}


def test_a_field_of_another_shape_than_owned_is_a_change_and_no_error() -> None:
    fields = FieldSet.parse(
        {"f:a": {".": {}, "f:x": {}}, "f:b": {"f:x": {}}, "f:c": {'k:{"n":1}': {}}}
    )
    assert project({"a": "text", "b": 5, "c": {"n": 1}}, fields) == {"a": "text"}
    assert project({"a": None, "b": [1], "c": None}, fields) == {"a": None}
    assert project({}, fields) == {}


@given(PATHS)
def test_reads_what_it_writes(paths: frozenset[tuple[str, ...]]) -> None:
    fields = fields_of(paths)
    assert set(fields) == paths
    assert FieldSet.parse(json.loads(json.dumps(fields.to_json()))) == fields


def test_writes_the_form_of_the_api() -> None:
    fields = FieldSet.parse(DEPLOYMENT_FIELDS)
    assert fields.to_json() == DEPLOYMENT_FIELDS
    assert FieldSet.parse({}).to_json() == {}


@given(PATHS, PATHS)
def test_behaves_like_a_set_of_paths(
    one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]
) -> None:
    left, right = fields_of(one), fields_of(other)
    assert set(left | right) == one | other
    assert set(left & right) == one & other
    assert set(left - right) == one - other
    assert (left == right) == (one == other)
    assert bool(left) == bool(one)
    assert left | right == right | left
    assert hash(left | right) == hash(right | left)


def test_the_order_of_keys_does_not_matter() -> None:
    one = FieldSet.parse({'k:{"a":1,"b":2}': {}})
    other = FieldSet.parse({'k:{ "b": 2, "a": 1 }': {}})
    assert one == other


@pytest.mark.parametrize(
    "fields",
    [{"spec": {}}, {"f:a": 1}, {"f:a": None}, {"k:[1]": {}}, {"k:{": {}}, {"v:": {}}, {"i:x": {}}, {"x:1": {}}],
)  # fmt: skip
def test_refuses_what_is_no_fields_v1(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="managed fields: "):
        FieldSet.parse(fields)


def test_bounds_the_depth() -> None:
    fields: dict[str, Any] = {}
    for _ in range(300):
        fields = {"f:a": fields}
    with pytest.raises(ValueError, match="nested more than 200 levels"):
        FieldSet.parse(fields)
