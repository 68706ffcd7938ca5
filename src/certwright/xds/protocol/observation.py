"""What is known of one type on one stream: what is wanted, what is held, and the verdict."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

_REMEMBERED: Final = 4096
"""So many rejected versions are remembered per type and stream; the oldest is forgotten first."""


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


class StreamResponse(NamedTuple):
    """A response to be sent: its encoding, and what is needed to recognise the verdict."""

    type_url: str
    version: str
    nonce: str
    body: bytes
    """The encoded message but for its nonce; it is shared with other streams."""
    ending: bytes
    """The nonce, encoded; follows the body."""


class ClientVerdict:
    """The last response of a type, and what the client thought of it."""

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
        self._versions: dict[tuple[str, str], None] = {}

    @property
    def outstanding(self) -> bool:
        """Whether a response was sent that the client has not judged."""
        return self.state is SyncState.SENT

    def send(self, version: str, nonce: str, now: datetime, *, complete: bool) -> None:
        """Note that a response leaves; *complete* unless something rejected was left out of it."""
        self.state, self.since, self.sent, self.nonce = SyncState.SENT, now, version, nonce
        self._complete = complete

    def accept(self, now: datetime) -> None:
        """Note that the client accepted the last response."""
        self.since = now
        if self._complete:
            self.state = SyncState.ACKNOWLEDGED
            self.held, self.rejected, self.message = self.sent, "", ""
        else:
            self.state = SyncState.REJECTED  # what was left out still stands

    def reject(self, message: str, contents: Mapping[str, str], now: datetime) -> None:
        """Note that the client rejected the last response, which had these versions by name."""
        self.state, self.since = SyncState.REJECTED, now
        self.rejected, self.message = self.sent, message
        self.rejections += 1
        for item in contents.items():
            self._versions.pop(item, None)
            self._versions[item] = None
        while len(self._versions) > _REMEMBERED:
            del self._versions[next(iter(self._versions))]

    @property
    def has_rejected(self) -> bool:
        """Whether anything was rejected on this stream."""
        return bool(self._versions)

    def was_rejected(self, name: str, version: str) -> bool:
        """Return whether the client rejected a resource in this version, or what came with it."""
        return (name, version) in self._versions
