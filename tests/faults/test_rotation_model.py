"""The decisions of a rotation under very many storms, on a model instead of a cluster.

The model has the places that authorities are written to, and readers whose volumes follow late.
What the operator knows of them may be old, is lost with its process, and changes reach places when
they like. Whatever happens, two readers that meet at any moment verify each other. That the operator
carries out these decisions is shown by ``test_rotation_survives.py``, at a hundred times the cost.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from random import Random

import pytest

from certwright.kube import Key
from certwright.operators.discoveryservice.certificates.rotation.places import PlaceAges
from certwright.pki.rotation import (
    Rotation,
    RotationAction,
    RotationPhase,
    RotationStep,
    Succession,
    TrustPlace,
)
from certwright.testkit.faults.replay import Replay

OLD, NEW = "old", "new"
AUTHORITY = Key("infra", "ca")
LAG = 600.0
"""No volume is further behind, in seconds."""
CAREFUL = Rotation(timedelta(seconds=LAG), timedelta(days=2), timedelta(minutes=1))
HASTY = Rotation(timedelta(), timedelta(days=2))
IRREVERSIBLE = {RotationAction.ACTIVATE, RotationAction.RETIRE}
ORDERS = {RotationAction.PROVE, RotationAction.REISSUE_SERVERS, RotationAction.REISSUE_ALL}
MOST_TURNS = 600


@dataclass(frozen=True)
class Version:
    """What a place held from a moment on."""

    at: float
    trusts: frozenset[str]
    signer: str
    serial: int
    proven: bool = True


@dataclass
class Reader:
    """Who mounts a place: holds some version of it, and has shown one when it last connected."""

    held: Version
    shown: Version


@dataclass
class Site:
    """All that exists outside the operator's memory."""

    rng: Random
    readers: dict[str, list[Reader]] = field(default_factory=dict)
    versions: dict[str, list[Version]] = field(default_factory=dict)
    signer: str = OLD
    next: str = ""
    trusted: frozenset[str] = frozenset({OLD})
    ordered: RotationAction = RotationAction.NONE
    now: float = 0.0
    serial: int = 0

    def __post_init__(self) -> None:
        for name in ("server", "a", "b"):
            first = Version(0.0, self.trusted, OLD, self._next_serial())
            self.versions[name] = [first]
            self.readers[name] = [Reader(first, first) for _ in range(self.rng.randint(1, 3))]

    def _next_serial(self) -> int:
        self.serial += 1
        return self.serial

    def follow(self, name: str) -> None:
        """Let a place follow the authority, as the pass over its certificate does."""
        last = self.versions[name][-1]
        server = name == "server"
        proof = self.ordered is RotationAction.PROVE and not server and not last.proven
        servers = self.ordered is RotationAction.REISSUE_SERVERS and server
        reissued = proof or (
            (servers or self.ordered is RotationAction.REISSUE_ALL) and last.signer != self.signer
        )
        if not reissued and last.trusts == self.trusted:
            return
        serial, signer = last.serial, last.signer
        if reissued:
            serial, signer = self._next_serial(), self.signer
        self.versions[name].append(Version(self.now, self.trusted, signer, serial, proven=reissued))

    def pass_time(self) -> None:
        """Let volumes follow at any moment but not too late, and readers connect at any moment."""
        self.now += self.rng.choice([1.0, 15.0, 60.0, 200.0])
        for name, readers in self.readers.items():
            versions = self.versions[name]
            for reader in readers:
                for later in versions[versions.index(reader.held) + 1 :]:
                    if self.now - later.at >= LAG or self.rng.random() < 0.2:
                        reader.held = later
                    else:
                        break
                if name == "server" or self.rng.random() < 0.5:
                    reader.shown = reader.held

    def strangers(self) -> bool:
        """Return whether some server and some client do not verify each other now."""
        clients = [one.held for name in ("a", "b") for one in self.readers[name]]
        return any(
            one.held.signer not in client.trusts or client.signer not in one.held.trusts
            for one in self.readers["server"]
            for client in clients
        )

    def act(self, action: RotationAction) -> None:
        """Write what a step writes into the Secret of the authority."""
        match action:
            case RotationAction.PREPARE:
                self.next, self.trusted = NEW, frozenset({OLD, NEW})
            case RotationAction.ACTIVATE:
                self.signer, self.next = self.next, ""
            case RotationAction.RETIRE:
                self.trusted = frozenset({self.signer})
        self.ordered = action if action in ORDERS else RotationAction.NONE


@dataclass
class Operator:
    """What decides: it may see old versions and old reports, and forgets all when it is killed."""

    rotation: Rotation
    rng: Random
    observed: bool
    ages: PlaceAges = field(default_factory=PlaceAges)
    known: dict[str, int] = field(default_factory=dict)
    reports: dict[str, list[Version]] = field(default_factory=dict)

    def look(self, site: Site, *, due: bool) -> tuple[RotationStep, bool]:
        """Return the next step, and whether all places were seen as they are."""
        seen, fresh = [], True
        for name, versions in site.versions.items():
            newest = len(versions) - 1
            known = self.known.get(name, max(newest - 1, 0))  # a new process is shown the past
            self.known[name] = newest if self.rng.random() < 0.6 else known
            fresh = fresh and self.known[name] == newest
            seen.append(self._place(site, name, versions[self.known[name]]))
        step = self.rotation.step(
            Succession(
                site.signer,
                site.next,
                site.trusted,
                tuple(seen),
                due=due,
                ordered=site.ordered,
                observed=self.observed,
            )
        )
        return step, fresh

    def _place(self, site: Site, name: str, version: Version) -> TrustPlace:
        server = name == "server"
        if self.rng.random() < 0.7 or name not in self.reports:
            self.reports[name] = [one.shown for one in site.readers[name]]
        told = self.reports[name]
        trust = server and all(one.trusts == version.trusts for one in told)
        shown = all(one.serial == version.serial for one in told)
        age = {
            aspect: self.ages.age(AUTHORITY, name, aspect, value, site.now)
            for aspect, value in (
                ("trusts", ",".join(sorted(version.trusts))),
                ("signer", version.signer),
            )
        }
        return TrustPlace(
            name, version.trusts, version.signer, is_server=server,
            proven=version.proven or trust, shown=self.observed and shown,
            trusts_for=age["trusts"], signed_for=age["signer"],
        )  # fmt: skip


def play(seed: int, rotation: Rotation, *, observed: bool) -> tuple[bool, float]:
    """Replace an authority; return whether strangers met, and how many seconds it took."""
    rng = Random(seed)  # noqa: S311 - a storm to repeat
    site, operator = Site(rng), Operator(rotation, rng, observed)
    due, met = True, False
    for _ in range(MOST_TURNS):
        if rng.random() < 0.03:  # the process is killed
            operator = Operator(rotation, rng, observed)
        step, fresh = operator.look(site, due=due)
        if step.action is not RotationAction.NONE and (
            fresh or step.action not in IRREVERSIBLE  # which asks the server once more
        ):
            due = due and step.action is not RotationAction.PREPARE
            site.act(step.action)
        for name in site.versions:
            if rng.random() < 0.4:  # events come late
                site.follow(name)
        met = met or site.strangers()
        site.pass_time()
        met = met or site.strangers()
        if site.trusted == {NEW} and step.phase is RotationPhase.STABLE and fresh:
            return met, site.now
    raise AssertionError(f"seed {seed}: the rotation does not come to its end")


@pytest.mark.parametrize("observed", [False, True], ids=["by-time", "observed"])
def test_readers_that_meet_verify_each_other(*, observed: bool) -> None:
    """200 storms; with ``--certwright-seeds`` as many as are asked for."""
    failed = [
        seed for seed in Replay.seeds(range(200)) if play(seed, CAREFUL, observed=observed)[0]
    ]
    assert failed == []


def test_without_waiting_for_readers_they_would_not() -> None:
    failed = [seed for seed in range(50) if play(seed, HASTY, observed=False)[0]]
    assert len(failed) > 25


def test_what_readers_have_shown_makes_it_shorter() -> None:
    by_time = sum(play(seed, CAREFUL, observed=False)[1] for seed in range(30))
    assert sum(play(seed, CAREFUL, observed=True)[1] for seed in range(30)) < by_time
