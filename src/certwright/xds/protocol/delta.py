"""Delta streams: each response has what changed since the client's last, and what is gone.

A request adds and removes names, so each one counts, also with a stale nonce: only its verdict is
ignored then. A name that is subscribed to is sent even if the client should have it: it may have
dropped it meanwhile. What was rejected is not sent again on the stream; of what was rejected
together, the good parts are not known: it is sent again as soon as one part is replaced. A cluster
that changes is not used by Envoy until it was sent its endpoints again: so they follow unasked.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import count
from typing import Final

from certwright.xds.protocol.observation import (
    ClientVerdict,
    Received,
    Standings,
    StreamResponse,
    TypeObservation,
    nonce_field,
)
from certwright.xds.protocol.requests import WILDCARD, DeltaRequest
from certwright.xds.protocol.violation import MOST_NAMES, MOST_TYPES, ProtocolViolation
from certwright.xds.snapshot import NodeSnapshot, ResourceSet, XdsResource
from certwright.xds.typeurls import CLUSTER, ENDPOINTS, rank
from certwright.xds.wire import text_field, wrapped

_UNKNOWN: Final = ""
"""The version of a resource that the client may have, in whichever version, or not at all."""


class _Subscription:
    """What a client wants of one type, and what it has of it."""

    def __init__(self, request: DeltaRequest, now: datetime) -> None:
        self.type_url = request.type_url
        self.wildcard = not request.subscribe or WILDCARD in request.subscribe
        self.names: set[str] = set()
        self.known: dict[str, str] = dict(request.held)
        """Version by name of what the client has, or was sent and has not judged."""
        self.nothing = ResourceSet(self.type_url, ())
        """What a snapshot without the type has of it."""
        self.verdict = ClientVerdict(now)
        self.unanswered = True
        """Whether no response was sent yet."""
        self.in_flight: Mapping[str, str] = {}
        """What the last response had."""
        self.removals: list[str] = []
        """The names that the last response removed."""
        self.source: ResourceSet | None = None
        """The set of which the client has everything that it wants; None if it may lack some."""
        if len(self.known) > MOST_NAMES:
            raise ProtocolViolation(f"more than {MOST_NAMES} resources of a type are held")
        self.add(request.subscribe, first=True)

    def add(self, names: Iterable[str], *, first: bool = False) -> None:
        """Subscribe to names; what the client says it holds at first need not be sent."""
        for name in names:
            if name == WILDCARD:
                self.wildcard = True
            else:
                self.names.add(name)
            if not first and (name in self.known or self._is_under_way(name)):
                self.known[name] = _UNKNOWN
            self.source = None
        if len(self.names) > MOST_NAMES:
            raise ProtocolViolation(f"more than {MOST_NAMES} resources of a type are asked for")

    def _is_under_way(self, name: str) -> bool:
        return self.verdict.outstanding and name in self.in_flight

    def remove(self, names: frozenset[str]) -> None:
        """Unsubscribe from names; what the wildcard still covers is sent anew."""
        for name in names:
            if name == WILDCARD:
                self.wildcard = False
                self.known = {one: held for one, held in self.known.items() if one in self.names}
            else:
                self.names.discard(name)
                self.known.pop(name, None)
            self.source = None
        self.verdict.reconsider(lambda name, _version: name not in names and self.covers(name))

    def lacking(self, wanted: ResourceSet) -> list[XdsResource]:
        """Return the resources that the client lacks."""
        names = wanted.resources if self.wildcard else self.names
        return [
            found
            for name in sorted(names)
            if (found := wanted.resources.get(name)) is not None
            and self.known.get(name) != found.version
        ]

    def covers(self, name: str) -> bool:
        """Return whether a resource of this name is asked for."""
        return self.wildcard or name in self.names

    def sendable(self, lacking: list[XdsResource]) -> list[XdsResource]:
        """Return what is to be sent of that, after what the client thought of it before."""
        verdict = self.verdict
        if not verdict.has_rejected:
            return lacking
        versions = {one.name: one.version for one in lacking}
        verdict.reconsider(lambda name, version: versions.get(name) == version)
        fit = [one for one in lacking if not verdict.was_rejected(one.name, one.version)]
        return fit if any(not verdict.is_doubtful(one.name, one.version) for one in fit) else []

    def removed(self, wanted: ResourceSet) -> list[str]:
        """Return the names of resources that the client has and shall not have."""
        return [name for name in sorted(self.known) if name not in wanted.resources]

    def replaces(self, changed: Iterable[XdsResource]) -> bool:
        """Return whether some of these are known to the client in another version."""
        return any(one.name in self.known for one in changed)

    def resend(self) -> None:
        """Send everything once more, but for what was rejected."""
        self.known = dict.fromkeys(self.known, _UNKNOWN)
        self.source = None

    def is_answer(self, wanted: ResourceSet) -> bool:
        """Return whether even a response without changes tells the client something."""
        return self.wildcard or any(name in wanted.resources for name in self.names)

    def reject(self, message: str, now: datetime) -> None:
        """Note that the last response was rejected."""
        self.verdict.reject(message, self.in_flight, now)
        self.known.update(dict.fromkeys(self.in_flight, _UNKNOWN))
        if self.in_flight:  # so the removals may have been rejected only for what came with them
            self.known.update(dict.fromkeys(self.removals, _UNKNOWN))
        self.source = None


class DeltaStream:
    """One delta stream."""

    def __init__(self) -> None:
        self._nonces = count(1)
        self._snapshot: NodeSnapshot | None = None
        self._subscriptions: dict[str, _Subscription] = {}
        self.due: set[str] = set()
        """The types of which something may have to be sent; the others need no look."""

    def receive(self, request: DeltaRequest, now: datetime) -> Received:
        """Take a request; `ProtocolViolation` if the stream is to be ended."""
        received = self._receive(request, now)
        if self._may_lack(self._subscriptions[request.type_url]):
            self.due.add(request.type_url)
        return received

    def _may_lack(self, subscription: _Subscription) -> bool:
        """Return whether there may be something to send, after a look that costs nearly nothing."""
        source = subscription.source
        return source is None or source is not self._wanted(subscription)

    def _receive(self, request: DeltaRequest, now: datetime) -> Received:
        found = self._subscriptions.get(request.type_url)
        if found is None:
            self._subscribe(request, now)
            return Received.SUBSCRIBED
        verdict = found.verdict
        received = Received.STALE if request.nonce else Received.CHANGED
        if verdict.outstanding and request.nonce == verdict.nonce:
            if request.error is None:
                received = Received.ACCEPTED
                verdict.accept(found.in_flight, now)
            else:
                received = Received.REJECTED
                found.reject(request.error, now)
        found.remove(request.unsubscribe)
        found.add(request.subscribe)
        return received

    def _subscribe(self, request: DeltaRequest, now: datetime) -> None:
        if not request.type_url:
            raise ProtocolViolation("the request names no type of resources")
        if len(self._subscriptions) >= MOST_TYPES:
            raise ProtocolViolation(f"more than {MOST_TYPES} types are asked for on one stream")
        self._subscriptions[request.type_url] = _Subscription(request, now)
        self._subscriptions = dict(
            sorted(self._subscriptions.items(), key=lambda item: rank(item[0]))
        )

    def update(self, snapshot: NodeSnapshot | None) -> None:
        """Take the newest snapshot; without one, the client keeps what it has."""
        self._snapshot = snapshot
        for type_url, subscription in self._subscriptions.items():
            if self._may_lack(subscription):
                self.due.add(type_url)

    def next_response(self, now: datetime) -> StreamResponse | None:
        """Return the response that is due first, which is thereby sent; None if none is."""
        if not self.due:
            return None
        for type_url, subscription in self._subscriptions.items():
            if type_url not in self.due:
                continue
            self.due.discard(type_url)
            wanted = self._wanted(subscription)
            if wanted is None or subscription.verdict.outstanding or subscription.source is wanted:
                continue
            lacking, removed = subscription.lacking(wanted), subscription.removed(wanted)
            changed = subscription.sendable(lacking)
            if changed or removed or (subscription.unanswered and subscription.is_answer(wanted)):
                complete = len(changed) == len(lacking)
                return self._respond(subscription, wanted, changed, removed, now, complete=complete)
            if not subscription.unanswered:
                subscription.source = wanted
            if not lacking:
                subscription.verdict.satisfy(wanted.version, now)
        return None

    def _wanted(self, subscription: _Subscription) -> ResourceSet | None:
        if self._snapshot is None:
            return None
        return self._snapshot.types.get(subscription.type_url) or subscription.nothing

    def _respond(
        self,
        subscription: _Subscription,
        wanted: ResourceSet,
        changed: list[XdsResource],
        removed: list[str],
        now: datetime,
        *,
        complete: bool,
    ) -> StreamResponse:
        nonce = str(next(self._nonces))
        endpoints = self._subscriptions.get(ENDPOINTS)
        if endpoints and wanted.type_url == CLUSTER and subscription.replaces(changed):
            endpoints.resend()
            self.due.add(ENDPOINTS)
        subscription.unanswered = False
        subscription.in_flight = {one.name: one.version for one in changed}
        subscription.known.update(subscription.in_flight)
        subscription.removals = removed
        for name in removed:
            del subscription.known[name]
        subscription.verdict.send(wanted.version, nonce, now, complete=complete)
        if complete:
            subscription.source = wanted
        ending = nonce_field(nonce)
        body = encode_delta(wanted, changed, removed)
        return StreamResponse(wanted.type_url, wanted.version, nonce, body, ending)

    def observe(self) -> list[TypeObservation]:
        """Return what the client has of each type that it asked for."""
        return [self._observe(one) for one in self._subscriptions.values()]

    def standings(self) -> Standings:
        """Return the same, as far as it is told of many clients together."""
        return tuple(
            [
                one.verdict.standing(one.type_url, self._wanted(one), one.source, len(one.known))
                for one in self._subscriptions.values()
            ]
        )

    def _observe(self, subscription: _Subscription) -> TypeObservation:
        verdict = subscription.verdict
        wanted = self._wanted(subscription)
        return TypeObservation(
            subscription.type_url,
            wanted.version if wanted and (wanted.resources or subscription.wildcard) else "",
            verdict.holds(wanted, subscription.source),
            verdict.state,
            verdict.since,
            verdict.rejected,
            verdict.message,
            verdict.rejections,
            len(subscription.known),
        )


def encode_delta(
    wanted: ResourceSet, changed: Iterable[XdsResource], removed: Iterable[str]
) -> bytes:
    """Return a ``DeltaDiscoveryResponse`` but for its nonce."""
    parts = [text_field(1, wanted.version)]
    for one in changed:
        inner = text_field(1, one.version) + wrapped(2, one.body) + text_field(3, one.name)
        parts.append(wrapped(2, inner))
    parts.append(text_field(4, wanted.type_url))
    parts.extend(text_field(6, name) for name in removed)
    return b"".join(parts)
