"""What one process remembers between looks at the same object. Nothing of it must be right.

Everything here can be lost at any time: a restart costs a repeated check, or a second
certificate where the first was signed and not yet written, and nothing else.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from certwright.issuer.bundle import Bundle
from certwright.issuer.check.status import Trouble
from certwright.issuer.requests.match import IssuerAt
from certwright.issuer.requests.outcomes import Notice
from certwright.kube import Key, Resource
from certwright.runtime import Channel

SETTLED = 20_000
"""How many settled requests of a kind are remembered, so that old news is not believed."""


@dataclass(slots=True)
class Attempts:
    """What was tried for one request."""

    uid: str
    count: int = 0
    failures: int = 0
    """Failures in a row, for the delay; a poll or success forgets them."""
    moves: int = 0
    """Changes in a row of an author's condition; each of them wakes the request by itself."""
    not_before: float = 0.0
    """When, by the monotonic clock, one whose condition keeps changing may be signed again."""
    signed: Bundle | None = None
    """Signed and not yet written: never signed again for a write that failed."""
    verified: str = ""
    """The version that the API server confirmed."""
    told: Notice | None = None
    """The last event."""


@dataclass(slots=True)
class Health:
    """How it went with one issuer."""

    failures: int = 0
    """Checks that failed in a row."""
    flaps: int = 0
    """How often it passed its check and failed a request since it last signed one."""
    not_before: float = 0.0
    """When, by the monotonic clock, a flapping issuer may be checked again."""
    is_changed: bool = False
    """Whether something that its spec refers to changed since the last check."""
    uses: frozenset[Key] = frozenset()


class Memory:
    """The memory of one app in one process."""

    def __init__(self, issuer_kinds: Iterable[Resource]) -> None:
        self.started = asyncio.Event()
        """Set when the author's startup hooks have run."""
        self.channels = {kind: Channel() for kind in issuer_kinds}
        self._requests: dict[tuple[Resource, Key], Attempts] = {}
        self._issuers: dict[IssuerAt, Health] = {}
        self._reports: dict[IssuerAt, Trouble] = {}
        self._links: dict[tuple[Resource, Key], IssuerAt] = {}
        self._linked: dict[IssuerAt, set[tuple[Resource, Key]]] = defaultdict(set)
        self._users: dict[Key, set[IssuerAt]] = defaultdict(set)
        self._first_write: int | None = None
        # By name, in a plain dict: of everything here only this grows with what was issued.
        self._settled: dict[Resource, dict[str, int]] = defaultdict(dict)

    # Requests

    def attempts(self, kind: Resource, key: Key, uid: str) -> Attempts:
        """Return what was tried for a request; an object of the same name starts anew."""
        known = self._requests.get((kind, key))
        if known is None or known.uid != uid:
            known = self._requests[kind, key] = Attempts(uid)
        return known

    def forget(self, kind: Resource, key: Key) -> None:
        """Forget a request that is settled or gone."""
        self._requests.pop((kind, key), None)
        at = self._links.pop((kind, key), None)
        if at is not None:
            self._linked[at].discard((kind, key))
            if not self._linked[at]:
                del self._linked[at]

    def settle(self, kind: Resource, key: Key, version: str) -> None:
        """Remember that a request was settled at a version, and nothing else about it."""
        if not version.isdecimal():
            return
        settled, name = self._settled[kind], str(key)
        settled.pop(name, None)  # the last one to be settled is the last one forgotten
        settled[name] = int(version)
        if len(settled) > SETTLED:
            del settled[next(iter(settled))]

    def is_settled(self, kind: Resource, key: Key, version: str) -> bool:
        """Whether a request was settled at this version or a later one, as far as we remember."""
        known = self._settled[kind].get(str(key))
        return known is not None and version.isdecimal() and int(version) <= known

    def link(self, kind: Resource, key: Key, at: IssuerAt) -> None:
        """Note that a request is to be woken when its issuer changes."""
        self._links[kind, key] = at
        self._linked[at].add((kind, key))

    def linked(self, kind: Resource, at: IssuerAt) -> list[Key]:
        """Return the requests of a kind that an issuer's change concerns."""
        return [key for linked, key in self._linked.get(at, ()) if linked == kind]

    def wrote(self, version: str) -> None:
        """Note the version that a write of this process led to: the first one is remembered."""
        if self._first_write is None and version.isdecimal():
            self._first_write = int(version)

    def is_surely_current(self, version: str) -> bool:
        """Whether a version is younger than this process.

        What is older may have been signed by somebody before us, and a list or a watch may
        show it as it was before that: then the API server has to be asked.
        """
        first = self._first_write
        return first is not None and version.isdecimal() and int(version) > first

    # Issuers

    def health(self, at: IssuerAt) -> Health:
        """Return how it went with an issuer."""
        return self._issuers.setdefault(at, Health())

    def forget_issuer(self, at: IssuerAt) -> list[Key]:
        """Forget an issuer that is gone; return the Secrets that no issuer refers to any more."""
        orphans = self.use(at, frozenset())
        self._issuers.pop(at, None)
        self._reports.pop(at, None)
        return orphans

    def report(self, at: IssuerAt, trouble: Trouble) -> None:
        """Tell an issuer's loop what a request found out; the last one to speak is heard."""
        self._reports[at] = trouble
        self.channels[at.kind].send(at.key)

    def reported(self, at: IssuerAt) -> Trouble | None:
        """Return what was reported and not yet heard."""
        return self._reports.get(at)

    def heard(self, at: IssuerAt, trouble: Trouble | None) -> None:
        """Forget a report once it was dealt with; one that came meanwhile stays."""
        if self._reports.get(at) is trouble:
            self._reports.pop(at, None)

    def use(self, at: IssuerAt, secrets: frozenset[Key]) -> list[Key]:
        """Note which Secrets an issuer refers to; return those that no issuer does any more."""
        health = self.health(at)
        orphans: list[Key] = []
        for gone in health.uses - secrets:
            self._users[gone].discard(at)
            if not self._users[gone]:
                del self._users[gone]
                orphans.append(gone)
        for secret in secrets:
            self._users[secret].add(at)
        health.uses = secrets
        return orphans

    def users_of(self, kind: Resource, secret: Key) -> list[Key]:
        """Return the issuers of a kind that a Secret's change concerns, and mark them."""
        found = [at for at in self._users.get(secret, ()) if at.kind == kind]
        for at in found:
            self.health(at).is_changed = True
        return [at.key for at in found]
