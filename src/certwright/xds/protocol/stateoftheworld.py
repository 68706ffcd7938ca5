"""State-of-the-world streams: each response has all that the client wants of a type.

A request names everything it wants, so the newest one replaces the ones before. Rules that are
easy to get wrong:

- The first request for a type is answered whatever version it names: a client that reconnects
  waits for an answer, even if nothing has changed.
- A request that answers another response than the last (a stale nonce) is ignored; the client
  sends all of it again with its next verdict.
- What was rejected is not sent again on the stream, however often the client asks. Yet after a
  rejection it is not known what the client has, for Envoy applies the good parts of a response:
  so whatever else is wanted next is sent, even if the client had it before. Of what was rejected
  together, the good parts are not known either: it is sent again as soon as one part is replaced.
- Of clusters and listeners an empty response means that there are none. Of other types it would
  mean nothing, so their subscriptions wait until a resource exists.
- A cluster that changes is not used by Envoy until it was sent its endpoints again, and until then
  Envoy does not accept the response either: so endpoints follow whenever a known cluster changed.
"""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from itertools import count
from typing import Final

from certwright.xds.protocol.observation import (
    ClientVerdict,
    Received,
    Standings,
    StreamResponse,
    TypeObservation,
    TypeStanding,
    nonce_field,
)
from certwright.xds.protocol.requests import WILDCARD, StateRequest
from certwright.xds.protocol.violation import MOST_TYPES, ProtocolViolation
from certwright.xds.snapshot import NodeSnapshot, ResourceSelection, ResourceSet
from certwright.xds.typeurls import CLUSTER, ENDPOINTS, FULL_STATE, rank

_WHOLE: Final = ""
"""Where types are accepted or rejected as a whole, the version of the whole is remembered so."""
_NOTHING: Final = {type_url: ResourceSet(type_url, ()) for type_url in FULL_STATE}


class _Subscription:
    """What a client wants of one type, and what it was sent."""

    __slots__ = (
        "before", "current", "full", "implicit", "in_flight", "names", "source", "type_url",
        "unanswered", "verdict", "wildcard",
    )  # fmt: skip

    def __init__(self, type_url: str, request: StateRequest, now: datetime) -> None:
        self.type_url = type_url
        self.full = type_url in FULL_STATE
        self.implicit = not request.names
        """Whether it never named anything, which means that it wants all."""
        self.wildcard = self.implicit or WILDCARD in request.names
        self.names = request.names - {WILDCARD}
        self.verdict = ClientVerdict(now)
        self.unanswered = True
        """Whether no response was sent yet."""
        self.current: Mapping[str, str] | None = None
        """What the client was sent last and did not reject; None if that is not known."""
        self.source: ResourceSet | None = None
        """The set of which nothing more is to be sent; None if something may be."""
        self.before: Mapping[str, str] = {}
        """What the client had when the last response was sent."""
        self.in_flight: Mapping[str, str] = {}
        """What the last response had."""

    def rename(self, names: frozenset[str]) -> None:
        """Take the names of a later request: an empty list is a wildcard only from the start."""
        self.implicit = self.implicit and not names
        wildcard = self.implicit or WILDCARD in names
        names -= {WILDCARD}
        if (wildcard, names) == (self.wildcard, self.names):
            return
        self.wildcard, self.names, self.source = wildcard, names, None
        if self.current is not None and not wildcard:
            # Names that return later are to be sent anew, for the client drops what it gives up.
            self.current = {name: held for name, held in self.current.items() if name in names}
        self.verdict.reconsider(lambda name, _version: wildcard or name in names)

    def wanted(self, snapshot: NodeSnapshot | None) -> ResourceSet | None:
        """Return what there is of the type; None if that is no answer."""
        if snapshot is None:
            return None
        return snapshot.types.get(self.type_url) or (_NOTHING[self.type_url] if self.full else None)

    def select(self, wanted: ResourceSet) -> ResourceSelection:
        """Return what there is of what the client asked for."""
        return wanted.all if self.wildcard else wanted.select(self.names)

    def choose(self, wanted: ResourceSet) -> ResourceSelection | None:
        """Return what is to be sent now; None if nothing is."""
        if self.source is wanted and not self.unanswered:
            return None
        selection = self.select(wanted)
        if self.full:
            if self.verdict.was_rejected(_WHOLE, _digest(selection.versions)):
                return None
        else:
            if self.verdict.has_rejected:
                selection = self._without_rejected(wanted, selection)
            if not selection.versions:
                return None
        return selection if self.unanswered or self._differs(selection.versions) else None

    def _without_rejected(
        self, wanted: ResourceSet, selection: ResourceSelection
    ) -> ResourceSelection:
        versions, verdict = selection.versions, self.verdict
        verdict.reconsider(lambda name, version: versions.get(name) == version)
        fit = [name for name, of in versions.items() if not verdict.was_rejected(name, of)]
        return selection if len(fit) == len(versions) else wanted.choose(fit)

    def _differs(self, versions: Mapping[str, str]) -> bool:
        if self.full:
            return self.current != versions
        current, is_doubtful = self.current or {}, self.verdict.is_doubtful
        return any(
            current.get(name) != version and not is_doubtful(name, version)
            for name, version in versions.items()
        )

    def has_all(self, wanted: ResourceSet) -> bool:
        """Return whether the client has all that it wants, as far as it exists."""
        versions = self.select(wanted).versions
        return self.current is not None and versions.items() <= self.current.items()

    def replaces(self, versions: Mapping[str, str]) -> bool:
        """Return whether a response with these versions changes what the client has."""
        known = self.current or {}
        return any(known.get(name, version) != version for name, version in versions.items())

    def resend(self) -> None:
        """Send everything once more, but for what was rejected."""
        self.current = self.source = None

    def reject(self, message: str, now: datetime) -> None:
        """Note that the last response was rejected: all of it, for its parts share one verdict."""
        self.source = None
        if self.full:
            self.verdict.reject(message, {_WHOLE: _digest(self.in_flight)}, now)
            self.current = None
            return
        sent, before = self.in_flight.items(), self.before
        suspects = {name: version for name, version in sent if before.get(name) != version}
        self.verdict.reject(message, suspects, now)
        if self.current is not None:
            sure = self.current.items()
            self.current = {name: version for name, version in sure if name not in suspects}


class StateStream:
    """One state-of-the-world stream."""

    __slots__ = ("_nonces", "_snapshot", "_standings", "_subscriptions", "due")

    def __init__(self) -> None:
        self._nonces = count(1)
        self._snapshot: NodeSnapshot | None = None
        self._subscriptions: dict[str, _Subscription] = {}
        self.due: set[str] = set()
        """The types of which something may have to be sent; the others need no look."""
        self._standings: dict[str, TypeStanding] = {}
        """By type, what is to be said of the client, unless something happened since."""

    def receive(self, request: StateRequest, now: datetime) -> Received:
        """Take a request; `ProtocolViolation` if the stream is to be ended."""
        received = self._receive(request, now)
        self._standings.pop(request.type_url, None)
        if received is not Received.STALE and self._may_lack(self._subscriptions[request.type_url]):
            self.due.add(request.type_url)
        return received

    def _may_lack(self, subscription: _Subscription) -> bool:
        """Return whether there may be something to send, after a look that costs nearly nothing."""
        source = subscription.source
        return source is None or source is not subscription.wanted(self._snapshot)

    def _receive(self, request: StateRequest, now: datetime) -> Received:
        found = self._subscriptions.get(request.type_url)
        if found is None:
            self._subscribe(request, now)
            return Received.SUBSCRIBED
        verdict = found.verdict
        if request.nonce not in {verdict.nonce, ""}:
            return Received.STALE
        received = Received.CHANGED
        if verdict.outstanding and request.nonce:  # one without was sent before a response came
            if request.error is None:
                received = Received.ACCEPTED
                verdict.accept(found.in_flight, now)
            else:
                received = Received.REJECTED
                found.reject(request.error, now)
        found.rename(request.names)
        return received

    def _subscribe(self, request: StateRequest, now: datetime) -> None:
        if not request.type_url:
            raise ProtocolViolation("the request names no type of resources")
        if len(self._subscriptions) >= MOST_TYPES:
            raise ProtocolViolation(f"more than {MOST_TYPES} types are asked for on one stream")
        added = _Subscription(request.type_url, request, now)
        self._subscriptions[request.type_url] = added
        self._subscriptions = dict(
            sorted(self._subscriptions.items(), key=lambda item: rank(item[0]))
        )

    def update(self, snapshot: NodeSnapshot | None) -> None:
        """Take the newest snapshot; without one, the client keeps what it has."""
        self._snapshot = snapshot
        for type_url, subscription in self._subscriptions.items():
            if self._may_lack(subscription):
                self.due.add(type_url)
                self._standings.pop(type_url, None)

    def next_response(self, now: datetime) -> StreamResponse | None:
        """Return the response that is due first, which is thereby sent; None if none is."""
        if not self.due:
            return None
        for type_url, subscription in self._subscriptions.items():
            if type_url not in self.due:
                continue
            self.due.discard(type_url)
            self._standings.pop(type_url, None)
            wanted = subscription.wanted(self._snapshot)
            if wanted is None or subscription.verdict.outstanding:
                continue  # the next snapshot, or the verdict, makes it due again
            selection = subscription.choose(wanted)
            if selection is not None:
                return self._respond(subscription, wanted, selection, now)
            if subscription.current is not None:
                subscription.source = wanted
                if subscription.has_all(wanted):
                    subscription.verdict.satisfy(wanted.version, now)
        return None

    def _respond(
        self,
        subscription: _Subscription,
        wanted: ResourceSet,
        selection: ResourceSelection,
        now: datetime,
    ) -> StreamResponse:
        nonce = str(next(self._nonces))
        subscription.unanswered = False
        endpoints = self._subscriptions.get(ENDPOINTS)
        if endpoints and wanted.type_url == CLUSTER and subscription.replaces(selection.versions):
            endpoints.resend()
            self.due.add(ENDPOINTS)
            self._standings.pop(ENDPOINTS, None)
        subscription.before = subscription.current or {}
        subscription.current = subscription.in_flight = selection.versions
        subscription.source = wanted
        complete = len(selection.versions) == len(subscription.select(wanted).versions)
        subscription.verdict.send(wanted.version, nonce, now, complete=complete)
        ending = nonce_field(nonce)
        return StreamResponse(wanted.type_url, wanted.version, nonce, selection.body, ending)

    def observe(self) -> list[TypeObservation]:
        """Return what the client has of each type that it asked for."""
        return [self._observe(one) for one in self._subscriptions.values()]

    def standings(self) -> Standings:
        """Return the same, as far as it is told of many clients together."""
        known = self._standings
        for type_url, one in self._subscriptions.items():
            if type_url not in known:
                wanted, resources = one.wanted(self._snapshot), len(one.current or ())
                known[type_url] = one.verdict.standing(type_url, wanted, one.source, resources)
        return tuple([known[type_url] for type_url in self._subscriptions])

    def _observe(self, subscription: _Subscription) -> TypeObservation:
        verdict = subscription.verdict
        wanted = subscription.wanted(self._snapshot)
        return TypeObservation(
            subscription.type_url,
            wanted.version if wanted else "",
            verdict.holds(wanted, subscription.source),
            verdict.state,
            verdict.since,
            verdict.rejected,
            verdict.message,
            verdict.rejections,
            len(subscription.current or {}),
        )


def _digest(versions: Mapping[str, str]) -> str:
    return sha256(repr(sorted(versions.items())).encode()).hexdigest()
