"""The inventory a command names, opened in a cluster, and the objects it lists."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from certwright.apply import (
    Change,
    ConfigMapInventory,
    Direct,
    Engine,
    InventoryError,
    ObjectRef,
    ObjectSet,
)
from certwright.cli.apply.inputs import ManifestFiles
from certwright.cli.apply.namespaces import placed
from certwright.cli.connection import Session, connected
from certwright.cli.errors import UsageError
from certwright.cli.options import Target
from certwright.kube import NotFound
from certwright.kube.names import dns_label_problems

FIELD_MANAGER: Final = "certwright-cli"
_LISTED: Final = 20


@dataclass(frozen=True, slots=True)
class OpenInventory:
    """A cluster, and an inventory in it."""

    session: Session
    objects: ObjectSet


@asynccontextmanager
async def open_inventory(target: Target, name: str) -> AsyncIterator[OpenInventory]:
    """Connect, and find the inventory; `UsageError` for a bad name, namespace or contents."""
    if problems := dns_label_problems(name):
        raise UsageError(f"--inventory {name}: {'; '.join(problems)}")
    async with connected(target) as session:
        cluster = Direct(session.client, field_manager=FIELD_MANAGER)
        inventory = ConfigMapInventory(cluster, session.namespace, name)
        try:
            yield OpenInventory(session, ObjectSet(Engine(cluster), inventory, inventory.owner))
        except InventoryError as error:
            raise UsageError(
                f"{error}; nothing was deleted. Restore the ConfigMap, or delete it to start over"
            ) from error
        except NotFound as error:
            if error.message != f'namespaces "{session.namespace}" not found':
                raise
            raise UsageError(
                f"namespace {session.namespace}, which is to hold the inventory, does not exist;"
                f" create it with: kubectl create namespace {session.namespace}"
            ) from error


async def named_objects(files: ManifestFiles, session: Session) -> list[ObjectRef]:
    """Return which objects of a cluster the manifests name."""
    return [ObjectRef.of(obj) for obj in await placed(session, files.manifests)]


def listed_among(
    listed: Sequence[ObjectRef], named: Sequence[ObjectRef] | None
) -> Sequence[ObjectRef]:
    """Return what of an inventory is named, in whatever version of its group; None names all."""
    if named is None:
        return listed
    chosen = {ref.identity for ref in named}
    return [ref for ref in listed if ref.identity in chosen]


def nothing_listed(inventory: str, namespace: str) -> str:
    """Return the message for an inventory that lists nothing, and how to find others."""
    return (
        f"inventory {inventory} in namespace {namespace} lists nothing; to see all"
        " inventories, run: certwright inventory list -A"
    )


def deletion_plan(deletions: Sequence[ObjectRef], kept: Sequence[Change], listed: int) -> str:
    """Return what is about to be deleted of an inventory of *listed* objects, and what stays."""
    verb = "is" if len(deletions) == 1 else "are"
    head = f"{len(deletions)} of the {listed} objects in this inventory {verb} to be deleted:"
    lines = [head, *_some([str(ref) for ref in deletions])]
    if kept:
        lines += ["these stay:", *_some([f"{entry.ref}: {entry.reason}" for entry in kept])]
    return "\n".join(lines)


def _some(texts: Sequence[str]) -> list[str]:
    more = [f"  and {len(texts) - _LISTED} more"] if len(texts) > _LISTED else []
    return [*(f"  {text}" for text in texts[:_LISTED]), *more]
