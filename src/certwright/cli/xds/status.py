"""Which versions are wanted, served and held, as the statuses of EnvoyConfigs tell."""

import sys
from collections.abc import Sequence
from typing import Final

from certwright.api.envoyconfigs import EnvoyConfig
from certwright.cli.connection import connected
from certwright.cli.errors import UsageError
from certwright.cli.options import Output, Target
from certwright.cli.terminal.output import document, fitted, shortened, table, terminal_width
from certwright.kube import JsonObject, NotFound
from certwright.kube.text import printable

_HEADS: Final = ("NODE", "WANTED", "SERVED", "STATE", "ENVOYS", "IN SYNC", "PROBLEM")
_NOT_READ: Final = (
    "no discovery service has read it yet; is one running that has the schema of an Envoy"
    " (certwright ds status)?"
)
_LONGEST_NODE: Final = 60
"""How much of a node-id a table shows, so that there is room for the rest of the line."""


async def show_status(target: Target, node: str, output: Output, *, all_namespaces: bool) -> int:
    """Print what the Envoys of a namespace run; return 1 if one runs something else than wanted."""
    async with connected(target) as session:
        namespace = "" if all_namespaces else session.namespace
        try:
            found = await session.client.list(EnvoyConfig, namespace)
        except NotFound:
            raise UsageError("this cluster does not serve EnvoyConfigs") from None
    configs = [one for one in found.items if not node or one.spec.node_id == node]
    if node and not configs:
        raise UsageError(f"there is no EnvoyConfig of node-id {node}; -A looks in all namespaces")
    if output is not Output.TABLE:
        print(document([summary(one) for one in configs], output))
    elif configs:
        print(fitted(status_table(configs, namespaces=all_namespaces), terminal_width()))
    else:
        print("there are no EnvoyConfigs here; -A looks in all namespaces", file=sys.stderr)
    return 0 if all(is_in_sync(one) for one in configs) else 1


def is_in_sync(config: EnvoyConfig) -> bool:
    """Return whether what the spec says is served, and all Envoys that are connected run it."""
    status = config.status
    return (
        status.cache_state == "InSync"
        and status.observed_generation >= config.metadata.generation
        and all(one.version == status.desired_version for one in status.envoys if one.envoys)
    )


def summary(config: EnvoyConfig) -> JsonObject:
    """Return what is known of a node, for programs."""
    status = config.status
    return {
        "namespace": config.metadata.namespace,
        "name": config.metadata.name,
        "nodeID": config.spec.node_id,
        "wanted": status.desired_version,
        "served": status.published_version,
        "state": status.cache_state or "",
        "inSync": is_in_sync(config),
        "envoys": {one.version: one.envoys for one in status.envoys},
        "rejections": [
            {
                "envoy": one.envoy,
                "type": one.type,
                "version": one.version,
                "message": one.message,
                "at": one.at.isoformat() if one.at else "",
            }
            for one in status.rejections
        ],
        "problems": problems(config),
    }


def problems(config: EnvoyConfig) -> list[str]:
    """Return what is wrong, in the words of the conditions; rejections of what is wanted last."""
    status = config.status
    if not status.cache_state or status.observed_generation < config.metadata.generation:
        return [_NOT_READ]
    bad = {"CacheOutOfSync": "True", "ResourcesInSync": "False"}
    found = [one.message for one in status.conditions if bad.get(one.type) == one.status]
    found += [
        f"Envoy {one.envoy} rejected {one.type}: {one.message}"
        for one in status.rejections
        if one.version == status.desired_version
    ]
    return found


def status_table(configs: Sequence[EnvoyConfig], *, namespaces: bool) -> str:
    """Return a line for each node, those with problems first."""
    rows = []
    for one in sorted(configs, key=lambda one: (is_in_sync(one), one.spec.node_id)):
        status = one.status
        running = sum(held.envoys for held in status.envoys)
        fine = sum(held.envoys for held in status.envoys if held.version == status.desired_version)
        place = f"{one.metadata.namespace}/{one.spec.node_id}" if namespaces else one.spec.node_id
        rows.append((
            shortened(printable(place), _LONGEST_NODE), status.desired_version,
            status.published_version, status.cache_state or "", str(running),
            str(fine), next(iter(problems(one)), ""),
        ))  # fmt: skip
    return table(_HEADS, rows)
