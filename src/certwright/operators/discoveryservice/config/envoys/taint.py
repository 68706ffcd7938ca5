"""When a version is given up because Envoys reject it.

Upstream, a version is tainted when every subscribed Envoy has rejected it five times, for its
server sends a rejected version again and again. Ours never does, and an Envoy that rejected a
version once would reject it each time: what it says is about the content. So one rejection by each
subscribed Envoy is the same rule.

Each replica knows its own Envoys only. One that sees a rejection reports it in the status of the
revision; then the others report theirs. A report that an Envoy took the version stands for good.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from itertools import chain
from typing import Final

from msgspec.structs import replace

from certwright.api.envoyconfigs import Rejection, ReplicaReport
from certwright.xds.observations import EnvoyGroup, EnvoyObservation, observe_all
from certwright.xds.protocol.observation import Standings, SyncState, TypeObservation
from certwright.xds.typeurls import SECRET

OBJECTION: Final = timedelta(seconds=3)
"""How long other replicas have to say that an Envoy of theirs did not reject it."""
PATIENCE: Final = timedelta(seconds=60)
"""How long Envoys may take to answer before they count no more; their replica may be gone."""
SHOWN: Final = 3
"""Rejections that the report of a replica has."""
_LONGEST_MESSAGE: Final = 500
_CONTENT: Final = re.compile(r"inline_|private_key|certificate_chain|trusted_ca|secret *[{:]|-----")
"""Where the content of a Secret begins in what Envoy says about it."""


def rejections(
    envoys: Iterable[EnvoyObservation], served: Mapping[str, str], version: str
) -> list[Rejection]:
    """Return what Envoys have rejected of what is *served* for a version: versions by type."""
    return [
        Rejection(
            envoy=envoy.peer,
            type=one.type_url.rpartition(".")[2],
            version=version,
            message=shown_message(one)[:_LONGEST_MESSAGE],
            at=one.since.replace(microsecond=0),
        )
        for envoy in envoys
        for one in envoy.types
        if one.state is SyncState.REJECTED
        and one.rejected
        and one.rejected == served.get(one.type_url)
    ]


def shown_message(one: TypeObservation) -> str:
    """Return the words of an Envoy; of Secrets, without the content that it may repeat."""
    if one.type_url != SECRET:
        return one.message
    end = _CONTENT.search(one.message)
    return one.message if end is None else f"{one.message[: end.start()]}…"


def local_report(
    groups: Collection[EnvoyGroup],
    served: Mapping[str, str],
    written: Mapping[str, str],
    version: str,
    now: datetime,
) -> ReplicaReport:
    """Return what a replica has to say of its Envoys.

    Of what is *served*, rejections of types that the revision alone decides about (*written*) speak
    against it; those of others are shown.
    """
    opinions = {_opinion(group.types, written) for group in groups}
    rejecting = (group.streams for group in groups if _rejects(group.types, served))
    envoys = observe_all(chain.from_iterable(rejecting))
    return ReplicaReport(
        accepted=SyncState.ACKNOWLEDGED in opinions,
        pending=SyncState.SENT in opinions,
        against=SyncState.REJECTED in opinions,
        rejections=rejections(envoys, served, version)[:SHOWN],
        at=now.replace(microsecond=0),
    )


def _opinion(types: Standings, written: Mapping[str, str]) -> SyncState:
    """Return what an Envoy thinks of all that is written; that it waits if it asks for nothing."""
    if not types:
        return SyncState.WAITING
    if _rejects(types, written):
        return SyncState.REJECTED
    decided = [(one, wanted) for one in types if (wanted := written.get(one.type_url))]
    taken = all(one.accepted and one.held == wanted for one, wanted in decided)
    return SyncState.ACKNOWLEDGED if taken else SyncState.SENT


def _rejects(types: Standings, served: Mapping[str, str]) -> bool:
    return any(one.rejected and one.rejected == served.get(one.type_url) for one in types)


def due_report(
    mine: ReplicaReport, written: ReplicaReport | None, others: Iterable[ReplicaReport]
) -> ReplicaReport | None:
    """Return the report that a replica is to write now; None if there is nothing new to say.

    Nothing is said while no Envoy of any replica has rejected the version.
    """
    if written is None:
        asked = any(one.rejections for one in others)
        has_envoys = mine.accepted or mine.pending
        return mine if mine.rejections or (asked and has_envoys) else None
    accepted = mine.accepted or written.accepted
    kept = (
        written.rejections if len(written.rejections) >= len(mine.rejections) else mine.rejections
    )
    new = replace(mine, accepted=accepted, rejections=kept, at=written.at)
    new = replace(new, against=mine.against or written.against)
    return None if new == written else replace(new, at=mine.at)


def seconds_to_taint(reports: Mapping[str, ReplicaReport], now: datetime) -> float | None:
    """Return in how many seconds a revision is given up if no report changes; None if it is not."""
    if not any(one.against for one in reports.values()):
        return None
    if any(one.accepted for one in reports.values()):
        return None
    due = [one.at + (PATIENCE if one.pending else OBJECTION) for one in reports.values() if one.at]
    return max((max(due, default=now) - now).total_seconds(), 0.0)


HeldPairs = frozenset[tuple[str, str]]
"""Types of which resources are held, each with its version."""


def held_pairs(types: Standings) -> HeldPairs:
    """Return what an Envoy holds."""
    return frozenset((one.type_url, one.held) for one in types if one.held and one.resources)


def version_held(held: HeldPairs, history: Mapping[str, Collection[tuple[str, str]]]) -> str:
    """Return the version whose resources are held; empty if they are of none, or of several.

    *history* has, by version, what was served for it: pairs of type and the type's version.
    """
    if not held:
        return ""
    fitting = [version for version, served in history.items() if all(one in served for one in held)]
    return fitting[-1] if fitting else ""
