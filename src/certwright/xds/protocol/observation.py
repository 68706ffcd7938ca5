"""What is known of one type on one stream: what is wanted, what is held, and the verdict."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Final, NamedTuple

from certwright.xds.snapshot import ResourceSet
from certwright.xds.wire import text_field

_REMEMBERED: Final = 4096
"""So many rejected versions are remembered per type and stream; the oldest is forgotten first."""
_NONCE_FIELD: Final = 5
_NONCES: Final = 4096


class SyncState(StrEnum):
    """How far a client is with a type."""

    WAITING = "Waiting"
    """It asked for what does not exist yet."""
    SENT = "Sent"
    """A response is under way; it was neither accepted nor rejected yet."""
    ACKNOWLEDGED = "Acknowledged"
    """It accepted what it was sent last."""
    REJECTED = "Rejected"
    """It rejected what it was sent last, and keeps what it had."""


class Received(StrEnum):
    """What a request was."""

    SUBSCRIBED = "subscribed"
    """The first of its type."""
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CHANGED = "changed"
    """It names other resources, or the same ones once more."""
    STALE = "stale"
    """It answers another response than the last, so it is no verdict."""


class TypeObservation(NamedTuple):
    """What one client has of one type."""

    type_url: str
    wanted: str
    """The version of its snapshot; empty if that has nothing of the type."""
    held: str
    """The version that it accepted last; empty if none."""
    state: SyncState
    since: datetime
    """When the state was entered."""
    rejected: str = ""
    """The version that it rejected last; empty if it accepted one since."""
    message: str = ""
    """The words with which it rejected."""
    rejections: int = 0
    """How many responses it rejected on this stream."""
    resources: int = 0
    """How many resources it holds."""

    @property
    def in_sync(self) -> bool:
        """Whether it has what it shall have. After a rejection it may have parts of it."""
        if not self.wanted:
            return True
        return self.held == self.wanted and self.state is not SyncState.REJECTED


class TypeStanding(NamedTuple):
    """What one client has of one type, but for times, words and what is wanted.

    It is the same for all clients that were sent the same and took it.
    """

    type_url: str
    held: str
    """The version that it accepted last; empty if none."""
    resources: int
    """How many resources it holds."""
    accepted: bool
    """Whether it accepted what it was sent last."""
    rejected: str
    """The version that it was sent last and rejected; empty if it did not."""


Standings = tuple[TypeStanding, ...]
"""What one client has, of each type that it asked for."""


class StreamResponse(NamedTuple):
    """A response to be sent: its encoding, and what is needed to recognise the verdict."""

    type_url: str
    version: str
    nonce: str
    body: bytes
    """The encoded message but for its nonce; it is shared with other streams."""
    ending: bytes
    """The nonce, encoded; follows the body."""


@lru_cache(_NONCES)
def nonce_field(nonce: str) -> bytes:
    """Return the nonce of a response, encoded; streams count alike, so they share it."""
    return text_field(_NONCE_FIELD, nonce)


class ClientVerdict:
    """The last response of a type, and what the client thought of it.

    A response is rejected as a whole, and which of its parts are at fault is not said. What the
    client had before is not. If one part is left, it is, and is not sent again. Several are in
    doubt: as long as all of them are wanted, they are no reason for a response.
    """

    __slots__ = (
        "_complete", "_doubtful", "_only_removals", "_rejected", "held", "message", "nonce",
        "rejected", "rejections", "sent", "since", "state",
    )  # fmt: skip

    def __init__(self, now: datetime) -> None:
        self.state = SyncState.WAITING
        self.since = now
        self.nonce = ""
        """Of the last response."""
        self.sent = ""
        """The version of the last response."""
        self.held = ""
        self.rejected = ""
        self.message = ""
        self.rejections = 0
        self._complete = True
        self._only_removals = False
        """Whether the response that was rejected last had no resources."""
        self._rejected: dict[tuple[str, str], None] = {}
        self._doubtful: Mapping[str, str] = {}

    def holds(self, wanted: ResourceSet | None, source: ResourceSet | None) -> str:
        """Return the version that the client holds; it lacks nothing of its *source*."""
        if wanted is not None and source is wanted and not self.outstanding and not self.rejected:
            return wanted.version  # it changed, but not in what this client asked for
        return self.held

    def standing(
        self,
        type_url: str,
        wanted: ResourceSet | None,
        source: ResourceSet | None,
        resources: int,
    ) -> TypeStanding:
        """Return what is to be said of the client together with others."""
        state = self.state
        return TypeStanding(
            type_url,
            self.holds(wanted, source),
            resources,
            state is SyncState.ACKNOWLEDGED,
            self.rejected if state is SyncState.REJECTED else "",
        )

    @property
    def outstanding(self) -> bool:
        """Whether a response was sent that the client has not judged."""
        return self.state is SyncState.SENT

    def send(self, version: str, nonce: str, now: datetime, *, complete: bool) -> None:
        """Note that a response leaves; *complete* unless something rejected was left out of it."""
        self.state, self.since, self.sent, self.nonce = SyncState.SENT, now, version, nonce
        self._complete = complete

    def accept(self, contents: Mapping[str, str], now: datetime) -> None:
        """Note that the client accepted the last response, which had these versions by name."""
        self.since = now
        if contents:  # with what was new, all that was in doubt went along
            self._doubtful = {}
        if self._complete:
            self.state = SyncState.ACKNOWLEDGED
            self.held, self.rejected, self.message = self.sent, "", ""
        else:
            self.state = SyncState.REJECTED  # what was left out still stands

    def reject(self, message: str, suspects: Mapping[str, str], now: datetime) -> None:
        """Note that the client rejected the last response, and what it had not before of it."""
        self.state, self.since = SyncState.REJECTED, now
        self.rejected, self.message = self.sent, message
        self.rejections += 1
        self._only_removals = not suspects
        if len(suspects) > 1:
            self._doubtful = suspects
        for item in suspects.items() if len(suspects) == 1 else ():
            self._rejected.pop(item, None)
            self._rejected[item] = None
            if len(self._rejected) > _REMEMBERED:
                del self._rejected[next(iter(self._rejected))]

    def satisfy(self, version: str, now: datetime) -> None:
        """Note that the client lacks nothing: what it rejected, it does not want any more."""
        if self.state is SyncState.REJECTED and not self._only_removals:
            self.state, self.since = SyncState.ACKNOWLEDGED, now
            self.held, self.rejected, self.message = version, "", ""

    @property
    def has_rejected(self) -> bool:
        """Whether anything was rejected on this stream."""
        return bool(self._rejected or self._doubtful)

    def was_rejected(self, name: str, version: str) -> bool:
        """Return whether the client rejected a resource in this version, for itself."""
        return (name, version) in self._rejected

    def is_doubtful(self, name: str, version: str) -> bool:
        """Return whether it was rejected together with others.

        It goes along with the next part that is new, for the client may lack it; but by itself it
        is no reason to send a response.
        """
        return self._doubtful.get(name) == version

    def reconsider(self, is_wanted: Callable[[str, str], bool]) -> None:
        """Doubt nothing if one of the parts in doubt is not wanted: the others may be good."""
        if not all(is_wanted(name, version) for name, version in self._doubtful.items()):
            self._doubtful = {}
