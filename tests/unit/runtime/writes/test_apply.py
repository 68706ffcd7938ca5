"""What is sent for an object: the pure part of applying."""

import pytest

from certwright.kube import Object, ObjectMeta, Resource
from certwright.runtime.writes.writer import controller_reference, render

OWNER = {
    "apiVersion": "demo.certwright.dev/v1",
    "kind": "Greeting",
    "metadata": {"namespace": "ns", "name": "hi", "uid": "u1"},
}


def test_an_owned_object_carries_exactly_one_controller() -> None:
    other = {"kind": "X", "name": "y", "uid": "z"}
    child = {"kind": "ConfigMap", "metadata": {"name": "c", "ownerReferences": [other]}}
    rendered = render(child, OWNER)
    assert rendered["metadata"]["namespace"] == "ns"
    assert rendered["metadata"]["ownerReferences"] == [
        other,
        {
            "apiVersion": "demo.certwright.dev/v1",
            "kind": "Greeting",
            "name": "hi",
            "uid": "u1",
            "controller": True,
            "blockOwnerDeletion": True,
        },
    ]
    assert child["metadata"] == {"name": "c", "ownerReferences": [other]}, "the input is untouched"


def test_an_owner_in_another_namespace_is_refused() -> None:
    with pytest.raises(ValueError, match="same namespace or cluster-wide"):
        render({"kind": "ConfigMap", "metadata": {"namespace": "other", "name": "c"}}, OWNER)


def test_an_owner_that_was_never_stored_is_refused() -> None:
    with pytest.raises(ValueError, match="Greeting ns/hi has no uid"):
        controller_reference({**OWNER, "metadata": {"namespace": "ns", "name": "hi"}})


class Widget(Object):
    resource = Resource("demo.certwright.dev", "v1", "Widget", "widgets")
    size: int = 1


def test_typed_objects_name_their_kind_and_leave_status_out() -> None:
    widget = Widget(metadata=ObjectMeta(name="w", namespace="ns"), size=3)
    assert render(widget) == {
        "apiVersion": "demo.certwright.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "ns"},
        "size": 3,
    }
    assert "status" not in render({"kind": "X", "status": {"a": 1}})
