"""Field ownership: what server-side apply and every other write do to an object.

Pure functions over plain JSON objects. `apply` merges a configuration into the live object and
refuses to take fields from other managers; `update` records who changed what in an object a
client wrote whole or patched. Both return the object to store. Defaulting, validation and the
decision whether anything changed are the caller's; `keep_times` helps with the last.

Results share unchanged parts with the arguments: do not change either in place.
"""

import unicodedata
from dataclasses import dataclass

from certwright.apiserver.fields import lastapplied
from certwright.apiserver.fields.endpoints import blank, ignored_fields
from certwright.apiserver.fields.fieldset import (
    FieldSet,
    difference,
    field_set,
    intersection,
    is_subset,
    union,
    without,
)
from certwright.apiserver.fields.managedfields import (
    FieldManager,
    Managed,
    ManagedFieldsEntry,
    cap,
    conflict,
    entries_of,
    is_reset,
    normalised,
    read,
    with_entries,
    without_entries,
    write,
)
from certwright.apiserver.fields.merge import Comparison, compare, equal, merge, remove
from certwright.apiserver.fields.otherversions import OtherVersions, Unconvertible
from certwright.apiserver.fields.scale import scaled
from certwright.apiserver.fields.typed import TypeMismatch, check, owned, reconcile, with_containers
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.schema.schema import Schema
from certwright.kube.errors import BadRequest, InternalError
from certwright.kube.objects import JsonObject

MAX_MANAGER_BYTES = 128

_SERVER_FIELDS = field_set(
    "apiVersion", "kind", "metadata", "metadata.name", "metadata.namespace",
    "metadata.creationTimestamp", "metadata.selfLink", "metadata.uid", "metadata.clusterName",
    "metadata.generation", "metadata.managedFields", "metadata.resourceVersion",
)  # fmt: skip
"""What every object has and no manager owns."""


def default_manager(user_agent: str) -> str:
    """Name the manager of a request that does not: the program in its User-Agent."""
    name = ""
    for char in user_agent.split("/", 1)[0]:
        if char != " " and unicodedata.category(char)[0] in "CZ":
            continue  # not printable
        if len((name + char).encode()) > MAX_MANAGER_BYTES:
            break
        name += char
    return name


def apply(
    live: JsonObject | None,
    applied: JsonObject,
    *,
    kind: ServedKind,
    manager: str,
    force: bool,
    time: str,
    subresource: str = "",
    others: OtherVersions | None = None,
) -> JsonObject:
    """Merge a configuration into the live object on behalf of *manager*.

    *live* is None when the apply creates the object. Fields that only this manager owned and
    no longer mentions are removed. Returns the live object itself when nothing changes, owners
    included. With *others*, what managers of other versions own is compared in their version.

    Raises:
        Conflict: other managers own changed fields and *force* is off; the causes name them.
        BadRequest: the configuration carries managedFields or another type.
        InternalError: it does not fit the schema (the server's own choice of status).
    """
    _check_applied(applied, kind)
    target = _Target.of(kind, subresource, others)
    base = without_entries(live) if live else blank(kind)
    managed = read(live)
    try:
        if not managed and live:
            managed = _track(blank(kind), base, managed, target, "before-first-apply", time)
        conflicts, result, owners = _apply(base, applied, managed, target, manager)
    except Unconvertible as error:
        raise InternalError(str(error), reason="") from None
    except TypeMismatch as error:
        raise _mismatch("live", base, error) from error
    if conflicts and not force and manager == lastapplied.MANAGER:
        allowed = lastapplied.owned_fields(base, kind)
        conflicts = {who: difference(what, allowed) for who, what in conflicts.items()}
        conflicts = {who: what for who, what in conflicts.items() if what}
    if conflicts and not force:
        raise conflict(conflicts)
    me = FieldManager.applier(manager, subresource)
    if me in owners and (result is not base or live is None):
        owners[me].time = time
    if manager == lastapplied.MANAGER:
        result = lastapplied.kept_in_step(result, applied)
    entries = write(owners)
    if result is base and live and entries == entries_of(live):
        return live
    return with_entries(result, entries)


def update(
    old: JsonObject | None,
    new: JsonObject,
    *,
    kind: ServedKind,
    manager: str,
    time: str,
    subresource: str = "",
    others: OtherVersions | None = None,
) -> JsonObject:
    """Record in *new* that *manager* wrote it in place of *old*; None means it was created.

    Fields whose value changed become the manager's, fields that are gone lose their owners. A new
    object may carry managedFields of its own, which replace the old ones; an empty list
    forgets all owners.
    """
    if subresource == "scale" and old:
        return scaled(old, new, kind=kind, manager=manager)
    base = without_entries(old) if old else blank(kind)
    fresh = without_entries(new)
    managed = _requested_entries(old, None if subresource else new)
    if managed or old is None:
        target = _Target.of(kind, subresource, others)
        try:
            managed = cap(_track(base, fresh, managed, target, manager, time))
        except TypeMismatch:
            managed = {}  # validation has the word; what it lets pass has no owners
    return with_entries(fresh, write(managed))


def keep_times(old: JsonObject, new: JsonObject) -> JsonObject:
    """Return *old* if *new* differs from it in nothing but times of managedFields, else *new*."""
    before, after = entries_of(old), entries_of(new)
    if not before or not after or len(before) != len(after):
        return new
    for ours, theirs in zip(before, after, strict=True):
        if ours is not theirs and {**ours, "time": ""} != {**theirs, "time": ""}:
            return new
    return old if equal(without_entries(old), without_entries(new)) else new


@dataclass(frozen=True, slots=True)
class _Target:
    """The endpoint a request writes to, as far as ownership is concerned."""

    schema: Schema
    api_version: str
    subresource: str
    ignored: FieldSet
    others: OtherVersions | None

    @classmethod
    def of(cls, kind: ServedKind, subresource: str, others: OtherVersions | None) -> "_Target":
        ignored = ignored_fields(kind, subresource)
        return cls(kind.schema, kind.resource.api_version, subresource, ignored, others)

    def schema_at(self, api_version: str) -> Schema:
        """Return the schema of the version that a manager wrote in."""
        if self.others is None or api_version == self.api_version:
            return self.schema
        return self.others.schema(api_version)

    def at(self, obj: JsonObject, api_version: str, doing: str = "") -> JsonObject:
        """Return an object in the version that a manager wrote in."""
        if self.others is None:
            return obj
        try:
            return self.others.typed(obj, api_version)
        except Unconvertible as error:
            raise Unconvertible(f"{doing}{error}") from None


class _Changes:
    """What differs between two objects, in each version that managers wrote in."""

    def __init__(self, base: JsonObject, new: JsonObject, target: _Target) -> None:
        self._base, self._new, self._target = base, new, target
        self.own = compare(base, new, target.schema).without(target.ignored)
        self._found = {target.api_version: self.own}

    def at(self, api_version: str) -> Comparison:
        """Return the differences in a version."""
        target = self._target
        if target.others is None:
            return self.own
        if api_version not in self._found:
            base = target.at(self._base, api_version, "failed to convert old object: ")
            new = target.at(self._new, api_version, "failed to convert new object: ")
            found = compare(base, new, target.schema_at(api_version)).without(target.ignored)
            self._found[api_version] = found
        return self._found[api_version]


def _check_applied(applied: JsonObject, kind: ServedKind) -> None:
    resource = kind.resource
    if (applied.get("apiVersion"), applied.get("kind")) != (resource.api_version, resource.kind):
        raise BadRequest(f"invalid object type: {_type(applied)}")
    if entries_of(applied) is not None:
        raise BadRequest("metadata.managedFields must be nil")
    try:
        check(applied, kind.schema)
    except TypeMismatch as error:
        raise _mismatch("patch", applied, error) from error


def _type(obj: JsonObject) -> str:
    api_version = str(obj.get("apiVersion", ""))
    group_version = api_version if "/" in api_version else f"/{api_version}"
    return f"{group_version}, Kind={obj.get('kind', '')}"


def _mismatch(which: str, obj: JsonObject, error: TypeMismatch) -> InternalError:
    """Return the refusal of an object that does not fit its schema: unclassified, status 500."""
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
    return InternalError(
        f"failed to create typed {which} object ({where}; {_type(obj)}): {error}", reason=""
    )


def _apply(
    base: JsonObject, applied: JsonObject, managed: Managed, target: _Target, manager: str
) -> tuple[dict[FieldManager, FieldSet], JsonObject, Managed]:
    """Return the conflicts, and what object and owners become if they are taken over."""
    schema, ignored = target.schema, target.ignored
    me = FieldManager.applier(manager, target.subresource)
    managed = _reconciled(base, managed, target)
    last = managed.pop(me, None)
    mine = without(owned(applied, schema), ignored)
    merged = merge(base, applied, schema)
    if last is not None:
        merged = _prune(base, merged, last, mine, managed, target)
    conflicts, managed = _take(_Changes(base, merged, target), managed)
    mine = difference(mine, _SERVER_FIELDS)
    if mine:
        if last and last.api_version == target.api_version and mine == last.fields:
            mine = last.fields
        entry = ManagedFieldsEntry(mine, target.api_version, last.time if last else "")
        entry.origin = last.origin if last else None
        managed[me] = entry
    return conflicts, merged, managed


def _prune(
    base: JsonObject,
    merged: JsonObject,
    last: ManagedFieldsEntry,
    mine: FieldSet,
    managed: Managed,
    target: _Target,
) -> JsonObject:
    """Take out of *merged* what this manager applied last time, and no manager wants any more."""
    wanted = {target.api_version: mine}
    for entry in managed.values():
        version = entry.api_version if target.others is not None else target.api_version
        wanted[version] = union(wanted.get(version, {}), entry.fields)
    version = last.api_version if target.others is not None else target.api_version
    if is_subset(last.fields, wanted.get(version, {})):
        return merged
    schema = target.schema_at(version)
    doing = "failed to prune fields: "
    late = "failed to convert {} object to last applied version: "
    whole = target.at(merged, version, doing + late.format("merged"))
    gone = with_containers(last.fields, schema)
    pruned = remove(whole, gone, schema) or {}
    # The version of the last time first: a conversion may need what another manager owns there.
    for each in sorted(wanted, key=lambda name: name != version):
        pruned = _with_owned(whole, pruned, each, wanted[each], target)
    # what no manager owns stays, unless it was inside something that goes
    dangling = f"{doing}failed add back dangling items: {late.format('pruned')}"
    kept = _present(target.at(pruned, version, dangling), schema)
    lost = intersection(difference(_present(whole, schema), kept), gone)
    pruned = target.at(remove(whole, lost, schema) or {}, target.api_version, doing)
    return base if equal(pruned, base) else pruned


def _with_owned(
    whole: JsonObject, pruned: JsonObject, version: str, fields: FieldSet, target: _Target
) -> JsonObject:
    """Return a pruned object with what managers of a version own in the whole one."""
    schema = target.schema_at(version)
    doing = "failed to prune fields: failed add back owned items: failed to convert {} object"
    doing += f" at version {version}: "
    whole = target.at(whole, version, doing.format("merged"))
    pruned = target.at(pruned, version, doing.format("pruned"))
    kept = union(_present(pruned, schema), with_containers(fields, schema))
    return remove(whole, difference(_present(whole, schema), kept), schema) or {}


def _present(obj: JsonObject, schema: Schema) -> FieldSet:
    return with_containers(owned(obj, schema), schema)


def _track(
    base: JsonObject, new: JsonObject, managed: Managed, target: _Target, manager: str, time: str
) -> Managed:
    """Return the owners after *manager* made *new* out of *base*."""
    changes = _Changes(base, new, target)
    _, managed = _take(changes, _reconciled(base, managed, target))
    mine = difference(changes.own.set, _SERVER_FIELDS)
    if mine:
        me = FieldManager.updater(manager, target.api_version, target.subresource)
        before = managed[me].fields if me in managed else {}
        managed[me] = ManagedFieldsEntry(union(mine, before), target.api_version, time)
    return managed


def _take(changes: _Changes, managed: Managed) -> tuple[dict[FieldManager, FieldSet], Managed]:
    """Take changed and removed fields from their owners; also return who lost which value."""
    lost: dict[FieldManager, FieldSet] = {}
    left: Managed = {}
    for manager, entry in managed.items():
        found = changes.at(entry.api_version)
        changed, removed = found.set, found.removed
        taken = intersection(entry.fields, changed) if changed else {}
        if taken:
            lost[manager] = taken
        if taken or removed:
            fields = difference(difference(entry.fields, taken), removed)
            if not fields:
                continue
            if fields != entry.fields:
                entry = ManagedFieldsEntry(fields, entry.api_version, entry.time)  # noqa: PLW2901 - replaced
        left[manager] = entry
    return lost, left


def _reconciled(base: JsonObject, managed: Managed, target: _Target) -> Managed:
    """Return the owners after changes of the schema; `TypeMismatch` if their version is gone."""
    out: Managed = {}
    for manager, entry in managed.items():
        target.at(base, entry.api_version)
        fields = reconcile(entry.fields, target.schema_at(entry.api_version))
        out[manager] = (
            entry
            if fields is entry.fields
            else ManagedFieldsEntry(fields, entry.api_version, entry.time)
        )
    return out


def _requested_entries(old: JsonObject | None, new: JsonObject | None) -> Managed:
    """Return the entries to start from: the client's if it sent sound ones, else the stored."""
    entries = entries_of(new)
    stored = entries_of(old)
    if entries is None or entries is stored or (entries and entries == stored):
        return read(old)  # clients send back what they read
    if is_reset(entries):
        return {}
    try:
        entries = normalised(entries)
    except ValueError:
        return read(old)
    return read({"metadata": {"managedFields": entries}})
