"""``certwright apply``, ``diff`` and ``delete``: manifests under the name of an inventory."""

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from certwright.apply import (
    Adopt,
    ChangeSet,
    ConfigMapInventory,
    Declared,
    Direct,
    Engine,
    Entry,
    InventoryError,
    Live,
    Manifest,
    ObjectRef,
    ObjectSet,
    PruneGuard,
    PruneOptions,
    Rules,
)
from certwright.apply.engine.engine import OnEntry
from certwright.apply.objectset.prune import plan_pruning
from certwright.cli.apply.inputs import Given
from certwright.cli.apply.namespaces import placed
from certwright.cli.apply.results import code_of_apply, code_of_diff, differences, rendered
from certwright.cli.apply.wait import not_gone, until_gone, until_healthy
from certwright.cli.connection import Connection, connected
from certwright.cli.errors import UsageError
from certwright.cli.options import Output
from certwright.cli.terminal.confirm import confirm
from certwright.cli.terminal.patience import PATIENCE_SECONDS
from certwright.cli.terminal.progress import Progress
from certwright.kube import NotFound
from certwright.kube.names import dns_label_problems

FIELD_MANAGER: Final = "certwright-cli"
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class Place:
    """Which inventory, where."""

    inventory: str
    """Empty: none."""
    namespace: str | None = None
    kubeconfig: Path | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class Choices:
    """How to go about it."""

    output: Output = Output.TABLE
    dry_run: bool = False
    prune: bool = False
    recreate: bool = False
    take_over: bool = False
    adopt: bool = True
    yes: bool = False
    wait_seconds: float | None = None
    """None: do not wait."""


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster, and the inventory in it."""

    to: Connection
    objects: ObjectSet


@asynccontextmanager
async def site(where: Place) -> AsyncIterator[Site]:
    """Connect, and find the inventory.

    Raises:
        UsageError: it cannot have this name, its namespace does not exist, or what is stored
            under it cannot be read.
    """
    if problems := dns_label_problems(where.inventory):
        raise UsageError(f"--inventory {where.inventory}: {'; '.join(problems)}")
    async with connected(where.kubeconfig, where.context, where.namespace) as to:
        cluster = Direct(to.client, field_manager=FIELD_MANAGER)
        inventory = ConfigMapInventory(cluster, to.namespace, where.inventory)
        try:
            yield Site(to, ObjectSet(Engine(cluster), inventory, inventory.owner))
        except InventoryError as error:
            raise UsageError(
                f"{error}; nothing was deleted. Restore the ConfigMap, or delete it to start over"
            ) from error
        except NotFound as error:
            if error.message != f'namespaces "{to.namespace}" not found':
                raise
            raise UsageError(
                f"namespace {to.namespace}, where the inventory would be, does not exist; create"
                f" it with: kubectl create namespace {to.namespace}"
            ) from error


async def apply_manifests(where: Place, given: Given, choices: Choices) -> int:
    """Apply; with *prune* also delete what was applied before and is not there any more.

    What cannot be used of the input keeps nothing else from being applied, but from being pruned.
    """
    async with site(where) as here:
        wanted = await _wanted(here.to, given.manifests, choices)
        if choices.prune and not choices.dry_run and not given.problems:
            await _agree_to_prune(here.objects, wanted, yes=choices.yes)
        states: dict[ObjectRef, Live | None] = {one.ref: None for one in wanted}
        with Progress(len(wanted), dry_run=choices.dry_run) as progress:

            def note(entry: Entry, live: Live | None) -> None:
                if entry.ref in states:
                    states[entry.ref] = live
                progress(entry, live)

            done = await here.objects.apply(
                wanted, options=_pruning(given, choices), dry_run=choices.dry_run, on_entry=note
            )
            progress.end()
            code = _told(done.all, given, choices)
            if code == 0 and choices.wait_seconds is not None and not choices.dry_run:
                more = f"certwright tree -i {where.inventory} -n {here.to.namespace}"
                patience = choices.wait_seconds
                await until_healthy(here.to.client, states, patience, progress, look_with=more)
    return code


async def diff_manifests(where: Place, given: Given, choices: Choices) -> int:
    """Compare with the cluster by a dry run; return 0 if nothing differs, 1 if something does."""
    async with site(where) as here:
        wanted = await _wanted(here.to, given.manifests, choices)
        options = _pruning(given, choices)
        with Progress(len(wanted), dry_run=True, quiet_seconds=PATIENCE_SECONDS) as progress:
            done = await here.objects.apply(
                wanted, options=options, dry_run=True, on_entry=progress
            )
    print(differences(done.all, choices.output, given.problems), flush=True)
    given.tell()
    return 2 if given.problems else code_of_diff(done.all)


async def delete_inventory(where: Place, given: Given | None, choices: Choices) -> int:
    """Delete the objects of an inventory, or those of them that manifests name.

    What cannot be used of the input names nothing: whatever is in there stays, and stays listed.
    """
    async with site(where) as here:
        listed = await here.objects.refs()
        only = None if given is None else await named_by(given, here.to)
        going = listed_among(listed, only)
        if not going:
            raise UsageError(nothing_listed(where.inventory, here.to.namespace, " to delete"))
        if (
            PruneGuard().is_mass_deletion(before=len(listed), removed=len(going))
            and not choices.dry_run
        ):
            stays = f"{given.doubts}: what is in there stays\n" if given and given.doubts else ""
            confirm(f"{stays}{_consequences(going, len(listed))}", yes=choices.yes)

        async def delete(on_entry: OnEntry) -> ChangeSet:
            return await here.objects.delete(only=only, dry_run=choices.dry_run, on_entry=on_entry)

        with Progress(len(going), dry_run=choices.dry_run) as progress:
            if choices.wait_seconds is None or choices.dry_run:
                changes = await delete(progress)
            else:
                changes = await until_gone(here.to.client, delete, choices.wait_seconds, progress)
    code = _told(changes, given, choices)
    if choices.wait_seconds is not None and not choices.dry_run and not changes.complete:
        print(f"error: {not_gone(changes, choices.wait_seconds)}", file=sys.stderr)
    return code


async def named_by(given: Given, to: Connection) -> list[ObjectRef]:
    """Return which objects of a cluster manifests name."""
    return [ObjectRef.of(obj) for obj in await placed(to, given.manifests)]


def listed_among(
    listed: Sequence[ObjectRef], named: Sequence[ObjectRef] | None
) -> Sequence[ObjectRef]:
    """Return what of an inventory is named, in whatever version of its group; None names all."""
    if named is None:
        return listed
    chosen = {ref.identity for ref in named}
    return [ref for ref in listed if ref.identity in chosen]


def nothing_listed(inventory: str, namespace: str, purpose: str = "") -> str:
    """Say that an inventory lists nothing, and how to find out which do."""
    return (
        f"inventory {inventory} in namespace {namespace} lists nothing{purpose}; which there are"
        " tells: kubectl get configmaps -A -L certwright.dev/inventory -l certwright.dev/inventory"
    )


def _told(changes: ChangeSet, given: Given | None, choices: Choices) -> int:
    """Print what became of objects, and what could not be used; return the exit code."""
    problems = given.problems if given else []
    print(rendered(changes, choices.output, problems, dry_run=choices.dry_run), flush=True)
    if given:
        given.tell()
    return 2 if problems else code_of_apply(changes)


async def _wanted(
    to: Connection, manifests: Sequence[Manifest], choices: Choices
) -> list[Declared]:
    adopt = Adopt.ALWAYS if choices.adopt else Adopt.NEVER
    rules = Rules(recreate=choices.recreate, take_over=choices.take_over, adopt=adopt)
    return [Declared(obj, rules) for obj in await placed(to, manifests)]


def _pruning(given: Given, choices: Choices) -> PruneOptions:
    """Say what may be pruned: nothing, while an object may be missing by mistake."""
    return PruneOptions(prune=choices.prune, doubts=given.doubts, confirmed=True)


async def _agree_to_prune(objects: ObjectSet, wanted: Sequence[Declared], *, yes: bool) -> None:
    """Ask before most objects of an inventory go at once: a mistake more often than a wish."""
    listed = await objects.refs()
    plan = plan_pruning(listed, [one.ref for one in wanted])
    if plan.held:
        confirm(_consequences(plan.unwanted, len(listed)), yes=yes)


def _consequences(going: Sequence[ObjectRef], listed: int) -> str:
    names = [f"  {ref}" for ref in going[:_LISTED]]
    more = [f"  and {len(going) - _LISTED} more"] if len(going) > _LISTED else []
    head = f"{len(going)} of the {listed} objects in this inventory would be deleted:"
    return "\n".join([head, *names, *more])
