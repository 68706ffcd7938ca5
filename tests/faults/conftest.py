"""A controller to torture: keeps ``count`` ConfigMaps per Greeting and says so in its status."""

from typing import Any

from certwright.kube import JsonObject, Key, Resource
from certwright.kube.kinds import ConfigMap
from certwright.runtime import DONE, Context, Outcome

Greeting = Resource("demo.certwright.dev", "v1", "Greeting", "greetings")


async def reconcile(ctx: Context, key: Key) -> Outcome:
    greeting = ctx.get(Greeting, key)
    if greeting is None or "deletionTimestamp" in greeting["metadata"]:
        return DONE
    wanted = {f"{key.name}-{n}" for n in range(greeting["spec"]["count"])}
    for name in sorted(wanted):
        await ctx.apply(_config_map(key.namespace, name, greeting), owner=greeting)
    for extra in ctx.owned(ConfigMap, greeting):
        if extra["metadata"]["name"] not in wanted:
            await ctx.delete(extra)
    await ctx.status(
        greeting,
        {"ready": len(wanted), "observedGeneration": greeting["metadata"]["generation"]},
    )
    return DONE


def _config_map(namespace: str, name: str, greeting: JsonObject) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": namespace, "name": name},
        "data": {"text": greeting["spec"].get("text", "hello")},
    }


def _schema() -> JsonObject:
    integer, string = {"type": "integer"}, {"type": "string"}
    spec = {"type": "object", "properties": {"count": integer, "text": string}}
    status = {"type": "object", "properties": {"ready": integer, "observedGeneration": integer}}
    return {"type": "object", "properties": {"spec": spec, "status": status}}


CRD: JsonObject = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "greetings.demo.certwright.dev"},
    "spec": {
        "group": "demo.certwright.dev",
        "scope": "Namespaced",
        "names": {"kind": "Greeting", "plural": "greetings", "singular": "greeting"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": _schema()},
                "subresources": {"status": {}},
            }
        ],
    },
}


def greeting(name: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": "demo.certwright.dev/v1",
        "kind": "Greeting",
        "metadata": {"name": name},
        "spec": spec,
    }
