"""``certwright mr``: look at ManagedResources, and get rid of one that is stuck."""

import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from certwright.api.resources import ManagedResource
from certwright.apply import human_duration, read_secret
from certwright.cli.confirming import confirm
from certwright.cli.connection import Connection, connected
from certwright.cli.errors import UsageError
from certwright.cli.mrview import counted, explanation, list_table
from certwright.cli.options import Output
from certwright.cli.printing import document, terminal_width
from certwright.cli.results import code_of_diff, differences
from certwright.client import Client
from certwright.clock import SYSTEM
from certwright.kube import JsonObject, Key, NotFound, parse_time
from certwright.kube.kinds import Secret
from certwright.managed import Progress, delete

FORCE_DELETE: Final = "resources.certwright.dev/force-delete"
_RESOURCE: Final = ManagedResource.resource
_NO_SUCH_KIND: Final = (
    "this cluster does not know ManagedResources; install them with:"
    " certwright resource-manager --print-crds | kubectl apply -f -"
)


@dataclass(frozen=True, slots=True)
class Where:
    """Which cluster, and which namespace."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None


async def show_list(where: Where, output: Output, *, everywhere: bool) -> int:
    """Print the ManagedResources of a namespace, or of all."""
    async with connected(where.kubeconfig, where.context, where.namespace) as to:
        try:
            found = await to.client.list(_RESOURCE, "" if everywhere else to.namespace)
        except NotFound:
            raise UsageError(_NO_SUCH_KIND) from None
    items = [_headed(item) for item in found.items]
    if output is not Output.TABLE:
        print(document({"apiVersion": "v1", "kind": "List", "items": items}, output))
    elif items:
        print(list_table(items, SYSTEM.now(), namespaces=everywhere, width=terminal_width()))
    else:
        where_to = "in this cluster" if everywhere else f"in namespace {to.namespace}; -A shows all"
        print(f"there are no ManagedResources {where_to}", file=sys.stderr)
    return 0


async def explain(where: Where, name: str) -> int:
    """Print everything worth knowing about one ManagedResource."""
    async with connected(where.kubeconfig, where.context, where.namespace) as to:
        resource = await _get(to, name)
        names = [str(r.get("name")) for r in resource["spec"].get("secretRefs") or ()]
        secrets = [await _about_secret(to.client, Key(to.namespace, one)) for one in names]
    print(explanation(resource, secrets, SYSTEM.now()))
    return 0


async def diff(
    where: Where,
    name: str,
    output: Output,
    target: tuple[Path | None, str | None],
    cluster_id: str | None,
) -> int:
    """Print what the next pass would change; return 1 if there is something, 2 if it fails."""
    from certwright.operators.resources import preview

    async with AsyncExitStack() as stack:
        to = await stack.enter_async_context(
            connected(where.kubeconfig, where.context, where.namespace)
        )
        await _get(to, name)
        goal = to.client
        if any(target):
            goal = (await stack.enter_async_context(connected(*target))).client
        found = await preview(to.client, goal, Key(to.namespace, name), cluster_id=cluster_id)
    if output is Output.TABLE:
        print(differences(found.changes, output))
    else:
        print(document({**found.changes.to_json(), "problems": list(found.problems)}, output))
    for problem in found.problems:
        print(f"problem: {problem}", file=sys.stderr)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    return 2 if found.problems else code_of_diff(found.changes)


async def force_delete(where: Where, name: str, patience: timedelta, *, yes: bool) -> int:
    """Delete a ManagedResource, and clear the finalizers of objects that hold it up."""
    async with connected(where.kubeconfig, where.context, where.namespace) as to:
        resource = await _get(to, name)
        kept = resource.get("status", {}).get("resources") or []
        stay = " They stay (spec.keepObjects)." if resource["spec"].get("keepObjects") else ""
        confirm(
            f"ManagedResource {to.namespace}/{name} keeps {counted(kept)}.{stay} Those that do"
            " not go by themselves within seconds lose their finalizers: whatever these protect"
            " is left behind.",
            yes=yes,
        )
        key = Key(to.namespace, name)
        await to.client.patch(_RESOURCE, key, {"metadata": {"annotations": {FORCE_DELETE: "true"}}})
        await delete(to.client, key, patience=patience, on_progress=_tell)
    return 0


async def _get(to: Connection, name: str) -> JsonObject:
    try:
        return _headed(await to.client.get(_RESOURCE, Key(to.namespace, name)))
    except NotFound:
        raise UsageError(await _what_there_is(to, name)) from None


async def _what_there_is(to: Connection, name: str) -> str:
    """Say what could have been meant."""
    try:
        here = await to.client.list(_RESOURCE, to.namespace)
    except NotFound:
        return _NO_SUCH_KIND
    names = ", ".join(sorted(one["metadata"]["name"] for one in here.items)[:20])
    there = f"there are: {names}" if names else "-n names another namespace"
    return f"there is no ManagedResource {name} in namespace {to.namespace}; {there}"


async def _about_secret(client: Client, key: Key) -> str:
    """Say in one line whether a Secret is there and can be read."""
    try:
        secret = await client.get(Secret, key)
    except NotFound:
        return f"✗ {key.name} does not exist; create it, or take it out of spec.secretRefs"
    data = secret.get("data") or {}
    age = human_duration(SYSTEM.now() - parse_time(secret["metadata"]["creationTimestamp"]))
    read = read_secret(data, allow_duplicates=True)
    if read.errors:
        return f"✗ {key.name}, {read.errors[0]}"
    under = ", ".join(sorted(data)) or "no key"
    return f"✓ {key.name}: {counted(read.objects)} under {under}, {age} old"


def _headed(obj: JsonObject) -> JsonObject:
    return {"apiVersion": _RESOURCE.api_version, "kind": _RESOURCE.kind, **obj}


def _tell(progress: Progress) -> None:
    print(progress, file=sys.stderr, flush=True)
