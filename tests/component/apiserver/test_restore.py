"""A server that goes on where another one ended."""

from typing import Any

from certwright.apiserver import ApiServer
from certwright.client import Client
from certwright.kube import Key, Resource
from certwright.kube.kinds import ConfigMap, CustomResourceDefinition, Secret
from certwright.testkit.builders import config_map, namespace, secret

WIDGET = Resource("example.com", "v1", "Widget", "widgets", namespaced=True)
DEFINITION: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {}}},
                    }
                },
            }
        ],
    },
}


def placed(obj: dict[str, Any], where: str = "team") -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "namespace": where}}


async def test_objects_are_as_they_were() -> None:
    first = ApiServer(namespace_defaults=True)
    async with Client(first.transport()) as client:
        await client.create(namespace("team"))
        owner = await client.create(placed(config_map("owner", {"a": "1"})))
        await client.create(placed(secret("token", {"key": "value"})))
        reference = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "owner",
            "uid": owner["metadata"]["uid"],
        }
        await client.create(placed(config_map("a-child", ownerReferences=[reference])))
        await client.create(DEFINITION)
        widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
        await client.create(placed(widget))
    second = ApiServer(namespace_defaults=True)
    before = int(first.resource_version)
    second.restore(list(first.objects()), before)
    async with Client(second.transport()) as client:
        found = await client.get(ConfigMap, Key("team", "owner"))
        assert found["metadata"]["uid"] == owner["metadata"]["uid"]
        assert int(found["metadata"]["resourceVersion"]) > before
        assert found["data"] == {"a": "1"}
        assert await client.get(Secret, Key("team", "token"))
        assert await client.get(WIDGET, Key("team", "w"))
        assert await client.get(CustomResourceDefinition, Key("", "widgets.example.com"))
        await client.delete(ConfigMap, Key("team", "owner"))
        left = {each["metadata"]["name"] for each in (await client.list(ConfigMap, "team")).items}
        assert left == {"kube-root-ca.crt"}, "the child went with its owner"


def test_objects_of_unknown_kinds_are_dropped() -> None:
    server = ApiServer()
    odd = {"apiVersion": "nowhere.example/v1", "kind": "Odd", "metadata": {"name": "x"}}
    server.restore([odd])
    assert "Odd" not in {obj["kind"] for obj in server.objects()}
