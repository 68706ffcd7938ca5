"""The facts of a pass: what the Secrets say, what was there before, who else has a say."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ObjectReference
from certwright.kube import (
    Forbidden,
    GroupVersionKind,
    Key,
    NotFound,
    ServiceUnavailable,
)
from certwright.operators.managedresource.declared import (
    DecodedSecret,
    Desired,
    Refusal,
    desired_objects,
)
from certwright.operators.managedresource.inventory import Changes, Equivalences, compare, recorded
from certwright.operators.managedresource.keeper import MANY, Keeper, Look
from certwright.operators.managedresource.policy import Plan, Scaled, plan, scale_targets
from certwright.runtime import Entry

_SCALED_KINDS: Final = frozenset({"Deployment", "StatefulSet"})


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is decided on."""

    secrets: tuple[Entry, ...]
    desired: Desired
    plan: Plan
    inventory: tuple[ObjectReference, ...]
    """What belonged to the ManagedResource before this pass."""
    changes: Changes
    equivalences: Equivalences
    warnings: tuple[str, ...] = ()


class InventoryLost(Exception):
    """A part of the inventory cannot be read: nothing may be deleted or forgotten."""


async def read_secrets(look: Look) -> list[Entry]:
    """Return the Secrets in the order they are referred to, each as often as it is.

    Raises:
        NotFound: one does not exist.
        ApiError, TransportError: one cannot be read.
    """
    secrets = look.keeper.secrets
    secrets.serve(look.store)
    await secrets.ready()
    namespace = look.key.namespace
    return [await secrets.get(Key(namespace, ref.name)) for ref in look.resource.spec.secret_refs]


async def gather(look: Look, secrets: Sequence[Entry]) -> Facts:
    """Gather the other facts of a pass, from stores wherever possible.

    Raises:
        InventoryLost: a part of the inventory cannot be read.
        ApiError, TransportError: a cluster does not answer as it should.
    """
    keeper, resource = look.keeper, look.resource
    decoded = [await keeper.decoder.decode(secret, look.ctx.cpu) for secret in secrets]
    equivalences = Equivalences.of(resource.spec.equivalences)
    scopes = await _scopes(keeper, decoded)
    many = sum(len(secret.manifests) for secret in decoded) > MANY
    if many:
        desired = await look.ctx.cpu(desired_objects, decoded, scopes.get)
    else:
        desired = desired_objects(decoded, scopes.get)
    try:
        scaled = await _scaled(keeper, desired, equivalences)
    except Forbidden as error:
        desired = _without_workloads(desired, str(error))
        scaled = Scaled(frozenset(), (), equivalences)
    arguments = (resource, desired, look.origin, keeper.managed_by, scaled)
    planned = await look.ctx.cpu(plan, *arguments) if many else plan(*arguments)
    inventory = await known_inventory(look)
    sides = (inventory, planned.inventory, equivalences)
    changes = await look.ctx.cpu(compare, *sides) if many else compare(*sides)
    return Facts(
        tuple(secrets), desired, planned, tuple(inventory), changes, equivalences, scaled.warnings
    )


async def known_inventory(look: Look) -> list[ObjectReference]:
    """Return the inventory, also the part of it that does not fit into the status.

    A part that is lost is left out if somebody asks for it: what only it listed stays.

    Raises:
        InventoryLost: a part is gone or cannot be understood.
        ApiError, TransportError: a part cannot be read now.
    """
    beside: list[ObjectReference] = []
    known = look.remembered.companions
    for reference in look.resource.status.inventory_refs:
        if reference.obsolete:
            continue
        if reference.name not in known:
            key = Key(look.key.namespace, reference.name)
            try:
                found, untouched = await look.keeper.companions.read(key, look.key)
            except ValueError as error:
                if look.resource.metadata.annotations.get(keys.FORGET_INVENTORY) == reference.name:
                    continue
                raise InventoryLost(
                    f"{error}; restore it, or annotate the ManagedResource with "
                    f"{keys.FORGET_INVENTORY}={reference.name}: objects that are not wanted any "
                    "more and were listed only there then stay"
                ) from error
            look.remembered.note_companion(reference.name, found, untouched=untouched)
        beside += known[reference.name]
    return recorded(look.resource, beside)


async def _scopes(keeper: Keeper, decoded: Iterable[DecodedSecret]) -> dict[GroupVersionKind, bool]:
    """Return which of the kinds in manifests are namespaced, as far as the target knows them."""
    kinds: set[GroupVersionKind] = set()
    for secret in decoded:
        for manifest in secret.manifests:
            try:
                kinds.add(GroupVersionKind.parse(manifest.obj["apiVersion"], manifest.obj["kind"]))
            except (KeyError, ValueError, AttributeError, TypeError):
                continue  # what is no object is refused later
    await asyncio.sleep(0)  # there may be thousands of manifests
    scopes: dict[GroupVersionKind, bool] = {}
    for gvk in kinds:
        try:
            scopes[gvk] = (await keeper.targets.resource(gvk)).namespaced
        except (NotFound, ServiceUnavailable):
            continue  # applying it tells
    return scopes


async def _scaled(keeper: Keeper, desired: Desired, equivalences: Equivalences) -> Scaled:
    namespaces = {item.ref.namespace for item in desired.objects if item.ref.kind in _SCALED_KINDS}
    autoscalers = await keeper.targets.autoscalers(namespaces) if namespaces else []
    return scale_targets(autoscalers, equivalences)


def _without_workloads(desired: Desired, problem: str) -> Desired:
    """Refuse what might be scaled by others; nobody can tell how many replicas it should have."""
    scalable = [item for item in desired.objects if item.ref.kind in _SCALED_KINDS]
    return replace(
        desired,
        objects=tuple(item for item in desired.objects if item.ref.kind not in _SCALED_KINDS),
        refused=(*desired.refused, *(Refusal(item.ref, problem) for item in scalable)),
    )
