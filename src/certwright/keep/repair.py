"""Repairing a few objects of a large settled set, without a pass over all of it.

A set that is settled and of which only a few objects changed needs no pass: what is declared for
them is remembered, and everything else is as it was. Whatever is not as simple is left to a pass:
objects that are gone or are being deleted, fights, failures, and what affects health. That pass,
the usual way, is in `certwright.keep.keptset`.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import orjson

from certwright.apply import Action, Change, Declared, Live, ObjectRef, Owner
from certwright.apply.engine.engine import OnEntry
from certwright.apply.health import check_health, check_progress
from certwright.keep.keptset import KeptSets
from certwright.keep.state import Fingerprint, Identity, S
from certwright.kube import Key
from certwright.kube.kinds import Deployment
from certwright.runtime import Entry, Store

MOST: Final = 20
"""How many objects are repaired in this way; if more changed, a pass looks at all."""
_REPAIRED: Final = frozenset({Action.CONFIGURED, Action.UNCHANGED})


class Repairs(NamedTuple):
    """What was repaired."""

    changes: Sequence[Change]
    fights: int
    """How many of these repairs turned into a fight."""


async def repair_drift(
    kept: KeptSets[S], key: Key, owner: Owner, on_entry: OnEntry | None = None
) -> Repairs | None:
    """Repair objects that drifted; return which were written, or None if it takes a pass."""
    state = kept.states.known(key)
    if state is None or state.settled is None or not state.declared or state.disturbed:
        return None
    if not (state.confirmed and state.input_confirmed) or state.unwatched is not None:
        return None
    drifted = _drifted(state.settled, state.declared)
    if not drifted:
        return None
    wanted = [state.declared[identity] for identity in drifted]
    declared = [Declared(orjson.loads(text), rules) for text, rules in wanted]
    if not all(kept.may_repair(one.ref) for one in declared):
        return None
    versions: dict[ObjectRef, str] = {}

    def note(entry: Change, live: Live | None) -> None:
        if live is not None:
            versions[entry.ref] = live.resource_version
        if on_entry is not None:
            on_entry(entry, live)

    refs = {one.ref for one in declared}
    done = await kept.engine.apply(declared, owner=owner, expected=refs, on_entry=note)
    if any(entry.action not in _REPAIRED for entry in done.entries) or state.settled is None:
        return None
    written = [entry for entry in done.entries if entry.action is Action.CONFIGURED]
    now = {ref.identity: version for ref, version in versions.items()}
    state.settled = _followed(state.settled, now)
    return Repairs(written, kept.count_repairs(key, written))


def _drifted(settled: Fingerprint, declared: Mapping[Identity, object]) -> list[Identity]:
    """Return which objects changed; none if anything else did, or more than a few."""
    found: list[Identity] = []
    for store, entry in settled.held:
        now = store.get(entry.key)
        if now is entry:
            continue
        identity = _identity(store, entry)
        if now is None or now.meta.deleting or identity not in declared or len(found) == MOST:
            return []
        if store.resource == Deployment or not (_is_well(entry) and _is_well(now)):
            return []
        found.append(identity)
    return found


def _followed(settled: Fingerprint, now: Mapping[Identity, str]) -> Fingerprint | None:
    """Return what is settled after a repair; None if an object was changed again meanwhile.

    That change has woken the set, and without what is settled it takes a pass.
    """
    held: list[tuple[Store, Entry]] = []
    for store, entry in settled.held:
        latest = store.get(entry.key)
        if latest is not entry and (version := now.get(_identity(store, entry))) is not None:
            if latest is None or latest.meta.resource_version != version or not _is_well(latest):
                return None
            held.append((store, latest))
        else:
            held.append((store, entry))
    return Fingerprint(tuple(held))


def _is_well(entry: Entry) -> bool:
    """Return whether an object is healthy and has arrived, so that a repair changes no verdict."""
    obj = entry.obj()
    return bool(check_health(obj)) and bool(check_progress(obj, None))


def _identity(store: Store, entry: Entry) -> Identity:
    return (store.resource.group, store.resource.kind, entry.key.namespace, entry.key.name)
