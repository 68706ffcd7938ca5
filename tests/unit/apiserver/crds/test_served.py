from collections.abc import Callable
from typing import Any

import pytest

from certwright.apiserver.crds import served_kinds
from certwright.apiserver.schema.structural import default
from certwright.kube.errors import BadRequest

SCHEMA = {
    "type": "object",
    "properties": {
        "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 5}}},
        "spec": {
            "type": "object",
            "required": ["count"],
            "properties": {
                "count": {"type": "integer"},
                "mode": {"type": "string", "default": "fast"},
            },
            "x-kubernetes-validations": [{"rule": "self.count < 10", "message": "too many"}],
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}


def test_a_definition_becomes_a_kind(crd: Callable[..., Any]) -> None:
    (kind,) = served_kinds(
        crd(
            SCHEMA,
            subresources={
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.count",
                    "statusReplicasPath": ".status.count",
                },
            },
            selectableFields=[{"jsonPath": ".spec.mode"}],
            additionalPrinterColumns=[
                {"name": "Count", "type": "integer", "jsonPath": ".spec.count"}
            ],
        )
    )

    assert str(kind.resource) == "Widget.v1.x.dev"
    assert kind.custom
    assert (kind.singular, kind.list_kind) == ("widget", "WidgetList")
    assert (kind.short_names, kind.categories) == (("wd",), ("all",))
    assert kind.subresources == {"status", "scale"}
    assert kind.scale_paths == ("spec.count", "status.count", "")
    assert kind.selectable_fields == ("spec.mode",)
    assert [column.name for column in kind.columns] == ["Name", "Count"]


def test_only_served_versions_are_served(crd: Callable[..., Any]) -> None:
    definition = crd(SCHEMA)
    first = definition["spec"]["versions"][0]
    definition["spec"]["versions"] += [
        {**first, "name": "v2", "storage": False},
        {**first, "name": "v3", "storage": False, "served": False},
    ]

    kinds = served_kinds(definition)

    assert [kind.resource.version for kind in kinds] == ["v1", "v2"]
    assert {kind.storage_version for kind in kinds} == {"v1"}


def test_objects_are_pruned_defaulted_and_checked(crd: Callable[..., Any]) -> None:
    (kind,) = served_kinds(crd(SCHEMA))
    obj = {
        "metadata": {"name": "w", "labels": {}, "nonsense": 1},
        "spec": {"count": 11, "x": 1},
        "y": 2,
    }

    unknown = kind.decode(obj)
    default(obj, kind.schema)
    causes = kind.validate(obj, None)

    assert sorted(unknown) == ["metadata.nonsense", "spec.x", "y"]
    assert obj == {"metadata": {"name": "w"}, "spec": {"count": 11, "mode": "fast"}}
    assert [(c.field, c.message) for c in causes] == [("spec", "Invalid value: too many")]


def test_rules_wait_for_objects_that_fit_the_schema(crd: Callable[..., Any]) -> None:
    (kind,) = served_kinds(crd(SCHEMA))

    causes = kind.validate({"metadata": {"name": "w"}, "spec": {"count": "x"}}, None)

    assert [c.field for c in causes] == ["spec.count", "<nil>"]
    assert "some validation rules were not checked" in causes[1].message


def test_names_are_checked(crd: Callable[..., Any]) -> None:
    (kind,) = served_kinds(crd(SCHEMA))

    causes = kind.validate({"metadata": {"name": "Too-Long"}, "spec": {"count": 1}}, None)

    assert [(c.field, c.reason) for c in causes][:2] == [
        ("metadata.name", "FieldValueInvalid"),
        ("metadata.name", "FieldValueTooLong"),
    ]


def test_metadata_must_be_readable(crd: Callable[..., Any]) -> None:
    (kind,) = served_kinds(crd(SCHEMA))

    with pytest.raises(BadRequest, match="cannot unmarshal number"):
        kind.decode({"metadata": {"labels": {"a": 1}}})
