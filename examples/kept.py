"""Packages, kept: the ConfigMaps a Package lists exist as it says, and go with it."""

from collections.abc import Iterator

from msgspec import Struct, field

from certwright.keep import Installer
from certwright.kube import JsonObject, Key, Object, custom_resource
from certwright.kube.kinds import ConfigMap
from certwright.runtime import (
    DONE,
    Context,
    Controller,
    Operator,
    OperatorHost,
    Outcome,
    Part,
    allow,
)


class PackageSpec(Struct, rename="camel"):
    config_maps: dict[str, dict[str, str]] = {}


class PackageStatus(Struct):
    inventory: list[str] = []


@custom_resource("demo.certwright.dev", "v1")
class Package(Object):
    """ConfigMaps by name, kept as written against whoever changes or deletes them."""

    spec: PackageSpec = field(default_factory=PackageSpec)
    status: PackageStatus = field(default_factory=PackageStatus)


def config_map(namespace: str, name: str, data: dict[str, str]) -> JsonObject:
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def build(host: OperatorHost) -> Iterator[Part]:
    installer = Installer(host, "packages", domain="demo.certwright.dev")

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        package = ctx.get(Package, key)
        if package is None or installer.is_settled(key):
            return DONE
        listed = package.status.inventory
        if package.metadata.deletion_timestamp is not None:
            return await installer.uninstall(ctx, package, listed)
        objects = [config_map(key.namespace, *one) for one in package.spec.config_maps.items()]
        changes = await installer.install(ctx, package, listed, objects)
        return installer.outcome(key, changes)

    yield installer.cache
    rules = [allow(ConfigMap, "get", "list", "watch", "create", "update", "delete")]
    yield Controller(Package, reconcile, channels=[installer.channel], rbac=rules)


operator = Operator("packages", build, kinds=[Package])
