"""``certwright mr``: look at ManagedResources, and get rid of one that is stuck."""

import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from certwright.api.managedresources import ManagedResource
from certwright.apply import read_secret
from certwright.apply.engine.blockers import human_duration
from certwright.cli.apply.results import code_of_diff, differences, results_document
from certwright.cli.connection import Connection, connected, require_name
from certwright.cli.errors import UsageError
from certwright.cli.mr.view import consequences, counted, explanation, list_table
from certwright.cli.options import Output
from certwright.cli.resourcemanager.flags import Given
from certwright.cli.terminal.confirm import confirm
from certwright.cli.terminal.output import document, terminal_width
from certwright.cli.terminal.patience import PATIENCE_SECONDS
from certwright.cli.terminal.progress import Progress as Working
from certwright.client import Client
from certwright.clock import SYSTEM
from certwright.kube import Forbidden, JsonObject, Key, NotFound, parse_time
from certwright.kube.kinds import Secret
from certwright.managed import Progress, delete

if TYPE_CHECKING:
    from certwright.operators.managedresource import Configuration

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


async def explain(where: Where, name: str, output: Output) -> int:
    """Print everything worth knowing about one ManagedResource."""
    async with connected(where.kubeconfig, where.context, where.namespace) as to:
        resource = await _get(to, name)
        names = [str(r.get("name")) for r in resource["spec"].get("secretRefs") or ()]
        secrets = [await _about_secret(to.client, Key(to.namespace, one)) for one in names]
    if output is Output.TABLE:
        print(explanation(resource, secrets, SYSTEM.now()))
    else:
        print(document({"resource": resource, "secrets": secrets}, output))
    return 0


@dataclass(frozen=True, slots=True)
class Keeper:
    """What is known of the resource manager whose next pass is asked about."""

    target: tuple[Path | None, str | None] = (None, None)
    """Kubeconfig and context of where it keeps objects; the same cluster if there are none."""
    config: Path | None = None
    cluster_id: str | None = None


async def diff(where: Where, name: str, output: Output, keeper: Keeper) -> int:
    """Print what the next pass would change; return 1 if there is something, 2 if it fails."""
    from certwright.operators.managedresource import preview

    configuration = _configuration(keeper.config)
    async with AsyncExitStack() as stack:
        to = await stack.enter_async_context(
            connected(where.kubeconfig, where.context, where.namespace)
        )
        await _get(to, name)
        goal = to.client
        if any(keeper.target):
            goal = (await stack.enter_async_context(connected(*keeper.target))).client
        progress = Working(0, dry_run=True, quiet_seconds=PATIENCE_SECONDS)
        found = await preview(
            to.client,
            goal,
            Key(to.namespace, name),
            configuration=configuration,
            cluster_id=await _cluster_id(keeper, configuration, to.client),
            on_entry=stack.enter_context(progress),
        )
    if output is Output.TABLE:
        print(differences(found.changes, output), flush=True)
    else:
        whole = results_document(found.changes, found.problems, dry_run=True)
        print(document({**whole, "notes": [*found.notes]}, output), flush=True)
    for problem in found.problems:
        print(f"error: {problem}", file=sys.stderr)
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    return 2 if found.problems else code_of_diff(found.changes)


def _configuration(path: Path | None) -> "Configuration | None":
    from certwright.cli.resourcemanager.run import load

    return load(Given(config=path), {}).configuration if path else None


async def _cluster_id(
    keeper: Keeper, configuration: "Configuration | None", source: Client
) -> str | None:
    """Return the id of the source cluster, if that can be known without looking at objects."""
    from certwright.operators.managedresource import cluster_id

    if keeper.cluster_id is not None or configuration is None:
        return keeper.cluster_id
    try:
        return await cluster_id(configuration, source)
    except ValueError as error:
        raise UsageError(f"--config {keeper.config}: controllers.clusterID: {error}") from error


async def force_delete(
    where: Where, name: str, patience: timedelta, *, yes: bool, dry_run: bool
) -> int:
    """Delete a ManagedResource, and clear the finalizers of objects that hold it up."""
    async with connected(where.kubeconfig, where.context, where.namespace) as to:
        told = consequences(await _get(to, name))
        if dry_run:
            print(f"{told}\n(dry run: nothing was changed)")
            return 0
        confirm(told, yes=yes)
        key = Key(to.namespace, name)
        await to.client.patch(_RESOURCE, key, {"metadata": {"annotations": {FORCE_DELETE: "true"}}})
        await delete(to.client, key, patience=patience, on_progress=_tell)
    return 0


async def _get(to: Connection, name: str) -> JsonObject:
    require_name(name, "ManagedResource")
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
    except Forbidden as error:
        return f"? {key.name}: {error}"
    data = secret.get("data") or {}
    age = human_duration(SYSTEM.now() - parse_time(secret["metadata"]["creationTimestamp"]))
    read = read_secret(data, allow_duplicates=True)
    if read.errors:
        return f"✗ {key.name}, {read.errors[0]}"
    under = ", ".join(sorted(data)) or "no key"
    return f"✓ {key.name}: {counted(len(read.objects))} under {under}, {age} old"


def _headed(obj: JsonObject) -> JsonObject:
    return {"apiVersion": _RESOURCE.api_version, "kind": _RESOURCE.kind, **obj}


def _tell(progress: Progress) -> None:
    print(progress, file=sys.stderr, flush=True)
