"""``certwright inventory list`` and ``show``."""

import sys

from certwright.apply import Direct
from certwright.apply.objectset.inventory import LABEL
from certwright.apply.ordering import order_key
from certwright.cli.apply.inventory import nothing_listed, open_inventory
from certwright.cli.connection import connected
from certwright.cli.errors import UsageError
from certwright.cli.inventory.summary import summaries, summary_table
from certwright.cli.options import Output, Target
from certwright.cli.terminal.output import document, fitted, table, terminal_width
from certwright.clock import SYSTEM
from certwright.kube.kinds import ConfigMap


async def list_inventories(target: Target, output: Output, *, all_namespaces: bool) -> int:
    """Print all inventories of a namespace, or of the cluster; return 2 if one is damaged."""
    async with connected(target) as session:
        namespace = "" if all_namespaces else session.namespace
        found = summaries(await Direct(session.client).list(ConfigMap, namespace, labels=LABEL))
    if output is not Output.TABLE:
        print(document({"inventories": [one.to_json() for one in found]}, output))
    elif found:
        print(fitted(summary_table(found, SYSTEM.now()), terminal_width()))
    else:
        place = "in any namespace" if all_namespaces else f"in namespace {namespace}"
        more = "" if all_namespaces else "; -A shows those of all namespaces"
        print(f"there are no inventories {place}{more}", file=sys.stderr)
    for one in found:
        if one.problem:
            print(f"error: {one.namespace}/{one.name}: {one.problem}", file=sys.stderr)
    return 2 if any(one.problem for one in found) else 0


async def show_inventory(target: Target, name: str, output: Output) -> int:
    """Print the objects that an inventory lists; `UsageError` if it lists none."""
    async with open_inventory(target, name) as opened:
        refs = sorted(await opened.objects.refs(), key=order_key)
        namespace = opened.session.namespace
    if not refs:
        raise UsageError(nothing_listed(name, namespace))
    if output is Output.TABLE:
        rows = [(ref.kind, str(ref.key), ref.api_version) for ref in refs]
        print(fitted(table(("KIND", "NAME", "APIVERSION"), rows), terminal_width()))
        return 0
    objects = [
        {
            "apiVersion": ref.api_version,
            "kind": ref.kind,
            "namespace": ref.namespace,
            "name": ref.name,
        }
        for ref in refs
    ]
    print(document({"namespace": namespace, "name": name, "objects": objects}, output))
    return 0
