"""Bundles published: as immutable ConfigMaps, where an operator finds them."""

import sys
from collections.abc import Sequence
from pathlib import Path

from certwright.bundles.configmap import to_config_map
from certwright.bundles.sources import PackedBundle
from certwright.cli.bundle.inputs import explained, packed_bundles
from certwright.cli.connection import connected, require_name
from certwright.cli.errors import UsageError
from certwright.cli.options import Output, Target
from certwright.cli.terminal.output import documents
from certwright.client import Client
from certwright.kube import AlreadyExists, JsonObject, Key, resource_of
from certwright.kube.kinds import ConfigMap

FIELD_MANAGER = "certwright-cli"


def whole_bundles(names: Sequence[str], folder: Path) -> list[PackedBundle]:
    """Return the bundles that were named, each unpacked once to see that it is whole."""
    with explained():
        packed = packed_bundles(names, folder)
        for one in packed:
            one.unpack()
        return packed


def print_config_maps(names: Sequence[str], folder: Path, namespace: str, output: Output) -> int:
    """Print the ConfigMaps instead of creating them."""
    require_name(namespace, "namespace")
    packed = whole_bundles(names, folder)
    print(documents([to_config_map(one.data, namespace) for one in packed], output))
    return 0


async def publish_bundles(
    target: Target, names: Sequence[str], folder: Path, *, dry_run: bool
) -> int:
    """Create the ConfigMaps; those that are there already are left as they are."""
    packed = whole_bundles(names, folder)
    async with connected(target) as session:
        for one in packed:
            obj = to_config_map(one.data, session.namespace)
            done = await _create(session.client, obj, dry_run=dry_run)
            print(f"ConfigMap {session.namespace}/{obj['metadata']['name']} {done}")
    if dry_run:
        print("nothing was created; leave out --dry-run to create them", file=sys.stderr)
    return 0


async def _create(client: Client, obj: JsonObject, *, dry_run: bool) -> str:
    metadata = obj["metadata"]
    try:
        await client.create(obj, field_manager=FIELD_MANAGER, dry_run=dry_run)
    except AlreadyExists:
        key = Key(metadata["namespace"], metadata["name"])
        live = await client.get(resource_of(ConfigMap), key)
        if live.get("binaryData") != obj["binaryData"]:
            raise UsageError(
                f"ConfigMap {key} exists and holds something else; delete it, and publish again"
            ) from None
        return "unchanged"
    return "would be created" if dry_run else "created"
