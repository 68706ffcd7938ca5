"""From the server's bytes to an entry, for good objects and bad ones."""

import gc
import json
from typing import Any, ClassVar

import pytest
from msgspec import Struct

from certwright.kube import JsonObject
from certwright.kube.kinds import ConfigMap
from certwright.kube.objects import Key, Object, Resource
from certwright.runtime.cache.decode import BrokenJson, EntryDecoder, UnnamedObject
from certwright.runtime.cache.entries import Entry
from certwright.runtime.outcome import BadObject

WIDGETS = Resource("demo.example.com", "v1", "Widget", "widgets")


class WidgetSpec(Struct):
    size: int


class Widget(Object):
    resource: ClassVar[Resource] = WIDGETS
    spec: WidgetSpec


def widget(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "demo.example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop", "resourceVersion": "7", **metadata},
        "spec": {"size": 3},
    }


def take_in(obj: dict[str, Any], decoder: EntryDecoder | None = None) -> Entry:
    return (decoder or EntryDecoder(WIDGETS)).entry(json.dumps(obj).encode())


def test_metadata_is_at_hand_and_the_rest_on_demand() -> None:
    owner = {"apiVersion": "v1", "kind": "Shop", "name": "s", "uid": "u1", "controller": True}
    obj = widget(
        uid="u2",
        generation=4,
        labels={"a": "b"},
        annotations={"note": "x"},
        finalizers=["demo/f"],
        ownerReferences=[{**owner, "blockOwnerDeletion": True}],
        deletionTimestamp="2026-01-01T00:00:00Z",
    )
    entry = take_in(obj)
    assert entry.key == Key("shop", "w")
    assert entry.uid == "u2"
    assert entry.meta.generation == 4
    assert entry.meta.labels == {"a": "b"}
    assert entry.meta.finalizers == ("demo/f",)
    assert entry.meta.deleting
    assert entry.meta.controller is not None
    assert entry.meta.controller.uid == "u1"
    assert entry.annotations == {"note": "x"}
    assert entry.obj() == obj
    assert entry.as_(Widget).spec.size == 3
    assert entry.malformed == ""


def test_only_our_own_field_ownership_is_kept_and_apart_from_the_object() -> None:
    ours = {"manager": "me", "operation": "Apply", "fieldsV1": {"f:spec": {}}}
    theirs = {"manager": "they", "operation": "Update", "fieldsV1": {"f:status": {}}}
    entry = take_in(
        widget(managedFields=[theirs, ours]),
        EntryDecoder(WIDGETS, field_managers=["me", "also-me"]),
    )
    assert entry.obj() == widget()
    assert entry.managed_fields == [ours]
    assert take_in(widget(managedFields=[theirs])).managed_fields == []


def test_objects_of_one_shape_share_what_is_known_of_their_fields() -> None:
    decoder = EntryDecoder(WIDGETS, field_managers=["me"])
    fields: JsonObject = {"f:spec": {'k:{"time":"now"}': {}}}
    written = [
        {"manager": "me", "apiVersion": "v1", "time": f"2026-01-01T00:00:0{second}Z", "x": fields}
        for second in range(2)
    ]
    one, two = (take_in(widget(managedFields=[entry]), decoder) for entry in written)
    assert one.own_fields is two.own_fields
    assert one.managed_fields == [{"manager": "me", "apiVersion": "v1", "x": fields}]


def test_objects_of_many_shapes_are_not_remembered_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("certwright.runtime.cache.decode.SHARED_FIELDS", 2)
    decoder = EntryDecoder(WIDGETS, field_managers=["me"])
    for number in range(5):
        entry = {"manager": "me", "fieldsV1": {f"f:{number}": {}}}
        assert take_in(widget(managedFields=[entry]), decoder).managed_fields == [entry]
    assert len(decoder._shared_fields) == 2


def test_an_entry_does_not_hold_on_to_the_bytes_it_came_from() -> None:
    raw = json.dumps(widget(managedFields=[{"manager": "me", "x": "y" * 10_000}])).encode()
    entry = EntryDecoder(WIDGETS, field_managers=["they"]).entry(raw)
    assert entry.own_fields == b""
    assert len(entry.raw) < 500


def test_equal_strings_are_kept_once() -> None:
    decoder = EntryDecoder(WIDGETS)
    one = take_in(widget(labels={"part-of": "shop-front", "app": "w"}), decoder)
    other = take_in(widget(labels={"part-of": "shop-front"}), decoder)
    assert one.meta.labels["part-of"] is other.meta.labels["part-of"]
    assert one.meta.labels["app"] is one.key.name
    assert one.key.namespace is other.key.namespace


def test_endless_label_values_are_not_remembered() -> None:
    decoder = EntryDecoder(WIDGETS)
    for n in range(3000):
        assert take_in(widget(labels={"n": f"v{n}"}), decoder).meta.labels == {"n": f"v{n}"}
    assert len(decoder._shared) <= 1001


def test_entries_are_no_work_for_the_garbage_collector() -> None:
    entry = take_in(widget(labels={"a": "b"}, finalizers=["f"]))
    assert not gc.is_tracked(entry)
    assert not gc.is_tracked(entry.meta)


def test_items_of_a_list_get_the_kind_they_leave_out() -> None:
    raw = b' {"metadata":{"name":"c","namespace":"shop"},"data":{"k":"v"}}'
    assert EntryDecoder(ConfigMap).entry(raw).obj() == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "c", "namespace": "shop"},
        "data": {"k": "v"},
    }


@pytest.mark.parametrize("kind", ["Widget", "PartialObjectMetadata"])
def test_a_metadata_store_keeps_metadata_whatever_the_server_sends(kind: str) -> None:
    obj = {**widget(managedFields=[{"manager": "they"}]), "kind": kind}
    if kind == "PartialObjectMetadata":
        obj = {"kind": kind, "apiVersion": "meta.k8s.io/v1", "metadata": obj["metadata"]}
    entry = take_in(obj, EntryDecoder(WIDGETS, metadata_only=True))
    assert entry.obj() == {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": widget()["metadata"],
    }


def test_metadata_as_the_server_sends_it_stays_byte_for_byte() -> None:
    raw = b'{ "kind":"PartialObjectMetadata", "metadata": {"name": "w"} }'
    assert EntryDecoder(WIDGETS, metadata_only=True).entry(raw).raw == raw


def test_a_transform_decides_what_is_kept() -> None:
    def without_spec(raw: bytes) -> bytes:
        return json.dumps({k: v for k, v in json.loads(raw).items() if k != "spec"}).encode()

    entry = take_in(widget(labels={"a": "b"}), EntryDecoder(WIDGETS, transform=without_spec))
    assert "spec" not in entry.obj()
    assert entry.meta.labels == {"a": "b"}


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"labels": ["a"]}, "metadata.labels: Expected `object`, got `array`"),
        ({"labels": {"a": 1}}, "metadata.labels[...]: Expected `str`, got `int`"),
        ({"finalizers": "f"}, "metadata.finalizers: Expected `array`, got `str`"),
        ({"ownerReferences": [{"uid": 1}]}, "metadata.ownerReferences[0]"),
        ({"generation": "4"}, "metadata.generation: Expected `int`, got `str`"),
    ],
)
def test_metadata_of_the_wrong_shape_is_kept_as_far_as_it_goes(
    wrong: dict[str, Any], where: str
) -> None:
    obj = widget(**{"annotations": {"a": "b"}, **wrong})
    entry = take_in({**obj, "metadata": {**obj["metadata"], "managedFields": []}})
    assert entry.key == Key("shop", "w")
    assert entry.meta.resource_version == "7"
    assert entry.malformed.startswith(where)
    assert entry.obj() == obj


def test_null_is_the_same_as_absent() -> None:
    entry = take_in(widget(labels=None, finalizers=None, ownerReferences=None, generation=None))
    assert entry.malformed == ""
    assert entry.meta.labels == {}
    assert entry.meta.owners == ()
    assert take_in(widget(annotations=None)).annotations == {}


@pytest.mark.parametrize(
    "raw",
    [b"{}", b"[]", b'"x"', b'{"metadata":[]}', b'{"metadata":{"name":5}}', b'{"metadata":{}}'],
)
def test_what_has_no_name_is_no_object(raw: bytes) -> None:
    with pytest.raises(UnnamedObject, match="Widget"):
        EntryDecoder(WIDGETS).entry(raw)


@pytest.mark.parametrize("raw", [b"", b"{", b'{"metadata":{"name":"w"}', b"<html>"])
def test_what_is_cut_short_is_broken(raw: bytes) -> None:
    with pytest.raises(BrokenJson, match="Widget"):
        EntryDecoder(WIDGETS).entry(raw)


def test_a_wrong_shape_names_the_object_the_field_and_what_to_do() -> None:
    entry = take_in({**widget(), "spec": {"size": "large"}})
    with pytest.raises(BadObject) as caught:
        entry.as_(Widget)
    assert str(caught.value) == (
        "Widget shop/w cannot be read: spec.size: Expected `int`, got `str`; correct the object, "
        "or align the schema of its CustomResourceDefinition with the controller's version"
    )


def test_a_wrong_shape_at_the_top_is_named_too() -> None:
    obj = widget()
    del obj["spec"]
    with pytest.raises(BadObject, match=r"Widget shop/w .* Object missing required field `spec`"):
        take_in(obj).as_(Widget)


def test_annotations_of_the_wrong_shape_name_the_kind_of_the_object() -> None:
    with pytest.raises(BadObject, match=r"Widget shop/w .*metadata\.annotations"):
        _ = take_in(widget(annotations=[])).annotations


def test_a_transform_that_fails_leaves_the_object_whole() -> None:
    def broken(raw: bytes) -> bytes:
        raise ZeroDivisionError

    entry = take_in(widget(), EntryDecoder(WIDGETS, transform=broken))
    assert entry.obj() == widget()


def test_a_version_that_is_held_is_not_made_again() -> None:
    decoder, obj = EntryDecoder(WIDGETS), widget()
    held = take_in(obj, decoder)
    known = {held.key: held}
    assert decoder.entry(json.dumps(obj).encode(), held=known.get) is held
    newer = decoder.entry(json.dumps(widget(resourceVersion="8")).encode(), held=known.get)
    assert newer.meta.resource_version == "8"
    assert newer.key is held.key
    stranger = decoder.entry(json.dumps(widget(name="v")).encode(), held=known.get)
    assert stranger.key == Key("shop", "v")


def test_of_what_is_deleted_only_place_and_version_are_read() -> None:
    raw = json.dumps(widget(resourceVersion="9", labels="no labels")).encode()
    gone = EntryDecoder(WIDGETS).deleted(raw, 0, len(raw))
    assert (gone.key, gone.meta.resource_version) == (Key("shop", "w"), "9")
    odd = json.dumps(widget(resourceVersion=9)).encode()
    assert EntryDecoder(WIDGETS).deleted(odd, 0, len(odd)).key == Key("shop", "w")
    for bad, error in ((b"{", BrokenJson), (b'{"metadata": {}}', UnnamedObject)):
        with pytest.raises(error):
            EntryDecoder(WIDGETS).deleted(bad, 0, len(bad))
