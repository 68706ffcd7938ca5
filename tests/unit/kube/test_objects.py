import tracemalloc
from typing import ClassVar

import msgspec
import orjson
from msgspec import Struct, field

from certwright.kube import (
    Key,
    Object,
    ObjectMeta,
    OwnerReference,
    Resource,
    key_of,
    kinds,
    resource_of,
)
from certwright.kube.objects import exact_json


class WidgetSpec(Struct, rename="camel"):
    max_size: int = 1


class Widget(Object):
    resource: ClassVar[Resource] = Resource("example.com", "v1", "Widget", "widgets")
    spec: WidgetSpec = field(default_factory=WidgetSpec)


def test_objects_write_only_what_was_said() -> None:
    owner = OwnerReference(api_version="v1", kind="Node", name="n", uid="u", controller=True)
    widget = Widget(metadata=ObjectMeta(name="a", namespace="shop", owner_references=[owner]))
    assert msgspec.to_builtins(widget) == {
        "metadata": {
            "name": "a",
            "namespace": "shop",
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": True}
            ],
        },
        "spec": {"maxSize": 1},
    }


def test_objects_read_what_they_know_and_skip_the_rest() -> None:
    widget = msgspec.convert(
        {
            "apiVersion": "example.com/v1",
            "kind": "Widget",
            "metadata": {"name": "a", "namespace": "shop", "managedFields": [{}], "generation": 3},
            "spec": {"maxSize": 5, "new": True},
            "status": {},
        },
        Widget,
    )
    assert widget.key == Key("shop", "a")
    assert (widget.spec.max_size, widget.metadata.generation) == (5, 3)


def test_keys_and_resources_of_either_form() -> None:
    assert key_of({"metadata": {"namespace": "shop", "name": "a"}}) == Key("shop", "a")
    assert key_of({"metadata": {"name": "a"}}) == Key("", "a")
    assert key_of({}) == Key("", "")
    assert key_of(Widget(metadata=ObjectMeta(name="a"))) == Key("", "a")
    assert resource_of(Widget) is Widget.resource
    assert resource_of(kinds.ConfigMap) is kinds.ConfigMap


def test_built_in_kinds_are_distinct_and_complete() -> None:
    assert (
        len(set(kinds.BUILT_IN))
        == len({each.gvr for each in kinds.BUILT_IN})
        == len(kinds.BUILT_IN)
    )
    assert kinds.Deployment in kinds.BUILT_IN
    assert kinds.Lease.path("kube-system", "x") == (
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x"
    )


def test_json_to_be_kept_takes_no_more_memory_than_it_is_long() -> None:
    obj = {"data": {"key": "x" * 100}}
    tracemalloc.start()
    try:
        kept = [exact_json(obj) for _ in range(100)]
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert orjson.loads(kept[0]) == obj
    assert taken < 100 * (len(kept[0]) + 100)
