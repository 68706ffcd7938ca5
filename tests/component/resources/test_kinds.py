"""Kinds that come along, come late, or go."""

import pytest

from certwright.kube import Resource
from certwright.kube.kinds import ConfigMap, CustomResourceDefinition
from certwright.testkit.builders import config_map


class Toys:
    """A custom kind whose group is the test's own: definitions are cluster-wide."""

    def __init__(self, namespace):
        self.group = f"{namespace}.certwright.dev"
        self.resource = Resource(self.group, "v1", "Toy", "toys")
        self.name = f"toys.{self.group}"

    def definition(self):
        names = {"kind": "Toy", "plural": "toys", "singular": "toy", "listKind": "ToyList"}
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": anything},
            "subresources": {"status": {}},
        }
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name},
            "spec": {
                "group": self.group,
                "names": names,
                "scope": "Namespaced",
                "versions": [version],
            },
        }

    def toy(self, name, **spec):
        return {
            "apiVersion": f"{self.group}/v1",
            "kind": "Toy",
            "metadata": {"name": name},
            "spec": spec,
        }


@pytest.fixture
def toys(keeping):
    return Toys(keeping.namespace)


@pytest.mark.scenario("MR-46")
async def test_a_definition_and_its_objects_come_together(keeping, toys, healthy):
    await keeping.declare("web", toys.toy("bear"), toys.definition(), config_map("a"))
    calls = await keeping.settle()
    assert await keeping.conditions("web") == healthy
    assert await keeping.exists(toys.resource, "bear") == {"bear"}
    assert calls.writes == 5


@pytest.mark.scenario("MR-47")
async def test_an_unknown_kind_is_named_and_awaited(keeping, toys, healthy):
    await keeping.declare("web", toys.toy("bear"), config_map("a"))
    await keeping.settle()
    assert (await keeping.conditions("web"))["Applied"] == "False/ApplyFailed"
    assert f"{toys.group}/v1/Toy/{keeping.namespace}/bear" in await keeping.message("web")
    assert await keeping.exists(ConfigMap, "a") == {"a"}
    await keeping.cluster.install(toys.definition())
    await keeping.until_healthy("web")
    assert await keeping.conditions("web") == healthy


@pytest.mark.scenario("MR-66")
async def test_objects_go_before_their_definition(keeping, toys):
    await keeping.declare("web", toys.toy("bear"), toys.definition())
    await keeping.settle()
    await keeping.cluster.delete(keeping.kind, "web")
    calls = await keeping.settle()
    deleted = [request.resource.kind for request in calls if request.verb == "delete"]
    assert deleted == ["Toy", "CustomResourceDefinition"]
    await keeping.cluster.gone(CustomResourceDefinition, toys.name)
    await keeping.cluster.gone(keeping.kind, "web")
