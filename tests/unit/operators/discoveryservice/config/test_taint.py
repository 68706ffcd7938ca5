"""When Envoys have rejected a version, and which one they hold."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

import pytest

from certwright.api.envoyconfigs import (
    EnvoyConfigRevision,
    EnvoyConfigRevisionSpec,
    EnvoyConfigRevisionStatus,
    Rejection,
    ReplicaReport,
)
from certwright.operators.discoveryservice.config.envoys.counts import (
    Damper,
    last_rejections,
    shown_counts,
    version_counts,
)
from certwright.operators.discoveryservice.config.envoys.taint import (
    due_report,
    local_report,
    seconds_to_taint,
)
from certwright.xds.observations import Connections, EnvoyGroup, EnvoyObservation
from certwright.xds.protocol.observation import (
    Standings,
    SyncState,
    TypeObservation,
    TypeStanding,
)
from certwright.xds.snapshot import NodeKey
from certwright.xds.typeurls import CLUSTER, LISTENER, SECRET

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def envoy(name: str, *types: TypeObservation) -> EnvoyObservation:
    return EnvoyObservation(
        NodeKey("ns", "n"), name, "1", NOW, NOW, "envoy", delta=False, types=types
    )


def accepted(url: str, version: str) -> TypeObservation:
    return TypeObservation(url, version, version, SyncState.ACKNOWLEDGED, NOW, resources=1)


def rejected(url: str, version: str, held: str = "") -> TypeObservation:
    return TypeObservation(url, version, held, SyncState.REJECTED, NOW, version, "bad", 1, 1)


def waiting(url: str, version: str) -> TypeObservation:
    return TypeObservation(url, version, "", SyncState.SENT, NOW)


SERVED = {CLUSTER: "c2", LISTENER: "l2", SECRET: "s2"}
WRITTEN = {CLUSTER: "c2", LISTENER: "l2"}
GOOD = envoy("good", accepted(CLUSTER, "c2"), accepted(LISTENER, "l2"))
BAD = envoy("bad", accepted(CLUSTER, "c2"), rejected(LISTENER, "l2", "l1"))
SLOW = envoy("slow", accepted(CLUSTER, "c2"), waiting(LISTENER, "l2"))
SILENT = envoy("silent")


class Observed:
    """A stream of which this is known."""

    def __init__(self, seen: EnvoyObservation) -> None:
        self._seen = seen
        self.node: NodeKey | None = seen.node

    def shown(self) -> None:
        return None

    def observe(self) -> EnvoyObservation:
        return self._seen

    def standings(self) -> Standings:
        return tuple(
            TypeStanding(
                one.type_url,
                one.held,
                one.resources,
                one.state is SyncState.ACKNOWLEDGED,
                one.rejected if one.state is SyncState.REJECTED else "",
            )
            for one in self._seen.types
        )


def groups(*envoys: EnvoyObservation) -> Collection[EnvoyGroup]:
    connections = Connections()
    for one in envoys:
        connections.add(Observed(one))
    return connections.groups(NodeKey("ns", "n"))


def report(*envoys: EnvoyObservation, at: datetime = NOW) -> ReplicaReport:
    return local_report(groups(*envoys), SERVED, WRITTEN, "v2", at)


def decided(*reports: ReplicaReport, seconds: float = 3) -> bool:
    """Return whether a version is given up so many seconds after the reports."""
    found = {str(number): one for number, one in enumerate(reports)}
    return seconds_to_taint(found, NOW + timedelta(seconds=seconds)) == 0


def test_a_version_is_given_up_when_every_envoy_rejects_it() -> None:
    assert decided(report(BAD))
    assert decided(report(BAD, BAD), report(BAD))
    assert not decided(report(BAD, GOOD))
    assert not decided(report(GOOD))
    assert not decided()


def test_other_replicas_have_time_to_object() -> None:
    assert not decided(report(BAD), seconds=2)
    assert decided(report(BAD), seconds=3)
    assert not decided(report(BAD), report(GOOD), seconds=9999)


def test_an_envoy_that_has_not_answered_has_not_rejected() -> None:
    assert not decided(report(BAD, SLOW), seconds=59)
    assert not decided(report(BAD), report(SLOW), seconds=59)
    assert decided(report(BAD), report(SLOW), seconds=60), "its replica may be gone"


def test_an_envoy_that_asked_for_nothing_is_not_subscribed() -> None:
    assert decided(report(BAD, SILENT))
    assert not decided(report(SILENT))


@pytest.mark.scenario("DS-64")
def test_a_rejection_of_an_earlier_version_does_not_count() -> None:
    earlier = envoy("e", rejected(LISTENER, "l1"))
    assert not report(earlier).rejections
    assert not decided(report(earlier), seconds=9999)


def test_a_rejected_secret_is_shown_and_speaks_not_against_the_version() -> None:
    found = report(envoy("e", rejected(SECRET, "s2"), accepted(LISTENER, "l2")))
    assert [one.type for one in found.rejections] == ["Secret"]
    assert found.accepted
    assert not found.against


def test_what_envoy_repeats_of_a_secret_is_not_shown() -> None:
    said = 'Proto constraint failed (x): name: "web" tls_certificate { private_key { inline_bytes: "k3y"'
    for url, shown in ((SECRET, False), (LISTENER, True)):
        one = rejected(url, SERVED[url])._replace(message=said)
        [found] = report(envoy("e", one)).rejections
        assert ("k3y" in found.message) is shown
        assert found.message.startswith("Proto constraint failed (x)")


def test_nothing_is_reported_while_all_is_well() -> None:
    assert due_report(report(GOOD), None, []) is None
    assert due_report(report(), None, [report(BAD)]) is None, "no Envoy, nothing to say"


def test_a_rejection_is_reported_and_others_answer() -> None:
    assert due_report(report(BAD), None, []) == report(BAD)
    assert due_report(report(GOOD), None, [report(BAD)]) == report(GOOD)
    assert due_report(report(SLOW), None, [report(BAD)]) == report(SLOW)


def test_a_report_is_repeated_only_with_news() -> None:
    later = NOW + timedelta(seconds=9)
    assert due_report(report(BAD, at=later), report(BAD), []) is None
    changed = due_report(report(BAD, GOOD, at=later), report(BAD, SLOW), [])
    assert changed is not None
    assert (changed.accepted, changed.pending, changed.at) == (True, False, later)


def test_an_envoy_that_took_a_version_and_left_still_counts() -> None:
    assert due_report(report(BAD), report(BAD, GOOD), []) is None


def test_envoys_are_counted_by_the_version_that_they_hold() -> None:
    history = {
        "one": {(CLUSTER, "c1"), (LISTENER, "l1")},
        "two": {(CLUSTER, "c2"), (LISTENER, "l1"), (LISTENER, "l2")},
    }
    old = envoy("old", accepted(CLUSTER, "c1"), accepted(LISTENER, "l1"))
    mixed = envoy("mixed", accepted(CLUSTER, "c1"), accepted(LISTENER, "l2"))
    nothing = envoy("nothing", waiting(CLUSTER, "c2"))
    counts = shown_counts(version_counts(groups(GOOD, GOOD, old, BAD, mixed, nothing), history))
    assert [(one.version, one.envoys) for one in counts] == [("two", 3), ("", 2), ("one", 1)]


def test_a_status_shows_the_last_ten_rejections() -> None:
    def revision(version: str, *at: int) -> EnvoyConfigRevision:
        shown = [
            Rejection(envoy=f"e{n}", version=version, at=NOW + timedelta(minutes=n)) for n in at
        ]
        return EnvoyConfigRevision(
            spec=EnvoyConfigRevisionSpec(node_id="n", version=version, resources=[]),
            status=EnvoyConfigRevisionStatus(
                reports={
                    "a": ReplicaReport(rejections=shown[:2]),
                    "b": ReplicaReport(rejections=shown[2:]),
                }
            ),
        )

    shown = last_rejections([revision("one", *range(6)), revision("two", *range(6, 12))])
    assert [one.envoy for one in shown] == [f"e{n}" for n in range(11, 1, -1)]


@pytest.mark.parametrize("every", [0.1, 1.0])
def test_changes_are_written_when_they_rest_or_are_old(every: float) -> None:
    """A thousand Envoys that change one after the other cost few writes."""
    damper: Damper[str] = Damper(quiet=2.0, longest=15.0)
    written, writes, now = 0, [], 0.0
    for number in range(1, 101):
        now = number * every
        if not damper.wait("k", number, written, now):
            written = number
            writes.append(now)
    assert len(writes) <= 1 + 100 * every / 15
    left = damper.wait("k", 100, written, now)
    if written != 100:
        assert 0 < left <= 2.0
        assert damper.wait("k", 100, written, now + left) == 0.0
    assert damper.wait("k", 100, 100, now) == 0.0
