"""What one process remembers between two passes over the same object.

All of it can be lost at any time: a restart costs a repeated check, or a second certificate
where the first was signed and not yet written, and nothing else.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from certwright.issuer.kinds import IssuerKey
from certwright.issuer.request import Bundle
from certwright.issuer.sign.result import CheckFailure
from certwright.issuer.status import StatusEvent
from certwright.kube import Key, Resource
from certwright.runtime import Channel

FINAL = 20_000
"""How many final requests of a kind are remembered, so that an older version is not signed."""


@dataclass(slots=True)
class RequestMemory:
    """What was tried for one request."""

    uid: str
    attempts: int = 0
    failures: int = 0
    """Failures in a row, for the delay; a poll or success forgets them."""
    moves: int = 0
    """Changes in a row of an author's condition; each of them wakes the request by itself."""
    not_before: float = 0.0
    """When, by the monotonic clock, a request whose condition keeps changing may be signed."""
    signed: Bundle | None = None
    """Signed and not yet written: a write that fails is repeated, ``sign`` is not."""
    verified: str = ""
    """The version that the API server confirmed."""
    last_event: StatusEvent | None = None


@dataclass(slots=True)
class IssuerMemory:
    """How one issuer fared."""

    failures: int = 0
    """Checks that failed in a row."""
    flaps: int = 0
    """How often it passed its check and failed a request since it last signed one."""
    not_before: float = 0.0
    """When, by the monotonic clock, a flapping issuer may be checked again."""
    is_changed: bool = False
    """Whether something that its spec refers to changed since the last check."""
    uses: frozenset[Key] = frozenset()


class AppMemory:
    """The memory of one app in one process."""

    def __init__(self, issuer_kinds: Iterable[Resource]) -> None:
        self.started = asyncio.Event()
        """Set when the author's startup hooks have run."""
        self.channels = {kind: Channel() for kind in issuer_kinds}
        self._requests: dict[tuple[Resource, Key], RequestMemory] = {}
        self._issuers: dict[IssuerKey, IssuerMemory] = {}
        self._reports: dict[IssuerKey, CheckFailure] = {}
        self._links: dict[tuple[Resource, Key], IssuerKey] = {}
        self._linked: dict[IssuerKey, set[tuple[Resource, Key]]] = defaultdict(set)
        self._users: dict[Key, set[IssuerKey]] = defaultdict(set)
        self._first_write: int | None = None
        self._unserved: set[Resource] = set()
        # By name, in a plain dict: this alone grows with the number of requests issued.
        self._final: dict[Resource, dict[str, int]] = defaultdict(dict)

    # Requests

    def request(self, kind: Resource, key: Key, uid: str) -> RequestMemory:
        """Return what was tried for a request; an object of the same name starts anew."""
        known = self._requests.get((kind, key))
        if known is None or known.uid != uid:
            known = self._requests[kind, key] = RequestMemory(uid)
        return known

    def forget(self, kind: Resource, key: Key) -> None:
        """Forget a request that is final or deleted."""
        self._requests.pop((kind, key), None)
        at = self._links.pop((kind, key), None)
        if at is not None:
            self._linked[at].discard((kind, key))
            if not self._linked[at]:
                del self._linked[at]

    def set_final(self, kind: Resource, key: Key, version: str) -> None:
        """Remember that a request was final at a version, and nothing else about it."""
        if not version.isdecimal():
            return
        final, name = self._final[kind], str(key)
        final.pop(name, None)  # so that it is forgotten last
        final[name] = int(version)
        if len(final) > FINAL:
            del final[next(iter(final))]

    def is_final(self, kind: Resource, key: Key, version: str) -> bool:
        """Return whether a request is known to be final at this version or a later one."""
        known = self._final[kind].get(str(key))
        return known is not None and version.isdecimal() and int(version) <= known

    def link(self, kind: Resource, key: Key, at: IssuerKey) -> None:
        """Note that a request is to be woken when its issuer changes."""
        self._links[kind, key] = at
        self._linked[at].add((kind, key))

    def linked(self, kind: Resource, at: IssuerKey) -> list[Key]:
        """Return the requests of a kind that an issuer's change concerns."""
        return [key for linked, key in self._linked.get(at, ()) if linked == kind]

    def wrote(self, version: str) -> None:
        """Note the version that a write of this process led to: the first one is remembered."""
        if self._first_write is None and version.isdecimal():
            self._first_write = int(version)

    def is_surely_current(self, version: str) -> bool:
        """Return whether a version is younger than this process.

        An older one may have been signed by an earlier process, and a list or a watch may show
        it as it was before that: then the API server has to be asked.
        """
        first = self._first_write
        return first is not None and version.isdecimal() and int(version) > first

    def is_first(self, kind: Resource) -> bool:
        """Return whether this is the first request that names a kind which is not served."""
        is_known = kind in self._unserved
        self._unserved.add(kind)
        return not is_known

    # Issuers

    def issuer(self, at: IssuerKey) -> IssuerMemory:
        """Return how an issuer fared."""
        return self._issuers.setdefault(at, IssuerMemory())

    def forget_issuer(self, at: IssuerKey) -> list[Key]:
        """Forget a deleted issuer; return the Secrets that no issuer refers to any more."""
        orphans = self.use(at, frozenset())
        self._issuers.pop(at, None)
        self._reports.pop(at, None)
        return orphans

    def report(self, at: IssuerKey, failure: CheckFailure) -> None:
        """Hand a failure that a request met to the issuer's controller; the last one counts."""
        self._reports[at] = failure
        self.channels[at.kind].send(at.key)

    def reported(self, at: IssuerKey) -> CheckFailure | None:
        """Return the failure that was reported and not yet dealt with."""
        return self._reports.get(at)

    def clear_report(self, at: IssuerKey, failure: CheckFailure | None) -> None:
        """Forget a report that was dealt with; one that came meanwhile stays."""
        if self._reports.get(at) is failure:
            self._reports.pop(at, None)

    def use(self, at: IssuerKey, secrets: frozenset[Key]) -> list[Key]:
        """Note which Secrets an issuer refers to; return those that no issuer does any more."""
        memory = self.issuer(at)
        orphans: list[Key] = []
        for gone in memory.uses - secrets:
            self._users[gone].discard(at)
            if not self._users[gone]:
                del self._users[gone]
                orphans.append(gone)
        for secret in secrets:
            self._users[secret].add(at)
        memory.uses = secrets
        return orphans

    def users_of(self, kind: Resource, secret: Key) -> list[Key]:
        """Return the issuers of a kind that a Secret's change concerns, and mark them."""
        found = [at for at in self._users.get(secret, ()) if at.kind == kind]
        for at in found:
            self.issuer(at).is_changed = True
        return [at.key for at in found]
