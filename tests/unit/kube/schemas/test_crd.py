from datetime import datetime
from typing import Annotated, Any, cast

import msgspec
import pytest
from msgspec import Meta, Struct, field

from certwright.kube import (
    Column,
    Condition,
    JsonObject,
    Object,
    Resource,
    Scale,
    SchemaError,
    crd_manifest,
    custom_resource,
    list_map,
    marked,
    rule,
)


class GreetingSpec(Struct):
    """What to say, and how often."""

    text: Annotated[str, Meta(min_length=1, description="The words.")] = "hello"
    count: Annotated[int, Meta(ge=0, le=100)] = 1


class GreetingStatus(Struct, rename="camel"):
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)
    replicas: int = 0
    selector: str = ""
    renewed: datetime | None = None


@custom_resource("demo.certwright.dev", "v1")
class Greeting(Object):
    """Something worth repeating."""

    spec: GreetingSpec = field(default_factory=GreetingSpec)


def declare(**options: Any) -> type[Object]:
    """Declare a kind with a status and the given options."""

    @custom_resource("demo.certwright.dev", "v1", **options)
    class Widget(Object):
        spec: GreetingSpec
        status: GreetingStatus = field(default_factory=GreetingStatus)

    return Widget


def version_of(kind: type[Object]) -> JsonObject:
    (version,) = crd_manifest(kind)["spec"]["versions"]
    found: JsonObject = version
    return found


def test_the_whole_manifest_of_a_small_kind() -> None:
    assert crd_manifest(Greeting) == {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "greetings.demo.certwright.dev"},
        "spec": {
            "group": "demo.certwright.dev",
            "names": {
                "kind": "Greeting",
                "listKind": "GreetingList",
                "plural": "greetings",
                "singular": "greeting",
            },
            "scope": "Namespaced",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "description": "Something worth repeating.",
                            "properties": {
                                "apiVersion": {"type": "string"},
                                "kind": {"type": "string"},
                                "metadata": {"type": "object"},
                                "spec": {
                                    "type": "object",
                                    "description": "What to say, and how often.",
                                    "properties": {
                                        "text": {
                                            "type": "string",
                                            "minLength": 1,
                                            "description": "The words.",
                                            "default": "hello",
                                        },
                                        "count": {
                                            "type": "integer",
                                            "minimum": 0,
                                            "maximum": 100,
                                            "default": 1,
                                        },
                                    },
                                    "default": {"text": "hello", "count": 1},
                                },
                            },
                        }
                    },
                }
            ],
            "conversion": {"strategy": "None"},
        },
    }


def test_the_class_knows_how_it_is_served() -> None:
    assert Greeting.resource == Resource("demo.certwright.dev", "v1", "Greeting", "greetings")
    assert Greeting().spec.count == 1


def test_names_and_scope() -> None:
    kind = declare(
        kind="Policy", scope="Cluster", short_names=["pol", "po"], categories=["all", "demo"]
    )
    spec = crd_manifest(kind)["spec"]
    assert spec["names"] == {
        "kind": "Policy",
        "listKind": "PolicyList",
        "plural": "policies",
        "singular": "policy",
        "shortNames": ["pol", "po"],
        "categories": ["all", "demo"],
    }
    assert spec["scope"] == "Cluster"
    assert kind.resource.namespaced is False


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("Gateway", "gateways"), ("Ingress", "ingresses"), ("Batch", "batches"), ("Box", "boxes")],
)
def test_plurals_are_english(kind: str, plural: str) -> None:
    assert declare(kind=kind).resource.plural == plural
    assert declare(kind=kind, plural="others").resource.plural == "others"


def test_the_definition_carries_labels() -> None:
    metadata = crd_manifest(declare(labels={"b": "2", "a": "1"}))["metadata"]
    assert metadata == {"name": "widgets.demo.certwright.dev", "labels": {"a": "1", "b": "2"}}


def test_status_is_a_subresource_if_there_is_one() -> None:
    assert version_of(declare())["subresources"] == {"status": {}}
    assert "subresources" not in version_of(declare(status=False))
    assert "subresources" not in version_of(Greeting)


def test_nothing_below_status_has_defaults() -> None:
    status = version_of(declare())["schema"]["openAPIV3Schema"]["properties"]["status"]
    assert status["properties"]["replicas"] == {"type": "integer"}
    assert "default" not in status


def test_scale_names_its_numbers() -> None:
    scale = Scale(spec_replicas=".spec.count", selector=".status.selector")
    assert version_of(declare(scale=scale))["subresources"]["scale"] == {
        "specReplicasPath": ".spec.count",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }


@pytest.mark.parametrize(
    "scale",
    [
        Scale(),
        Scale(spec_replicas=".spec.text"),
        Scale(spec_replicas=".status.replicas"),
        Scale(spec_replicas=".spec.count", selector=".metadata.name"),
        Scale(spec_replicas=".spec.count", status_replicas=""),
    ],
)
def test_scale_must_point_to_numbers(scale: Scale) -> None:
    with pytest.raises(SchemaError):
        crd_manifest(declare(scale=scale))


def test_columns_take_their_type_from_the_schema_and_age_comes_last() -> None:
    ready = ".status.conditions[?(@.type=='Ready')].status"
    columns = [
        Column("Count", ".spec.count"),
        Column("Text", ".spec.text", description="The words.", priority=1),
        Column("Ready", ready),
        Column("Renewed", ".status.renewed"),
        Column("Owner", ".metadata.labels.owner"),
    ]
    assert version_of(declare(columns=columns))["additionalPrinterColumns"] == [
        {"name": "Count", "type": "integer", "jsonPath": ".spec.count"},
        {
            "name": "Text",
            "type": "string",
            "jsonPath": ".spec.text",
            "description": "The words.",
            "priority": 1,
        },
        {"name": "Ready", "type": "string", "jsonPath": ready},
        {"name": "Renewed", "type": "date", "jsonPath": ".status.renewed"},
        {"name": "Owner", "type": "string", "jsonPath": ".metadata.labels.owner"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]


def test_age_stays_where_it_was_put() -> None:
    columns = [Column("Age", ".metadata.creationTimestamp"), Column("N", ".spec.count", "number")]
    assert version_of(declare(columns=columns))["additionalPrinterColumns"] == [
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        {"name": "N", "type": "number", "jsonPath": ".spec.count"},
    ]


@pytest.mark.parametrize("path", [".spec.cuont", "spec.count", ".spec.count.x", "."])
def test_columns_must_lead_somewhere(path: str) -> None:
    with pytest.raises(SchemaError) as caught:
        crd_manifest(declare(columns=[Column("N", path)]))
    assert str(caught.value).startswith(f"{path}: ")


def test_selectable_fields() -> None:
    assert len(version_of(declare(selectable=[".spec.text"] * 8))["selectableFields"]) == 8
    kind = declare(selectable=[".spec.text", ".spec.count"])
    assert version_of(kind)["selectableFields"] == [
        {"jsonPath": ".spec.text"},
        {"jsonPath": ".spec.count"},
    ]


@pytest.mark.parametrize("paths", [[".spec"], [".metadata.name"], [".spec.x"], [".spec.text"] * 9])
def test_selectable_fields_are_few_scalars(paths: list[str]) -> None:
    with pytest.raises(SchemaError):
        crd_manifest(declare(selectable=paths))


def test_several_versions_of_which_the_first_is_stored() -> None:
    @custom_resource(
        "demo.certwright.dev", "v1beta1", kind="Widget", served=False, deprecated="use v1"
    )
    class OldWidget(Object):
        spec: GreetingSpec

    @custom_resource("demo.certwright.dev", "v1alpha1", kind="Widget", deprecated=True)
    class OldestWidget(Object):
        spec: GreetingSpec

    versions = crd_manifest(declare(), OldWidget, OldestWidget)["spec"]["versions"]
    for version in versions:
        del version["schema"]
    assert versions == [
        {"name": "v1", "served": True, "storage": True, "subresources": {"status": {}}},
        {
            "name": "v1beta1",
            "served": False,
            "storage": False,
            "deprecated": True,
            "deprecationWarning": "use v1",
        },
        {"name": "v1alpha1", "served": True, "storage": False, "deprecated": True},
    ]


def test_refuses_versions_that_are_not_of_one_kind() -> None:
    with pytest.raises(
        ValueError, match=r"Widget is a version of Widget.v1.demo.certwright.dev, not"
    ):
        crd_manifest(Greeting, declare())
    with pytest.raises(ValueError, match="Widget has a version twice: v1, v1"):
        crd_manifest(declare(), declare())
    with pytest.raises(ValueError, match="Undeclared is not declared with @custom_resource"):
        crd_manifest(cast("type[Object]", msgspec.defstruct("Undeclared", [], bases=(Object,))))


@pytest.mark.parametrize(
    "options",
    [
        {"kind": "My_Kind"},
        {"plural": "Widgets"},
        {"short_names": ["W"]},
        {"categories": ["a b"]},
    ],
)
def test_refuses_names_the_server_would_refuse(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a DNS-1035 label must consist of"):
        declare(**options)


@pytest.mark.parametrize("group", ["", "demo", "Demo.dev", "a..b"])
def test_a_group_is_a_domain(group: str) -> None:
    with pytest.raises(ValueError, match=r"Greeting: the group '.*' is not a domain with a dot"):
        custom_resource(group, "v1")(Greeting)


def test_rules_at_the_root_see_the_whole_object() -> None:

    kind = marked(rule("self.spec.count < 5 || self.metadata.name == 'big'"))(declare())
    assert version_of(kind)["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] == [
        {"rule": "self.spec.count < 5 || self.metadata.name == 'big'"}
    ]


def test_errors_name_the_field_from_the_root() -> None:
    class Bad(Struct):
        wait: dict[str, list[complex]]

    @custom_resource("demo.certwright.dev", "v1")
    class Broken(Object):
        spec: Bad

    with pytest.raises(SchemaError, match=r"^spec\.wait\[\]\[\]: complex has no structural schema"):
        crd_manifest(Broken)
