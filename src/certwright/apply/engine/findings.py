"""What became of one object: the entry for the change set, and its state if it is there."""

from dataclasses import dataclass

from certwright.apply.changeset import Action, Entry, last_foreign_writer
from certwright.apply.cluster import Live
from certwright.apply.diff import Diff, compare
from certwright.apply.engine.declared import Declared
from certwright.apply.engine.preserve import Sent
from certwright.apply.redaction import without_values_of
from certwright.apply.refs import ObjectRef
from certwright.kube import Invalid, JsonObject


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of one object."""

    entry: Entry
    live: Live | None = None


def created(ref: ObjectRef, live: Live | None, *, dry_run: bool) -> Finding:
    """Report a new object; what would be created is shown, what was created can be read."""
    diff = compare(None, _without_status(live.obj)) if dry_run and live is not None else Diff()
    return Finding(Entry(ref, Action.CREATED, diff=diff), live)


def _without_status(obj: JsonObject) -> JsonObject:
    """Return what somebody declares of an object; the rest the server makes up."""
    return {name: part for name, part in obj.items() if name != "status"}


def configured(
    ref: ObjectRef, before: Live, after: Live, sent: Sent, field_manager: str
) -> Finding:
    """Report an object that was compared, and written if it differed."""
    reason = "".join(f"{path} cannot change and was ignored" for path in sent.ignored)
    if after is before:
        return Finding(Entry(ref, Action.UNCHANGED, reason, ignored=sent.ignored), after)
    diff = compare(before.obj, after.obj)
    if not diff:
        if after.resource_version == before.resource_version:
            return Finding(Entry(ref, Action.UNCHANGED, reason, ignored=sent.ignored), after)
        reason = reason or "only the ownership of fields changed"
    managed = {"metadata": {"managedFields": list(before.managed)}}
    writer = last_foreign_writer(managed, {field_manager}, after.own(field_manager))
    return Finding(Entry(ref, Action.CONFIGURED, reason, diff, writer, ignored=sent.ignored), after)


def failed(wanted: Declared, error: Exception, live: Live | None = None) -> Finding:
    """Report an object that could not be applied, in the words clients look for."""
    text = without_values_of(str(error), wanted.obj)
    reason = f'error during apply of object "{wanted.ref.id}": {text}'
    refused = isinstance(error, Invalid)
    return Finding(Entry(wanted.ref, Action.FAILED, reason, refused=refused), live)
