"""What goes when an installation is removed, in which order, and what stays.

Registrations go first, so that no call waits for a webhook that is gone. Challenges that are under
way get time to finish, for only cert-manager can clean up after them. Definitions stay unless the
policy says otherwise, and with them all Certificates and Issuers. Secrets stay in any case. The
namespace goes only if we created it and others have nothing in it.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from certwright.apply import Action, Change, ChangeSet, ObjectRef
from certwright.client import Client, Selection
from certwright.keep import Installer, StatusInventory
from certwright.kube import JsonObject, Key, NotFound, Object, Resource
from certwright.kube.kinds import (
    ConfigMap,
    CronJob,
    CustomResourceDefinition,
    DaemonSet,
    Deployment,
    Ingress,
    Job,
    PersistentVolumeClaim,
    Secret,
    Service,
    StatefulSet,
)
from certwright.operators.certmanager.engine.deletion import (
    REGISTRATIONS,
    delete_in_order,
    not_gone,
)
from certwright.operators.certmanager.engine.gates import CERTIFICATE
from certwright.operators.certmanager.engine.port import Remains, refs_of
from certwright.operators.certmanager.request import DeletionPolicy
from certwright.runtime import Context

CHALLENGE: Final = Resource("acme.cert-manager.io", "v1", "Challenge", "challenges")
ISSUER: Final = Resource("cert-manager.io", "v1", "Issuer", "issuers")
CHALLENGE_SECONDS: Final = 120.0
"""How long Challenges that are under way may hold up a removal."""
MOST_NAMED: Final = 10
_KEPT_KINDS: Final = (
    Secret, ConfigMap, Service, PersistentVolumeClaim, Deployment, StatefulSet, DaemonSet, Job,
    CronJob, Ingress, CERTIFICATE, ISSUER,
)  # fmt: skip
"""What makes a namespace one that others use."""
_LEFT_BEHIND: Final = frozenset(
    {
        ("ConfigMap", "kube-root-ca.crt"),
        ("ConfigMap", "openshift-service-ca.crt"),
        ("Secret", "cert-manager-webhook-ca"),
    }
)
"""What Kubernetes and cert-manager put into the namespace themselves."""
_OF_ACCOUNT: Final = "kubernetes.io/service-account.name"


@dataclass(frozen=True, slots=True)
class Parts:
    """The objects of an inventory, by how they are removed."""

    registrations: tuple[ObjectRef, ...]
    definitions: tuple[ObjectRef, ...]
    namespaces: tuple[ObjectRef, ...]
    others: tuple[ObjectRef, ...]


def parts_of(refs: Iterable[ObjectRef]) -> Parts:
    """Divide an inventory."""
    found: dict[str, list[ObjectRef]] = {"r": [], "d": [], "n": [], "o": []}
    for ref in refs:
        if ref.kind in REGISTRATIONS:
            found["r"].append(ref)
        elif ref.kind == "CustomResourceDefinition":
            found["d"].append(ref)
        elif (ref.api_version, ref.kind) == ("v1", "Namespace"):
            found["n"].append(ref)
        else:
            found["o"].append(ref)
    return Parts(*(tuple(part) for part in found.values()))


def is_foreign(kind: str, metadata: JsonObject, ours: Collection[tuple[str, str]]) -> bool:
    """Return whether an object in the install namespace is neither ours nor cert-manager's own."""
    name = (kind, str(metadata.get("name") or ""))
    owned = any(owner.get("controller") for owner in metadata.get("ownerReferences") or ())
    is_token = kind == "Secret" and _OF_ACCOUNT in (metadata.get("annotations") or {})
    return not (name in ours or name in _LEFT_BEHIND or owned or is_token)


class Uninstaller:
    """Removes an installation, a part in each pass until nothing is left to do."""

    def __init__(
        self, installer: Installer, client: Client, note: Callable[[Change], None]
    ) -> None:
        self._installer = installer
        self._client = client
        self._note = note

    async def remove(
        self,
        ctx: Context,
        obj: Object,
        inventory: StatusInventory,
        policy: DeletionPolicy,
        *,
        patient: bool,
    ) -> Remains:
        """Remove what *obj* installed; *patient* if Challenges may still hold it up."""
        parts = parts_of(refs_of(inventory.listed))
        would_lose = policy.delete_crds and not policy.force and parts.definitions
        if would_lose and (certificates := await self._names(CERTIFICATE)):
            return Remains(certificates=certificates)
        changes = await self._delete(ctx, obj, inventory, parts.registrations)
        if not_gone(changes):
            return Remains(_pending(changes))
        await self._neutralise(parts.definitions)
        challenges = await self._challenges() if parts.others else ()
        if challenges and patient:
            waiting = tuple(
                Change(ref, Action.BLOCKED) for ref in parts.others if ref.kind == "Deployment"
            )
            return Remains(waiting, challenges)
        changes = await self._delete(ctx, obj, inventory, parts.others, patient=patient)
        if not_gone(changes):
            return Remains(_pending(changes), challenges)
        if policy.delete_crds:
            changes = await self._delete(ctx, obj, inventory, parts.definitions)
        else:
            changes = await self._installer.release(ctx, obj, inventory, parts.definitions)
        if not changes.complete:
            return Remains(_pending(changes), challenges)
        used_by = () if policy.delete_namespace else await self._users(parts)
        if used_by or policy.keep_namespace:
            changes = await self._installer.release(ctx, obj, inventory, parts.namespaces)
        else:
            changes = await self._delete(ctx, obj, inventory, parts.namespaces)
        return Remains(_pending(changes), challenges, namespace_used_by=used_by)

    async def _delete(
        self,
        ctx: Context,
        obj: Object,
        inventory: StatusInventory,
        refs: Sequence[ObjectRef],
        *,
        patient: bool = True,
    ) -> ChangeSet:
        if not refs:
            return ChangeSet()
        changes = await delete_in_order(ctx, obj, self._installer, inventory, refs, patient=patient)
        for change in changes.entries:
            self._note(change)
        return changes

    async def _neutralise(self, definitions: Iterable[ObjectRef]) -> None:
        """Let definitions need no webhook to convert between their versions."""
        for ref in definitions:
            entry = await self._installer.entry(ref)
            found: JsonObject = entry.obj() if entry is not None else {}
            conversion = (found.get("spec") or {}).get("conversion") or {}
            if conversion.get("strategy") == "Webhook":
                change = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
                await self._client.patch(CustomResourceDefinition, ref.key, change)

    async def _challenges(self) -> tuple[str, ...]:
        return await self._names(CHALLENGE, lambda obj: bool(_status(obj).get("processing")))

    async def _names(self, kind: Resource, wanted: Any = None) -> tuple[str, ...]:
        """Return the first few objects of a kind; none if it is not served."""
        found: list[str] = []
        try:
            async for page in self._client.pages(kind):
                objects = (orjson.loads(memoryview(item)) for item in page.items)
                chosen = (obj for obj in objects if wanted is None or wanted(obj))
                found += (f"{kind.kind} {_key(obj['metadata'])}" for obj in chosen)
                if len(found) > MOST_NAMED:
                    break
        except NotFound:
            return ()
        return tuple(found[:MOST_NAMED])

    async def _users(self, parts: Parts) -> tuple[str, ...]:
        ours = {(ref.kind, ref.name) for ref in parts.others}
        found: list[str] = []
        for namespace in parts.namespaces:
            for kind in _KEPT_KINDS:
                try:
                    pages = self._client.pages(kind, Selection(namespace.name), metadata_only=True)
                    async for page in pages:
                        for item in page.items:
                            metadata = orjson.loads(memoryview(item))["metadata"]
                            if is_foreign(kind.kind, metadata, ours):
                                found.append(f"{kind.kind} {_key(metadata)}")
                except NotFound:
                    continue
        return tuple(found[:MOST_NAMED])


def _pending(changes: ChangeSet) -> tuple[Change, ...]:
    return tuple(changes.with_action(Action.BLOCKED, Action.FAILED))


def _status(obj: JsonObject) -> JsonObject:
    return obj.get("status") or {}


def _key(metadata: JsonObject) -> Key:
    return Key(str(metadata.get("namespace") or ""), str(metadata["name"]))
