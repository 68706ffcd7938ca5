from typing import Any

import pytest

from certwright.apiserver.builtins.notation import NotationError, definitions, read
from certwright.apiserver.schema.schema import UNSET, ListType
from certwright.kube import JsonObject

CORE = "io.k8s.api.core.v1"


def shape(*fields: str) -> JsonObject:
    nodes = read(["== x.v1", "Other atomic", "  a string", "T", *(f"  {line}" for line in fields)])
    return nodes["x.v1.T"].properties


def test_fields_may_share_a_line() -> None:
    fields = shape("a, b! string", "c int32? = 3")

    assert fields["a"].type == "string"
    assert fields["b"].type == "string"
    assert (fields["c"].type, fields["c"].format, fields["c"].default) == ("integer", "int32", 3)
    assert fields["c"].optional
    assert fields["a"].default is UNSET


def test_required_fields_are_known_to_their_type() -> None:
    nodes = read(["== x.v1", "T", "  a! string", "  b, c! [T]"])

    assert nodes["x.v1.T"].required == ("a", "c")


@pytest.mark.parametrize(
    ("line", "list_type", "keys", "merge_key", "merged", "retained"),
    [
        ("f [Other]", ListType.ATOMIC, (), "", False, False),
        ("f [Other] by a b", ListType.MAP, ("a", "b"), "a", False, False),
        ("f [Other] by a retain", ListType.MAP, ("a",), "a", False, True),
        ("f [Other] map a", ListType.MAP, ("a",), "", False, False),
        ("f [Other] patch a", ListType.ATOMIC, (), "a", False, False),
        ("f [string] set merged", ListType.SET, (), "", True, False),
    ],
)
def test_lists_say_how_they_are_merged(
    line: str,
    list_type: ListType,
    keys: tuple[Any, ...],
    merge_key: str,
    *,
    merged: bool,
    retained: bool,
) -> None:
    node = shape(line)["f"]

    assert (node.list_type, node.list_keys) == (list_type, keys)
    assert (node.patch_merge_key, node.patch_merge) == (merge_key, merged)
    assert node.patch_retain_keys == retained


def test_a_field_lifts_the_atomicity_of_its_type() -> None:
    fields = shape("a Other", "b Other granular", "c {string} atomic")

    assert fields["a"].atomic_map
    assert not fields["b"].atomic_map
    assert fields["c"].atomic_map


def test_types_may_refer_to_themselves() -> None:
    schema = definitions()[
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
    ]
    below = schema.properties["not"].properties["properties"].additional

    assert below is not None
    assert below.properties is schema.properties


def test_a_name_means_the_type_of_its_own_section_first() -> None:
    shapes = definitions()
    hook = shapes["io.k8s.api.admissionregistration.v1.WebhookClientConfig"]
    pod = shapes["io.k8s.api.apps.v1.DeploymentSpec"].properties["template"]

    assert hook.properties["service"].name == (
        "io.k8s.api.admissionregistration.v1.ServiceReference"
    )
    assert pod.name == f"{CORE}.PodTemplateSpec"


@pytest.mark.parametrize("line", ["a", "a Nothing", "a string sorted"])
def test_a_line_that_makes_no_sense_is_refused(line: str) -> None:
    with pytest.raises(NotationError):
        shape(line)
