"""Specs of both forms, read and checked."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from msgspec import convert
from tests.support.envoy.resources import (
    cluster,
    eds_cluster,
    listener,
    load_assignment,
    rds,
    routes,
    upstream_tls,
)
from tests.support.envoy.smallschema import small_schema

from certwright.api.envoyconfigs import EnvoyConfigSpec
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.config.assembly import CheckedConfig, check
from certwright.operators.discoveryservice.config.content import read_content
from certwright.xds import typeurls
from certwright.xds.schema.errors import ResourceRefused


def checked(**fields: Any) -> CheckedConfig:
    spec = convert({"nodeID": "n", **fields}, EnvoyConfigSpec)
    return check(small_schema(), read_content(spec, "ns"))


def problems(**fields: Any) -> dict[str, str]:
    with pytest.raises(ResourceRefused) as refused:
        checked(**fields)
    return {one.path: one.problem for one in refused.value.problems}


def values(**lists: list[JsonObject]) -> dict[str, list[dict[str, str]]]:
    return {name: [{"value": json.dumps(one)} for one in found] for name, found in lists.items()}


def resource(kind: str, value: JsonObject) -> JsonObject:
    return {"type": kind, "value": value}


WHOLE = [
    resource("listener", listener("l", 80, rds=rds("r"))),
    resource("route", routes("r", "a", "b")),
    resource("cluster", eds_cluster("a", transport_socket=upstream_tls("web"))),
    resource("cluster", cluster("b")),
    resource("runtime", {"name": "runtime", "layer": {"a": 1}}),
    {"type": "secret", "generateFromTlsSecret": "web"},
    {"type": "secret", "generateFromTlsSecret": "ca", "blueprint": "validationContext"},
    {"type": "secret", "generateFromOpaqueSecret": {"name": "p", "key": "k", "alias": "pass"}},
    {
        "type": "endpoint",
        "generateFromEndpointSlices": {
            "selector": {"matchLabels": {"app": "a"}},
            "clusterName": "a",
            "targetPort": "http",
        },
    },
]


def test_the_list_of_resources_is_read() -> None:
    made = checked(resources=WHOLE)
    assert [(one.type_url, one.name) for one in made.resources] == [
        (typeurls.LISTENER, "l"),
        (typeurls.ROUTES, "r"),
        (typeurls.CLUSTER, "a"),
        (typeurls.CLUSTER, "b"),
        (typeurls.RUNTIME, "runtime"),
    ]
    assert [(one.resource, one.secret, one.key) for one in made.content.secrets] == [
        ("web", "web", ""),
        ("ca", "ca", ""),
        ("pass", "p", "k"),
    ]
    assert made.content.secrets[1].validation
    assert [one.cluster for one in made.content.endpoints] == ["a"]


LISTS = {
    "clusters": [cluster("a")],
    "listeners": [listener("l", 80, rds=rds("r"))],
    "routes": [routes("r", "a")],
    "endpoints": [load_assignment("e")],
    "runtime": [{"name": "one"}],
    "runtimes": [{"name": "two"}],
    "scopedRoutes": [{"name": "s", "route_configuration_name": "r"}],
}


def test_lists_by_type_are_read_in_every_serialization() -> None:
    writers: dict[str, Callable[[Any], str]] = {
        "json": json.dumps,
        "yaml": yaml.safe_dump,
        "b64json": lambda value: base64.b64encode(json.dumps(value).encode()).decode(),
    }
    found = []
    for serialization, write in writers.items():
        lists = {name: [{"value": write(one)} for one in some] for name, some in LISTS.items()}
        made = checked(envoyResources=lists, serialization=serialization)
        found.append([(one.type_url, one.name, one.body) for one in made.resources])
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 8


def test_the_name_inside_the_value_counts() -> None:
    named = {"clusters": [{"name": "outside", "value": json.dumps(cluster("inside"))}]}
    assert next(one.name for one in checked(envoyResources=named).resources) == "inside"


def test_an_empty_runtime_layer_is_there_unless_one_is_declared() -> None:
    """The bootstrap asks for it, and an Envoy that starts would wait for it."""

    def runtimes(*resources: JsonObject) -> list[str]:
        made = checked(resources=list(resources)).resources
        return [one.name for one in made if one.type_url == typeurls.RUNTIME]

    assert runtimes() == ["runtime"]
    assert runtimes(resource("runtime", {"name": "other"})) == ["other", "runtime"]
    assert runtimes(resource("runtime", {"name": "runtime", "layer": {"a": 1}})) == ["runtime"]


def test_secrets_of_lists_are_of_the_own_namespace() -> None:
    def refer(**ref: str) -> dict[str, Any]:
        return {"secrets": [{"name": "web", "ref": ref}]}

    assert checked(envoyResources={"secrets": [{"name": "web"}]}).content.secrets[0].secret == "web"
    for namespace in ({}, {"namespace": ""}, {"namespace": "ns"}):
        made = checked(envoyResources=refer(name="s", **namespace))
        assert made.content.secrets[0].secret == "s"
    assert problems(envoyResources=refer(name="s", namespace="other")) == {
        "spec.envoyResources.secrets[0].ref.namespace": "a Secret of another namespace cannot be read; copy it here"
    }


@pytest.mark.parametrize(
    ("serialization", "text", "problem"),
    [
        ("json", "{", "is not valid JSON"),
        ("json", "[]", "must be an object"),
        ("b64json", "e30", "is not base64 of valid JSON"),
        ("b64json", "e3t7", "is not base64 of valid JSON"),
        ("yaml", "a: [", "is not valid YAML"),
        ("yaml", "- a", "must be an object"),
        ("json", " " * (2 << 20) + "{}", "is larger than 2 MiB"),
        ("json", "[" * 100_000, "is not valid JSON"),
    ],
)
def test_texts_that_cannot_be_read_are_named(serialization: str, text: str, problem: str) -> None:
    found = problems(envoyResources={"clusters": [{"value": text}]}, serialization=serialization)
    assert found.keys() == {"spec.envoyResources.clusters[0].value"}
    assert next(iter(found.values())).startswith(problem)


def test_aliases_of_yaml_are_not_unfolded_without_bound() -> None:
    bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(12)
    )
    found = problems(envoyResources={"clusters": [{"value": bomb}]}, serialization="yaml")
    assert "is not valid YAML" in found["spec.envoyResources.clusters[0].value"]


def test_all_together_are_bounded() -> None:
    large = resource("runtime", {"name": "r", "layer": {"a": "x" * 600_000}})
    assert problems(resources=[large] * 4) == {"spec": "is larger than 2 MiB"}


@pytest.mark.parametrize(
    ("resources", "path", "problem"),
    [
        ([resource("cluster", cluster("a", lb="x"))], "spec.resources[0].value.lb", "envoy.config.cluster.v3.Cluster has no such field"),
        ([resource("cluster", cluster("a", connect_timeout="0s"))], "spec.resources[0].value.connect_timeout", "must be greater than 0s"),
        ([resource("listener", listener("l", 80, rds=rds("gone")))], "spec.resources[0].value.filter_chains[0].filters[0].typed_config.rds.route_config_name", "there is no route 'gone'"),
        ([resource("cluster", cluster("a"))] * 2, "spec.resources[1].value", "is a second cluster 'a', beside spec.resources[0].value"),
        ([resource("listener", {"address": listener("", 80)["address"]})], "spec.resources[0].value.name", "must not be empty"),
        ([resource("secret", {"name": "x"})], "spec.resources[0].value", "keys belong into Secrets; use generateFromTlsSecret"),
        ([{"type": "cluster", "generateFromTlsSecret": "s"}], "spec.resources[0].generateFromTlsSecret", "is for resources of type secret only"),
        ([resource("cluster", cluster("a")) | {"blueprint": "tlsCertificate"}], "spec.resources[0].value", "blueprint is for generateFromTlsSecret only"),
        ([{"type": "cluster"}], "spec.resources[0]", "exactly one of value, generateFromTlsSecret, generateFromOpaqueSecret, generateFromEndpointSlices has to be set"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_its_path(
    resources: list[JsonObject], path: str, problem: str
) -> None:
    assert problems(resources=resources) == {path: problem}


def test_an_invalid_selector_is_named() -> None:
    slices = {"selector": {"matchLabels": {"a b": "c"}}, "clusterName": "a", "targetPort": "p"}
    found = problems(resources=[{"type": "endpoint", "generateFromEndpointSlices": slices}])
    assert list(found) == ["spec.resources[0].generateFromEndpointSlices.selector"]


def test_exactly_one_form_of_the_third_api_is_served() -> None:
    assert problems() == {"spec": "exactly one of envoyResources and resources has to be set"}
    both = problems(resources=[], envoyResources={})
    assert both == {"spec": "exactly one of envoyResources and resources has to be set"}
    old = problems(resources=[], envoyAPI="v2")
    assert old == {"spec.envoyAPI": "v2 is not served; Envoy no longer knows it"}


def test_clusters_of_the_bootstrap_may_be_named() -> None:
    assert checked(resources=[resource("route", routes("r", "xds_cluster"))]).resources
