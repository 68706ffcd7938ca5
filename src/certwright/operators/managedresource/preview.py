"""What a pass over a ManagedResource would change, found out without changing anything.

Asks both clusters directly, from anywhere: for command lines. The decisions are those of the
operator; the target's API server is asked by dry runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource, ObjectReference
from certwright.apply import ChangeSet, Direct, Engine
from certwright.apply.engine.engine import OnEntry
from certwright.client import Client
from certwright.kube import GroupVersionKind, Key, NotFound
from certwright.kube.kinds import ConfigMap, HorizontalPodAutoscaler, Secret
from certwright.managed.shards import read_companion
from certwright.operators.managedresource import policy
from certwright.operators.managedresource.configuration import (
    Configuration,
    ManagedResourceSettings,
)
from certwright.operators.managedresource.declared import (
    DecodedSecret,
    Desired,
    decode_secret,
    desired_objects,
)
from certwright.operators.managedresource.farewell import Farewell, Leaving
from certwright.operators.managedresource.guards import in_doubt
from certwright.operators.managedresource.inventory import Equivalences, recorded, ref_of
from certwright.operators.managedresource.ownership import Origin, exists
from certwright.operators.managedresource.policy import scale_targets

_DEFAULT_LABEL: Final = ManagedResourceSettings().managed_by_label_value


@dataclass(frozen=True, slots=True)
class Preview:
    """What would become of each object, and what is wrong with the input."""

    changes: ChangeSet
    problems: tuple[str, ...]
    """Documents and objects that cannot be applied; while there are any, nothing is deleted."""
    notes: tuple[str, ...]
    """What a person should know about the answer."""


async def preview(
    source: Client,
    target: Client,
    key: Key,
    *,
    configuration: Configuration | None = None,
    cluster_id: str | None = None,
    on_entry: OnEntry | None = None,
) -> Preview:
    """Return what a pass over a ManagedResource would change.

    Without the *configuration* of the operator, its label is taken from the objects it keeps, and
    for the rest the default is assumed, which a note says where it matters. *cluster_id* is
    taken from the objects, too, unless it is given.

    Raises:
        NotFound: there is no such ManagedResource, or a Secret it refers to does not exist.
        ApiError, TransportError: a cluster does not answer as it should.
    """
    resource = await source.get(ManagedResource, key)
    refs = [Key(key.namespace, ref.name) for ref in resource.spec.secret_refs]
    decoded = [
        decode_secret(ref, (await source.get(Secret, ref)).get("data") or {}) for ref in refs
    ]
    desired = desired_objects(decoded, (await _scopes(target, decoded)).get)
    equivalences = Equivalences.of(resource.spec.equivalences)
    inventory = await _inventory(source, resource)
    installation = await _installation(target, inventory, key)
    origin = Origin(installation.cluster_id if cluster_id is None else cluster_id, key)
    scaled = scale_targets(await _autoscalers(target, desired), equivalences)
    managed_by = installation.managed_by
    if configuration is not None:
        managed_by = configuration.controllers.managed_resource.managed_by_label_value
    plan = policy.plan(resource, desired, origin, managed_by, scaled)
    owner = policy.owner(origin, partial(exists, source))
    cluster = Direct(target, field_manager=policy.field_manager(managed_by))
    engine = Engine(cluster)
    changes = await engine.apply(plan.wanted, owner=owner, dry_run=True, on_entry=on_entry)
    leaving = Leaving.of(inventory, plan, desired, equivalences)
    farewell = Farewell(cluster, resource, (configuration or Configuration()).controllers)
    if leaving.removed and in_doubt(desired, plan, changes.entries):
        left = farewell.none(leaving, "nothing is deleted while the input is in doubt")
    else:
        left = await farewell.take(engine, owner, leaving, before=len(inventory))
    notes = [*_notes(resource), *desired.remarks, *scaled.warnings, *farewell.objections]
    if leaving.removed and configuration is None:
        notes.append(farewell.assumption)
    problems = (*desired.undecodable, *map(str, plan.refused))
    return Preview(changes | left, problems, tuple(notes))


@dataclass(frozen=True, slots=True)
class _Installation:
    """What an operator was configured with, as its objects show it."""

    managed_by: str = _DEFAULT_LABEL
    cluster_id: str = ""


async def _installation(
    target: Client, inventory: Iterable[ObjectReference], key: Key
) -> _Installation:
    cluster = Direct(target)
    for entry in inventory:
        ref = ref_of(entry)
        try:
            live = await cluster.read(await cluster.resource(ref.gvk), ref.key)
            origin = Origin.parse(live.annotations[keys.ORIGIN]) if live is not None else None
        except (NotFound, ValueError, KeyError):
            continue
        if live is not None and origin is not None and origin.key == key:
            label = live.labels.get(keys.MANAGED_BY, _DEFAULT_LABEL)
            return _Installation(label, origin.cluster_id)
    return _Installation()


async def _inventory(source: Client, resource: ManagedResource) -> Sequence[ObjectReference]:
    beside: list[ObjectReference] = []
    for reference in resource.status.inventory_refs:
        if reference.obsolete:
            continue
        key = Key(resource.metadata.namespace, reference.name)
        beside += read_companion(key, await source.get(ConfigMap, key))
    return recorded(resource, beside)


async def _scopes(target: Client, decoded: Iterable[DecodedSecret]) -> dict[GroupVersionKind, bool]:
    scopes: dict[GroupVersionKind, bool] = {}
    for manifest in (m for secret in decoded for m in secret.manifests):
        api_version, kind = manifest.obj.get("apiVersion"), manifest.obj.get("kind")
        try:
            gvk = GroupVersionKind.parse(str(api_version or ""), str(kind or ""))
            if gvk not in scopes:
                scopes[gvk] = (await target.discovery.resource_for(gvk)).namespaced
        except (ValueError, NotFound):
            continue  # refused, or the definition comes along
    return scopes


async def _autoscalers(target: Client, desired: Desired) -> list[dict[str, object]]:
    scalable = {"Deployment", "StatefulSet"}
    namespaces = {item.ref.namespace for item in desired.objects if item.ref.kind in scalable}
    head = {"apiVersion": HorizontalPodAutoscaler.api_version, "kind": HorizontalPodAutoscaler.kind}
    found: list[dict[str, object]] = []
    for namespace in sorted(namespaces):
        listed = await target.list(HorizontalPodAutoscaler, namespace)
        found += [{**head, **item} for item in listed.items]
    return found


def _notes(resource: ManagedResource) -> Iterable[str]:
    if resource.metadata.deletion_timestamp is not None:
        yield "the ManagedResource is being deleted: its objects go, whatever this says"
    if keys.truthy(resource.metadata.annotations.get(keys.IGNORE)):
        yield f"the ManagedResource is ignored ({keys.IGNORE}): none of this happens"
    if resource.spec.suspend:
        yield "the ManagedResource is suspended: none of this happens until it is resumed"
