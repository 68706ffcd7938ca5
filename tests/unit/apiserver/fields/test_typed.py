from typing import Any

import pytest
from tests.unit.apiserver.fields.conftest import STRING, keyed

from certwright.apiserver.fields.fieldset import FieldSet
from certwright.apiserver.fields.typed import (
    TypeMismatch,
    check,
    everything,
    item_step,
    owned,
    reconcile,
    with_containers,
)
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube import JsonObject

SPECS: dict[str, tuple[Any, FieldSet, FieldSet]] = {
    "scalars and null": (
        {"replicas": 1, "title": None},
        {"f:replicas": {}, "f:title": {}},
        {"f:replicas": {}, "f:title": {}},
    ),
    "a struct is not owned, only its fields": (
        {"nested": {"x": 1}},
        {"f:nested": {"f:x": {}}},
        {"f:nested": {".": {}, "f:x": {}}},
    ),
    "an empty struct is": ({"nested": {}}, {"f:nested": {}}, {"f:nested": {}}),
    "entries of a map": (
        {"labels": {"a": "1"}},
        {"f:labels": {"f:a": {}}},
        {"f:labels": {".": {}, "f:a": {}}},
    ),
    "an atomic map, an atomic list": (
        {"selector": {"a": "1"}, "args": ["a"]},
        {"f:selector": {}, "f:args": {}},
        {"f:selector": {}, "f:args": {}},
    ),
    "items by key, with the default of a key that is left out": (
        {"ports": [{"port": 80}]},
        {"f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}},
        {"f:ports": {".": {}, 'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}}},
    ),
    "items of a set": (
        {"tags": ["a"]},
        {"f:tags": {'v:"a"': {}}},
        {"f:tags": {".": {}, 'v:"a"': {}}},
    ),
    "an empty list of items mentions nothing": ({"tags": []}, {}, {"f:tags": {}}),
    "an empty atomic list does": ({"args": []}, {"f:args": {}}, {"f:args": {}}),
    "unknown content: maps are granular, lists atomic": (
        {"free": {"a": {"b": [1]}}},
        {"f:free": {"f:a": {".": {}, "f:b": {}}}},
        {"f:free": {".": {}, "f:a": {".": {}, "f:b": {}}}},
    ),
    "duplicates have one owner together": (
        {"tags": ["a", "a", "b"]},
        {"f:tags": {'v:"a"': {}, 'v:"b"': {}}},
        {"f:tags": {".": {}, 'v:"a"': {}, 'v:"b"': {}}},
    ),
}


@pytest.mark.parametrize("situation", SPECS)
def test_what_a_value_consists_of(thing: ServedKind, situation: str) -> None:
    value, mentioned, parts = SPECS[situation]
    schema = thing.schema.properties["spec"]

    assert owned(value, schema) == mentioned
    assert everything(value, schema) == {".": {}, **parts}


MISFITS: dict[str, Any] = {
    ".spec.nope: field not declared in schema": {"nope": 1},
    ".spec.nested.y.nope: field not declared in schema": {"nested": {"y": {"nope": {}}}},
    ".spec.replicas: expected numeric (int or float), got string": {"replicas": "1"},
    ".spec.replicas: expected numeric (int or float), got bool": {"replicas": True},
    ".spec.paused: expected boolean, got &{1}": {"paused": 1},
    ".spec.title: expected string, got &value.valueUnstructured{Value:1}": {"title": 1},
    ".spec.title: expected string, got &value.valueUnstructured{Value:map[string]interface {}"
    '{"a":[]interface {}{1}}}': {"title": {"a": [1]}},
    ".spec.labels: expected map, got &{[1 a map[a:1.5 b:<nil>]]}": {
        "labels": [1, "a", {"b": None, "a": 1.5}]
    },
    ".spec.args: expected list, got &{map[a:true]}": {"args": {"a": True}},
    '.spec.tags: duplicate entries for key [="a"]': {"tags": ["a", "a"]},
    '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]': {
        "ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]
    },
    ".spec.items: element 0: associative list with keys has an element that omits all key fields "
    '["name"] (and doesn\'t have default values for any key fields)': {"items": [{}]},
    ".spec.items: element 0: associative list with keys may not have non-map elements": {
        "items": ["a"]
    },
    ".spec.tags: element 1: associative list without keys has an element that's an explicit null": {
        "tags": ["a", None]
    },
    '.spec.items[name="a"].image: expected string, got &value.valueUnstructured{Value:1}': {
        "items": [{"name": "a", "image": 1}]
    },
    ".spec.args[1]: expected string, got &value.valueUnstructured{Value:2}": {"args": ["a", 2]},
    "errors:\n  .spec.replicas: expected numeric (int or float), got string"
    "\n  .spec.paused: expected boolean, got &{x}": {"replicas": "1", "paused": "x"},
}


@pytest.mark.parametrize("message", MISFITS)
def test_misfits_are_named_in_the_servers_words(thing: ServedKind, message: str) -> None:
    with pytest.raises(TypeMismatch) as refusal:
        check({"spec": MISFITS[message]}, thing.schema)

    assert str(refusal.value) == message


@pytest.mark.parametrize(
    "spec",
    [
        {"title": None, "nested": None, "tags": None},
        {"port": 80},
        {"port": "http"},
        {"free": {"anything": [{"goes": None}, 1, "a"]}},
        {"replicas": 1.5},
    ],
)
def test_what_fits(thing: ServedKind, spec: dict[str, Any]) -> None:
    check({"spec": spec}, thing.schema)


def test_structs_count_as_members_when_asked(thing: ServedKind) -> None:
    fields: JsonObject = {"f:spec": {"f:nested": {"f:x": {}}, "f:labels": {"f:a": {}}}}

    assert with_containers(fields, thing.schema) == {
        "f:spec": {
            ".": {},
            "f:nested": {".": {}, "f:x": {}},
            "f:labels": {".": {}, "f:a": {}},
        }
    }


def test_a_list_that_became_atomic_has_one_owner(thing: ServedKind) -> None:
    before: JsonObject = {
        "f:spec": {"f:args": {'v:"a"': {}}, "f:selector": {"f:a": {}}, "f:title": {}}
    }

    assert reconcile(before, thing.schema) == {
        "f:spec": {"f:args": {}, "f:selector": {}, "f:title": {}}
    }


@pytest.mark.parametrize("name", ["a", "controller", 'a "quoted" <b>', "n" * 256, "n" * 257])
def test_an_item_is_known_by_its_whole_key(name: str) -> None:
    containers = keyed("name", name=STRING, image=STRING)
    escaped = name.replace('"', '\\"').replace("<", "\\u003c").replace(">", "\\u003e")
    for _ in range(2):  # the second is remembered, if it is short
        assert item_step({"name": name, "image": "x"}, containers) == f'k:{{"name":"{escaped}"}}'
