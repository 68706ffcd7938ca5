"""What a pass over a ManagedResource would change: the same pass with dry runs.

Asks both clusters directly, from anywhere: for command lines. Facts and decisions are those of the
operator; only what it reads from its stores is read from the servers here.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource, ObjectReference
from certwright.apply import ChangeSet, Direct, Engine, ObjectRef, ObjectSet
from certwright.apply.engine.engine import OnEntry
from certwright.apply.manifests.limits import Budget
from certwright.client import Client
from certwright.keep.preview import ListedInventory
from certwright.kube import GroupVersionKind, JsonObject, Key, NotFound, Resource
from certwright.kube.kinds import HorizontalPodAutoscaler, Secret
from certwright.operators.managedresource import messages
from certwright.operators.managedresource.configuration import (
    Configuration,
    Controllers,
    ManagedResourceSettings,
)
from certwright.operators.managedresource.configuration.limits import TargetLimits
from certwright.operators.managedresource.decision import is_suspended
from certwright.operators.managedresource.declared import INPUT_LIMITS, decode_secret
from certwright.operators.managedresource.input import gather, inline
from certwright.operators.managedresource.inventory import read_recorded, ref_of
from certwright.operators.managedresource.ownership import Origin, Owners, field_manager

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
    settings = (configuration or Configuration()).controllers
    resource = await source.get(ManagedResource, key)
    inventory = await read_recorded(source, resource)
    installation = await _installation(target, inventory, key)
    label = installation.managed_by
    if configuration is not None:
        label = settings.managed_resource.managed_by_label_value
    owners = Owners(installation.cluster_id if cluster_id is None else cluster_id)
    budget = Budget(INPUT_LIMITS)
    refs = dict.fromkeys(Key(key.namespace, ref.name) for ref in resource.spec.secret_refs)
    data = {ref: (await source.get(Secret, ref)).get("data") or {} for ref in refs}
    decoded = {ref: decode_secret(ref, data.pop(ref), budget) for ref in refs}
    facts = await gather(
        resource,
        [decoded[Key(key.namespace, ref.name)] for ref in resource.spec.secret_refs],
        inventory,
        _Target(target, _limits(settings.managed_resource), key.namespace),
        origin=owners.origin(key),
        managed_by=label,
        cpu=inline,
    )
    cluster = Direct(target, field_manager=field_manager(label))
    engine = Engine(cluster, replaces=True)
    objects = ObjectSet(
        engine, ListedInventory([ref_of(entry) for entry in inventory]), owners.of(key, source)
    )
    done = await objects.apply(
        facts.plan.declared,
        options=facts.prune_options(
            resource,
            settings.managed_resource.prune_guard,
            garbage_collected=settings.garbage_collector.runs,
        ),
        dry_run=True,
        on_entry=on_entry,
    )
    released = ChangeSet.of(replace(e, reason=messages.RELEASED) for e in done.released.entries)
    why = messages.objection(done.held, settings.managed_resource.prune_guard.percent)
    notes = [
        *_notes(resource, settings.managed_resource),
        *facts.declared.remarks,
        *facts.warnings,
        *([f"nothing is deleted before that is confirmed: {why}"] if why else ()),
    ]
    if configuration is None and (done.pruned.entries or done.kept.entries):
        notes.append(_assumption(settings))
    problems = (*facts.declared.undecodable, *map(str, facts.plan.refused))
    return Preview(done.applied | released | done.pruned | done.kept, problems, tuple(notes))


class _Target:
    """A `TargetReader` that asks the server."""

    def __init__(self, client: Client, limits: TargetLimits, own: str) -> None:
        self._client = client
        self._limits = limits
        self._own = own

    async def resource(self, gvk: GroupVersionKind) -> Resource:
        return await self._client.discovery.resource_for(gvk)

    async def forbidden(self, refs: Iterable[ObjectRef]) -> Mapping[ObjectRef, str]:
        """Return what the installation does not touch; for the rest, dry runs tell."""
        found: dict[ObjectRef, str] = {}
        for ref in refs:
            with suppress(NotFound):
                kind = await self.resource(ref.gvk)
                if why := self._limits.refusal(self._own, kind, ref.key):
                    found[ref] = why
        return found

    async def autoscalers(self, namespaces: Iterable[str]) -> list[JsonObject]:
        kind = HorizontalPodAutoscaler
        head = {"apiVersion": kind.api_version, "kind": kind.kind}
        found: list[JsonObject] = []
        for namespace in sorted(namespaces):
            listed = await self._client.list(kind, namespace)
            found += [{**head, **item} for item in listed.items]
        return found


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


def _limits(settings: ManagedResourceSettings) -> TargetLimits:
    return TargetLimits(settings.allowed_namespaces, settings.allowed_kinds)


def _notes(resource: ManagedResource, settings: ManagedResourceSettings) -> Iterable[str]:
    if account := resource.spec.service_account_name or settings.service_account_name:
        yield (
            f"the ManagedResource acts as the ServiceAccount {account} of its namespace; this shows"
            " what you may see and do, not what that may"
        )
    if resource.metadata.deletion_timestamp is not None:
        yield "the ManagedResource is being deleted: its objects go, whatever this says"
    if keys.truthy(resource.metadata.annotations.get(keys.IGNORE)):
        yield f"the ManagedResource is ignored ({keys.IGNORE}): none of this happens"
    if is_suspended(resource):
        yield "the ManagedResource is suspended: none of this happens until it is resumed"


def _assumption(settings: Controllers) -> str:
    guard = settings.managed_resource.prune_guard
    return (
        f"assumed of the resource manager: deleting more than {guard.percent} % of"
        f" {guard.objects} or more objects has to be confirmed, and"
        f" {'a' if settings.garbage_collector.runs else 'no'} garbage collector runs;"
        " its configuration may say otherwise"
    )
