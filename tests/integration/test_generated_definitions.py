"""Definitions made from Python types: servers take them and give them back unchanged."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct, field

from certwright.kube import (
    Column,
    Condition,
    DurationText,
    IntOrString,
    Invalid,
    Key,
    Object,
    ObjectMeta,
    QuantityValue,
    Scale,
    atomic,
    crd_manifest,
    custom_resource,
    embedded_resource,
    list_map,
    list_set,
    marked,
    preserve_unknown,
    rule,
)
from certwright.kube.kinds import CustomResourceDefinition
from certwright.testkit import Cluster
from greeting import Greeting


class Color(StrEnum):
    RED = "Red"
    GREEN = "Green"


class Part(Struct, rename="camel"):
    """A piece of the whole."""

    name: Annotated[str, Meta(min_length=1, max_length=63)]
    port: IntOrString = 80
    weight: Annotated[float, Meta(gt=0, lt=10)] | None = None


@marked(rule("self.low <= self.high", message="low must not be above high"))
class Range(Struct):
    low: Annotated[int, Meta(ge=0)] = 0
    high: Annotated[int, Meta(le=100)] = 10


class EverythingSpec(Struct, rename="camel"):
    """All there is to say."""

    color: Color = Color.RED
    mode: Literal["Fast", "Slow"] = "Fast"
    pattern: Annotated[str, Meta(pattern="^[a-z]+$", description="Small letters.")] = "abc"
    never_changes: Annotated[str, rule("self == oldSelf", message="is immutable")] = "x"
    every: Annotated[int, Meta(multiple_of=5)] = 5
    parts: Annotated[list[Part], list_map("name"), Meta(max_length=8)] = field(default_factory=list)
    tags: Annotated[list[str], list_set()] = field(default_factory=list)
    steps: Annotated[list[str], atomic()] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    whole: Annotated[dict[str, str], atomic()] = field(default_factory=dict)
    free: Annotated[dict[str, Any], preserve_unknown()] = field(default_factory=dict)
    template: Annotated[dict[str, Any], embedded_resource()] | None = None
    memory: QuantityValue = "1Gi"
    timeout: DurationText = "30s"
    not_before: datetime | None = None
    range: Range = field(default_factory=Range)
    replicas: int = 1


class EverythingStatus(Struct, rename="camel"):
    conditions: Annotated[list[Condition], list_map("type")] = field(default_factory=list)
    replicas: int = 0
    selector: str = ""


@custom_resource(
    "everything.certwright.dev",
    "v1",
    plural="everythings",
    short_names=["ev"],
    categories=["certwright"],
    columns=[
        Column("Color", ".spec.color", description="Its color."),
        Column("Replicas", ".status.replicas", "integer", priority=1),
        Column("Since", ".spec.notBefore", "date"),
    ],
    scale=Scale(".spec.replicas", ".status.replicas", ".status.selector"),
    selectable=[".spec.color"],
)
class Everything(Object):
    """A kind that uses whatever a definition can say."""

    spec: EverythingSpec = field(default_factory=EverythingSpec)
    status: EverythingStatus = field(default_factory=EverythingStatus)


@custom_resource(
    "everything.certwright.dev",
    "v1beta1",
    kind="Everything",
    plural="everythings",
    short_names=["ev"],
    categories=["certwright"],
    deprecated="everything.certwright.dev/v1beta1 is old; use v1",
)
class OldEverything(Object):
    """The same, before it was complete."""

    spec: EverythingSpec = field(default_factory=EverythingSpec)
    status: EverythingStatus = field(default_factory=EverythingStatus)


@pytest.mark.parametrize("kinds", [(Greeting,), (Everything,), (Everything, OldEverything)])
async def test_a_definition_comes_back_unchanged(
    cluster: Cluster, kinds: tuple[type[Object], ...]
) -> None:
    manifest = crd_manifest(*kinds)
    await cluster.install(manifest)
    key = Key("", manifest["metadata"]["name"])
    live = await cluster.client.get(CustomResourceDefinition, key)
    assert live["spec"] == manifest["spec"]
    before = live["metadata"]["resourceVersion"]
    again = await cluster.client.apply(manifest, field_manager="test")
    assert again["metadata"]["resourceVersion"] == before, "applying it again changes nothing"


async def test_the_server_fills_in_what_the_type_would(cluster: Cluster) -> None:
    await cluster.install(crd_manifest(Everything))
    bare = {
        "apiVersion": Everything.resource.api_version,
        "kind": "Everything",
        "metadata": {"name": "bare"},
        "spec": {},
    }
    await cluster.create(bare)
    found = await cluster.get(Everything, "bare")
    assert found.spec == EverythingSpec()


async def test_an_object_comes_back_as_it_was(cluster: Cluster) -> None:
    spec = EverythingSpec(
        color=Color.GREEN,
        mode="Slow",
        parts=[Part("a", "http", 1.5), Part("b")],
        tags=["x", "y"],
        steps=["1", "1"],
        labels={"a": "b"},
        whole={"c": "d"},
        free={"any": [1, {"thing": None}], "at": "all"},
        template={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {}},
        memory=5,
        timeout="1h30m",
        range=Range(1, 2),
    )
    await cluster.create(Everything(metadata=ObjectMeta(name="full"), spec=spec))
    found = await cluster.get(Everything, "full")
    assert msgspec.to_builtins(found.spec) == msgspec.to_builtins(spec)


WRONG: tuple[tuple[dict[str, Any], str], ...] = (
    ({"color": "Blue"}, 'Unsupported value: "Blue"'),
    ({"pattern": "ABC"}, "should match '^[a-z]+$'"),
    ({"every": 7}, "should be a multiple of 5"),
    ({"range": {"low": 20, "high": 10}}, "low must not be above high"),
    ({"parts": [{"name": "a"}, {"name": "a"}]}, "Duplicate value"),
    ({"tags": ["a", "a"]}, "Duplicate value"),
    ({"parts": [{"name": ""}]}, "should be at least 1 chars long"),
    ({"memory": "much"}, "should match"),
    ({"timeout": "soon"}, "should match"),
    ({"template": {"data": {}}}, "apiVersion"),
)


async def test_what_the_type_forbids_is_refused(cluster: Cluster) -> None:
    await cluster.install(crd_manifest(Everything))
    head = {"apiVersion": Everything.resource.api_version, "kind": "Everything"}
    for wrong, complaint in WRONG:
        with pytest.raises(Invalid) as refusal:
            await cluster.create({**head, "metadata": {"name": "bad"}, "spec": wrong})
        assert complaint in str(refusal.value), wrong
