"""What became of one object, and what the others of the same pass learn from it.

Definitions and namespaces may arrive in the same pass as the objects that need them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from certwright.apply.changeset import Action, Change, FieldConflict, LastWriter, UndoneField
from certwright.apply.cluster import Live
from certwright.apply.diff import NO_DIFF, Diff, compare
from certwright.apply.engine.declared import Declared
from certwright.apply.kinds import UnknownKind
from certwright.apply.refs import ObjectRef
from certwright.kube import (
    ApiError,
    Conflict,
    Forbidden,
    GroupVersionKind,
    JsonObject,
    NotFound,
    Resource,
    find_condition,
    is_true,
)
from certwright.kube.conditions import conditions_of
from certwright.kube.errors import Cause
from certwright.kube.redaction import without_values_of

_NAMED: Final = 10
_HOLDER: Final = re.compile(r'^conflict with "([^"]*)"(?: with subresource "([^"]*)")?')
"""How the server names the manager of a field in the causes of a conflict."""


class ObjectOutcome(Struct, frozen=True):
    """What became of one object."""

    entry: Change
    live: Live | None = None
    error: Exception | None = None
    """Why it failed, if it did."""


def created(ref: ObjectRef, live: Live | None, *, dry_run: bool) -> ObjectOutcome:
    """Report a new object; what would be created is shown, what was created can be read."""
    diff = NO_DIFF
    if dry_run and live is not None:
        declared = {name: part for name, part in live.obj.items() if name != "status"}
        diff = compare(None, declared)
    dropped = live.dropped if live is not None else ()
    reason = _dropped(dropped)
    return ObjectOutcome(Change(ref, Action.CREATED, reason, diff, ignored=dropped), live)


def _dropped(fields: Sequence[str]) -> str:
    """Return that a server dropped fields; it names no more of them than it cares to."""
    return f"the server does not know {', '.join(fields)} and dropped it" if fields else ""


@dataclass(frozen=True, slots=True)
class Holder:
    """A field that another manager holds, and which one."""

    path: str
    """As a `FieldChange` names it."""
    manager: str


def configured(
    ref: ObjectRef,
    before: Live,
    after: Live,
    ignored: tuple[str, ...] = (),
    writer: LastWriter | None = None,
    holders: Sequence[Holder] = (),
) -> ObjectOutcome:
    """Report an object that was compared, and written if it differed.

    *writer* wrote last besides us. *holders* are what others held of it that is not as declared.
    """
    reason = "".join(f"{path} cannot change and was ignored" for path in ignored)
    reason = "; ".join(filter(None, (reason, _dropped(after.dropped))))
    ignored = (*ignored, *after.dropped)
    unchanged = Change(ref, Action.UNCHANGED, reason, ignored=ignored)
    if after is before:
        return ObjectOutcome(unchanged, after)
    diff = compare(before.obj, after.obj)
    if not diff:
        if after.resource_version == before.resource_version:
            return ObjectOutcome(unchanged, after)
        reason = reason or "only the ownership of fields changed"
    undone = tuple(undone_fields(diff, holders))
    return ObjectOutcome(
        Change(ref, Action.CONFIGURED, reason, diff, writer, ignored=ignored, undone=undone), after
    )


def undone_fields(diff: Diff, holders: Sequence[Holder]) -> Iterator[UndoneField]:
    """Yield what a write undid, and who had done it, where that is known.

    What was removed has no holder.
    """
    for change in diff.changes:
        if change.path.startswith("status"):
            continue
        found = {h.manager for h in holders if _is_inside(h.path, change.path)}
        yield UndoneField(change.path, ", ".join(sorted(found)))


def _is_inside(path: str, other: str) -> bool:
    """Return whether one of two paths leads to something in the other."""
    shorter, longer = sorted((path, other), key=len)
    return longer.startswith(shorter) and longer[len(shorter) :][:1] in {"", ".", "["}


def failed(wanted: Declared, error: Exception, live: Live | None = None) -> ObjectOutcome:
    """Report an object that could not be applied, in the words clients look for."""
    text = without_values_of(str(error), wanted.obj)
    reason = f'error during apply of object "{wanted.ref.id}": {text}'
    change = Change(
        wanted.ref,
        Action.FAILED,
        reason,
        refused=is_refusal(error),
        awaits_namespace=lacks_namespace(error),
    )
    return ObjectOutcome(change, live, error)


_PASSING: Final = frozenset({401, 408, 429})
"""What a server may answer today, and not tomorrow, to the same request."""


def is_refusal(error: Exception) -> bool:
    """Return whether a server judged an object, and would judge it the same again."""
    if not isinstance(error, ApiError) or isinstance(error, UnknownKind):
        return False
    if error.status_code == NotFound.code:
        return bool(error.details)  # what stands before a server may answer this to everything
    return 400 <= error.status_code < 500 and error.status_code not in _PASSING


def lacks_namespace(error: Exception) -> bool:
    """Return whether an object cannot be created before its namespace is."""
    if isinstance(error, NotFound):
        return error.details.get("kind") == "namespaces"
    causes = error.causes if isinstance(error, Forbidden) else ()
    return any(cause.reason == "NamespaceTerminating" for cause in causes)


def field_conflict(cause: Cause) -> FieldConflict | None:
    """Return the field of another manager for which an apply was refused; None if it was not."""
    holder = _HOLDER.match(cause.message)
    if cause.reason != "FieldManagerConflict" or holder is None:
        return None
    return FieldConflict(cause.field, holder[1], holder[2] or "")


def contested(wanted: Declared, held: Sequence[FieldConflict]) -> ObjectOutcome:
    """Report an object that was not written, because other managers hold some of its fields."""
    number = "1 field is" if len(held) == 1 else f"{len(held)} fields are"
    more = [f"and {len(held) - _NAMED} more"] if len(held) > _NAMED else []
    fields = ", ".join([*map(str, held[:_NAMED]), *more])
    refused = failed(wanted, Conflict(f"{number} held by other managers: {fields}"))
    return ObjectOutcome(replace(refused.entry, conflicts=tuple(held)))


_MISSED = frozenset({Action.FAILED, Action.BLOCKED})


class Definitions:
    """What one pass brings that its other objects need, and what of it is not ready."""

    def __init__(self, wanted: Iterable[Declared] = ()) -> None:
        self.young = False
        """Whether something was created that the server may take a moment to know everywhere."""
        self._kinds: set[tuple[str, str]] = set()
        self._namespaces: set[str] = set()
        self._served: dict[GroupVersionKind, Resource] = {}
        self._missing_kinds: dict[tuple[str, str], ObjectRef] = {}
        self._missing_namespaces: dict[str, ObjectRef] = {}
        for one in wanted:
            if is_definition(one.ref):
                self._kinds.add(_defined(one.obj))
            elif is_namespace(one.ref):
                self._namespaces.add(one.ref.name)

    def brings(self, ref: ObjectRef) -> bool:
        """Return whether the pass brings the kind or the namespace of an object."""
        return (ref.group, ref.kind) in self._kinds or ref.namespace in self._namespaces

    def waits_for(self, ref: ObjectRef) -> str:
        """Return what has to be there before an object can be; empty if nothing is missing."""
        missing = self._missing_kinds.get((ref.group, ref.kind))
        missing = missing or self._missing_namespaces.get(ref.namespace)
        return f"it waits for {missing}" if missing else ""

    def resource(self, gvk: GroupVersionKind) -> Resource | None:
        """Return how a kind is served whose definition the pass brought."""
        return self._served.get(gvk)

    def note(self, obj: JsonObject, finding: ObjectOutcome) -> None:
        """Take note of what became of a definition or a namespace."""
        ref, action = finding.entry.ref, finding.entry.action
        if is_namespace(ref):
            if action in _MISSED:
                self._missing_namespaces[ref.name] = ref
        elif finding.live is None or not is_established(finding.live):
            self._missing_kinds[_defined(obj)] = ref
        else:
            self._served.update(_resources(finding.live.obj["spec"]))
        self.young |= action in {Action.CREATED, Action.CONFIGURED, Action.RECREATED}


def is_definition(ref: ObjectRef) -> bool:
    """Return whether an object defines a kind."""
    return (ref.group, ref.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")


def is_namespace(ref: ObjectRef) -> bool:
    """Return whether an object is a namespace."""
    return (ref.api_version, ref.kind) == ("v1", "Namespace")


def is_established(live: Live) -> bool:
    """Return whether a definition's kind is served."""
    return is_true(conditions_of(live.obj), "Established")


def is_decided(live: Live) -> bool:
    """Return whether a definition's kind is served, or never will be."""
    names = find_condition(conditions_of(live.obj), "NamesAccepted")
    return is_established(live) or (names is not None and names.status == "False")


def _defined(obj: JsonObject) -> tuple[str, str]:
    spec: Any = obj.get("spec")
    names: Any = spec.get("names") if isinstance(spec, dict) else None
    if not isinstance(names, dict):
        return ("", "")
    return (str(spec.get("group") or ""), str(names.get("kind") or ""))


def _resources(spec: JsonObject) -> dict[GroupVersionKind, Resource]:
    names, namespaced = spec["names"], spec["scope"] == "Namespaced"
    served = (version["name"] for version in spec["versions"] if version.get("served"))
    resources = (
        Resource(spec["group"], version, names["kind"], names["plural"], namespaced)
        for version in served
    )
    return {resource.gvk: resource for resource in resources}
