"""Greetings, kept: each Greeting owns `count` ConfigMaps that say its text."""

from typing import Annotated

from msgspec import Meta, Struct, field

from certwright.kube import Column, JsonObject, Key, Object, custom_resource
from certwright.kube.kinds import ConfigMap
from certwright.runtime import DONE, Context, Controller, Outcome


class GreetingSpec(Struct):
    count: Annotated[int, Meta(ge=0, le=100)] = 1
    text: str = "hello"


class GreetingStatus(Struct):
    kept: int = 0


@custom_resource("demo.certwright.dev", "v1", columns=[Column("Kept", ".status.kept", "integer")])
class Greeting(Object):
    """A text, kept in as many copies as you like."""

    spec: GreetingSpec = field(default_factory=GreetingSpec)
    status: GreetingStatus = field(default_factory=GreetingStatus)


def render(greeting: Greeting, name: str) -> JsonObject:
    namespace, labels = greeting.metadata.namespace, {"greeting": greeting.metadata.name}
    metadata = {"namespace": namespace, "name": name, "labels": labels}
    data = {"text": greeting.spec.text}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def reconcile(ctx: Context, key: Key) -> Outcome:
    greeting = ctx.get(Greeting, key)  # from the store, never the API
    if greeting is None:
        return DONE  # owner references clean up
    names = [f"{key.name}-{number}" for number in range(greeting.spec.count)]
    for name in names:
        await ctx.apply(render(greeting, name), owner=greeting)  # no call when nothing differs
    for config_map in ctx.owned(ConfigMap, greeting):
        if config_map["metadata"]["name"] not in names:
            await ctx.delete(config_map)
    await ctx.status(greeting, GreetingStatus(kept=len(names)))  # nor here
    return DONE


controller = Controller(Greeting, reconcile, owns=[ConfigMap])
