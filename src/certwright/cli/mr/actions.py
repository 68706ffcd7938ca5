"""What the commands of ``certwright mr`` do."""

import sys
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from certwright.api.managedresources import ManagedResource
from certwright.apply import read_secret
from certwright.apply.engine.blockers import human_duration
from certwright.cli.apply.results import code_of_diff, differences, results_document
from certwright.cli.connection import Session, connected, require_name
from certwright.cli.errors import UsageError
from certwright.cli.mr.text import consequences, counted, explanation, list_table
from certwright.cli.options import Output, Target
from certwright.cli.resourcemanager.flags import ResourceManagerOptions
from certwright.cli.terminal.confirm import confirm
from certwright.cli.terminal.notice import QUIET_SECONDS
from certwright.cli.terminal.output import document, terminal_width
from certwright.cli.terminal.progress import ProgressLine
from certwright.client import Client
from certwright.clock import SYSTEM
from certwright.kube import ApiError, Forbidden, JsonObject, Key, NotFound, parse_time
from certwright.kube.kinds import CoreEvent, Secret
from certwright.managed import delete

if TYPE_CHECKING:
    from certwright.operators.managedresource import Configuration

FORCE_DELETE: Final = "resources.certwright.dev/force-delete"
_REPAIRS: Final = frozenset({"Repaired", "FightDetected"})
_RESOURCE: Final = ManagedResource.resource
_NO_SUCH_KIND: Final = (
    "this cluster does not serve ManagedResources; install their definition with:"
    " certwright resource-manager --print-crds | kubectl apply -f -"
)


async def show_list(target: Target, output: Output, *, all_namespaces: bool) -> int:
    """Print the ManagedResources of a namespace, or of all namespaces."""
    async with connected(target) as session:
        try:
            found = await session.client.list(
                _RESOURCE, "" if all_namespaces else session.namespace
            )
        except NotFound:
            raise UsageError(_NO_SUCH_KIND) from None
    items = [_headed(item) for item in found.items]
    if output is not Output.TABLE:
        print(document({"apiVersion": "v1", "kind": "List", "items": items}, output))
    elif items:
        print(list_table(items, SYSTEM.now(), namespaces=all_namespaces, width=terminal_width()))
    else:
        place = (
            "in this cluster"
            if all_namespaces
            else f"in namespace {session.namespace}; -A lists all namespaces"
        )
        print(f"there are no ManagedResources {place}", file=sys.stderr)
    return 0


async def explain(target: Target, name: str, output: Output) -> int:
    """Print everything worth knowing about one ManagedResource."""
    async with connected(target) as session:
        resource = await _get(session, name)
        names = [str(r.get("name")) for r in resource["spec"].get("secretRefs") or ()]
        secrets = [
            await _about_secret(session.client, Key(session.namespace, one)) for one in names
        ]
        repairs = await _repairs(session.client, Key(session.namespace, name))
    if output is Output.TABLE:
        print(explanation(resource, secrets, SYSTEM.now(), repairs))
    else:
        told = [str(event.get("message") or "") for event in repairs]
        print(document({"resource": resource, "secrets": secrets, "repairs": told}, output))
    return 0


@dataclass(frozen=True, slots=True)
class PreviewOptions:
    """What is known of the resource manager whose next pass is previewed."""

    target: Target | None = None
    """Where it keeps objects; None: in the cluster of the ManagedResource."""
    config: Path | None = None
    cluster_id: str | None = None


async def diff(target: Target, name: str, output: Output, options: PreviewOptions) -> int:
    """Print what the next pass would change; return 1 if there is something, 2 if it fails."""
    from certwright.cli.resourcemanager.process import load
    from certwright.operators.managedresource import preview

    configuration = None
    if options.config:
        flags = ResourceManagerOptions(config=options.config)
        configuration = load(flags, {}).configuration
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(connected(target))
        await _get(session, name)
        objects = session.client
        if options.target is not None:
            objects = (await stack.enter_async_context(connected(options.target))).client
        progress = ProgressLine(None, dry_run=True, quiet_seconds=QUIET_SECONDS)
        found = await preview(
            session.client,
            objects,
            Key(session.namespace, name),
            configuration=configuration,
            cluster_id=await _cluster_id(options, configuration, session.client),
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


async def _cluster_id(
    options: PreviewOptions, configuration: "Configuration | None", source: Client
) -> str | None:
    """Return the id of the source cluster, if that can be known without looking at objects."""
    from certwright.operators.managedresource import cluster_id

    if options.cluster_id is not None or configuration is None:
        return options.cluster_id
    try:
        return await cluster_id(configuration, source)
    except ValueError as error:
        raise UsageError(f"--config {options.config}: controllers.clusterID: {error}") from error


async def force_delete(
    target: Target, name: str, wait: timedelta, *, yes: bool, dry_run: bool
) -> int:
    """Delete a ManagedResource, and clear the finalizers of objects that hold it up."""
    async with connected(target) as session:
        text = consequences(await _get(session, name))
        if dry_run:
            print(f"{text}\n(dry run: nothing was changed)")
            return 0
        confirm(text, yes=yes)
        key = Key(session.namespace, name)
        await session.client.patch(
            _RESOURCE, key, {"metadata": {"annotations": {FORCE_DELETE: "true"}}}
        )
        show = partial(print, file=sys.stderr, flush=True)
        await delete(session.client, key, patience=wait, on_progress=show)
    return 0


async def _get(session: Session, name: str) -> JsonObject:
    require_name(name, "ManagedResource")
    try:
        return _headed(await session.client.get(_RESOURCE, Key(session.namespace, name)))
    except NotFound:
        raise UsageError(await _not_found(session, name)) from None


async def _not_found(session: Session, name: str) -> str:
    """Return the message for a name that does not exist, with the names that do."""
    try:
        here = await session.client.list(_RESOURCE, session.namespace)
    except NotFound:
        return _NO_SUCH_KIND
    names = ", ".join(sorted(one["metadata"]["name"] for one in here.items)[:20])
    there = f"there are: {names}" if names else "choose another namespace with -n"
    return f"there is no ManagedResource {name} in namespace {session.namespace}; {there}"


async def _repairs(client: Client, key: Key) -> list[JsonObject]:
    """Return the Events that tell what others changed; none if they may not be read."""
    about = f"involvedObject.kind={_RESOURCE.kind},involvedObject.name={key.name}"
    try:
        found = await client.list(CoreEvent, key.namespace, fields=about)
    except ApiError:
        return []
    return [event for event in found.items if event.get("reason") in _REPAIRS]


async def _about_secret(client: Client, key: Key) -> str:
    """Return in one line whether a Secret exists and can be read."""
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
    under = ", ".join(sorted(data)) or "no keys"
    return f"✓ {key.name}: {counted(len(read.objects))} under {under}, {age} old"


def _headed(obj: JsonObject) -> JsonObject:
    return {"apiVersion": _RESOURCE.api_version, "kind": _RESOURCE.kind, **obj}
