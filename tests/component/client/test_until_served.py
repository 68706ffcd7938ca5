"""Waiting for a kind that has just been defined."""

import pytest

from certwright.client import until_served
from certwright.kube import GroupVersionKind, JsonObject
from certwright.testkit import Cluster, EmbeddedCluster


def definition(version: str = "v1") -> JsonObject:
    schema = {"openAPIV3Schema": {"type": "object"}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "toys.serving.example.com"},
        "spec": {
            "group": "serving.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Toy", "plural": "toys", "singular": "toy", "listKind": "ToyList"},
            "versions": [
                {"name": version, "served": True, "storage": True, "schema": schema},
                {"name": "v0", "served": False, "storage": False, "schema": schema},
            ],
        },
    }


async def test_a_kind_is_served_when_lists_and_discovery_know_it(
    cluster: Cluster,
) -> None:
    await cluster.client.apply(definition())
    await until_served(cluster.client, definition())
    found = cluster.client.discovery.known(GroupVersionKind("serving.example.com", "v1", "Toy"))
    assert found is not None
    assert found.plural == "toys"


async def test_a_kind_that_is_never_served_is_not_waited_for_in_vain(
    embedded_cluster: EmbeddedCluster,
) -> None:
    with pytest.raises(TimeoutError):
        await until_served(embedded_cluster.client, definition("v2"), seconds=3)
