"""What a definition may not say."""

from collections.abc import Callable
from typing import Any

import pytest

from certwright.apiserver.crds.rules import validate
from certwright.kube import JsonObject

ROOT = "spec.validation.openAPIV3Schema"
TEXT = {"type": "string"}


def spec(**node: Any) -> JsonObject:
    return {"type": "object", "properties": {"spec": node}}


SCHEMAS = [
    ({}, f"{ROOT}.type", "Required value: must not be empty at the root"),
    ({"type": "string"}, f"{ROOT}.type", 'Invalid value: "string": must be object at the root'),
    (spec(), f"{ROOT}.properties[spec].type", "Required value: must not be empty for specified object fields"),
    (spec(type="array"), f"{ROOT}.properties[spec].items", "Required value: must be specified"),
    (spec(type="foo"), f"{ROOT}.properties[spec].type", 'Unsupported value: "foo": supported values: "array", "boolean", "integer", "number", "object", "string"'),
    (spec(type="string", pattern="("), f"{ROOT}.properties[spec].pattern", 'Invalid value: "(": must be a valid regular expression'),
    (spec(type="string", default=5), f"{ROOT}.properties[spec].default", 'Invalid value: "integer":  in body must be of type string: "integer"'),
    (spec(type="object", properties={"a": TEXT}, default={"b": 1}), f"{ROOT}.properties[spec].default", 'Invalid value: {"b":1}: must not have unknown fields'),
    (spec(type="object", anyOf=[{"type": "object"}]), f"{ROOT}.properties[spec].anyOf[0].type", "Forbidden: must be empty to be structural"),
    (spec(type="object", properties={"a": TEXT}, additionalProperties=TEXT), f"{ROOT}.properties[spec].additionalProperties", "Forbidden: additionalProperties and properties are mutual exclusive"),
    (spec(type="array", items=TEXT, uniqueItems=True), f"{ROOT}.properties[spec].uniqueItems", "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"),
    (spec(type="array", items={"type": "object", "properties": {"k": TEXT}}, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}), f"{ROOT}.properties[spec].items.properties[k].default", "Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"),
    (spec(type="array", items=TEXT, **{"x-kubernetes-list-type": "map"}), f"{ROOT}.properties[spec].x-kubernetes-list-map-keys", "Required value: must not be empty if x-kubernetes-list-type is map"),
    (spec(type="string", **{"x-kubernetes-map-type": "atomic"}), f"{ROOT}.properties[spec].type", 'Invalid value: "string": must be object if x-kubernetes-map-type is specified'),
    (spec(type="object", **{"x-kubernetes-validations": [{"rule": "self.x"}]}, properties={"a": TEXT}), f"{ROOT}.properties[spec].x-kubernetes-validations[0].rule", 'Invalid value: {"Rule":"self.x"'),
    (spec(type="string", **{"$ref": "#/x"}), f"{ROOT}.properties[spec].$ref", "Forbidden: $ref is not supported"),
    ({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}, f"{ROOT}.properties[metadata]", "Forbidden: must not specify anything other than name and generateName"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "field", "message"), SCHEMAS)
def test_schemas(crd: Callable[..., Any], schema: JsonObject, field: str, message: str) -> None:
    causes = validate(crd(schema), None)

    assert any(c.field == field and c.message.startswith(message) for c in causes), causes


@pytest.mark.parametrize(
    ("part", "value", "field", "message"),
    [
        ("additionalPrinterColumns", [{"name": "x", "type": "foo", "jsonPath": ".a"}], "spec.additionalPrinterColumns[0].type", 'Invalid value: "foo": must be one of boolean,date,integer,number,string'),
        ("subresources", {"scale": {"specReplicasPath": ".foo", "statusReplicasPath": ".status.n"}}, "spec.subresources.scale.specReplicasPath", 'Invalid value: ".foo": should be a json path under .spec'),
        ("selectableFields", [{"jsonPath": ".spec.x"}], "spec.selectableFields[0].jsonPath", 'Invalid value: ".spec.x": is an invalid path: does not refer to a valid field'),
        ("selectableFields", [{"jsonPath": ".spec"}] * 2, "spec.selectableFields[1].jsonPath", 'Duplicate value: ".spec"'),
        ("name", "V1", "spec.versions[0].name", 'Invalid value: "V1": a DNS-1035 label'),
        ("storage", False, "spec.versions", "Invalid value: [{"),
    ],
)  # fmt: skip
def test_versions(crd: Callable[..., Any], part: str, value: Any, field: str, message: str) -> None:
    causes = validate(crd(spec(**TEXT), **{part: value}), None)

    assert any(c.field == field and c.message.startswith(message) for c in causes), causes


def test_parts_that_differ_between_versions_are_named_with_their_version(
    crd: Callable[..., Any],
) -> None:
    definition = crd(spec(**TEXT))
    other = {**definition["spec"]["versions"][0], "name": "v2", "storage": False}
    other["schema"] = {"openAPIV3Schema": spec()}
    definition["spec"]["versions"].append(other)

    (cause,) = validate(definition, None)

    assert cause.field == "spec.versions[1].schema.openAPIV3Schema.properties[spec].type"


def test_the_name_is_made_of_plural_and_group(crd: Callable[..., Any]) -> None:
    definition = crd(spec(**TEXT))
    definition["metadata"]["name"] = "other"

    (cause,) = validate(definition, None)

    assert cause.message == 'Invalid value: "other": must be spec.names.plural+"."+spec.group'


def test_an_established_kind_keeps_its_names(crd: Callable[..., Any]) -> None:
    old = crd(spec(**TEXT))
    old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    new = crd(spec(**TEXT))
    new["spec"]["names"]["kind"] = "Gadget"

    assert [(c.field, c.message) for c in validate(new, old)] == [
        ("spec.names.kind", 'Invalid value: "Gadget": field is immutable')
    ]


def test_stored_versions_must_stay(crd: Callable[..., Any]) -> None:
    definition = crd(spec(**TEXT))
    definition["status"]["storedVersions"] = ["v1alpha1", "v1"]

    (cause,) = validate(definition, None)

    assert cause.field == "status.storedVersions[0]"
    assert cause.message.startswith('Invalid value: "v1alpha1": missing from spec.versions')


def test_a_definition_may_use_everything_there_is(crd: Callable[..., Any]) -> None:
    schema = spec(
        type="object",
        required=["count"],
        properties={
            "count": {"type": "integer", "minimum": 1, "default": 1},
            "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
            "free": {"x-kubernetes-preserve-unknown-fields": True},
            "pod": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
            "list": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        },
        **{"x-kubernetes-validations": [{"rule": "self.count < 5 || self == oldSelf"}]},
    )  # fmt: skip
    columns = [{"name": "Count", "type": "integer", "jsonPath": ".spec.count"}]

    assert validate(crd(schema, additionalPrinterColumns=columns), None) == []
