"""When a version is given up because Envoys reject it.

Upstream, a version is tainted when every subscribed Envoy has rejected it five times, for its
server sends a rejected version again and again. Ours never does, and an Envoy that rejected a
version once would reject it each time: what it says is about the content. So one rejection by each
subscribed Envoy is the same rule. An Envoy that has not answered yet has not rejected.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from certwright.xds.observations import EnvoyObservation
from certwright.xds.protocol.observation import SyncState


@dataclass(frozen=True, slots=True)
class EnvoyRejection:
    """What an Envoy rejected."""

    envoy: str
    type_url: str
    version: str
    message: str
    at: datetime


def rejections(envoy: EnvoyObservation, served: Mapping[str, str]) -> list[EnvoyRejection]:
    """Return what an Envoy has rejected of what is *served*: versions by type."""
    return [
        EnvoyRejection(envoy.peer, one.type_url, one.rejected, one.message, one.since)
        for one in envoy.types
        if one.state is SyncState.REJECTED and one.rejected == served.get(one.type_url, "")
    ]


def is_rejected_by_all(envoys: Iterable[EnvoyObservation], served: Mapping[str, str]) -> bool:
    """Return whether each Envoy that asked for what is served has rejected a part of it."""
    verdicts = [bool(rejections(one, served)) for one in envoys if one.types]
    return bool(verdicts) and all(verdicts)


def version_held(
    envoy: EnvoyObservation, history: Mapping[str, Collection[tuple[str, str]]]
) -> str:
    """Return the version whose resources an Envoy holds; empty if they are of none, or of several.

    *history* has, by version, what was served for it: pairs of type and the type's version.
    """
    held = {(one.type_url, one.held) for one in envoy.types if one.held and one.resources}
    if not held:
        return ""
    fitting = [version for version, served in history.items() if held <= set(served)]
    return fitting[-1] if fitting else ""
