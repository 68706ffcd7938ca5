"""When Envoys have rejected a version, and which one they hold."""

from datetime import UTC, datetime, timedelta

import pytest

from certwright.api.envoyconfigs import Rejection
from certwright.operators.discoveryservice.config.counts import (
    Damper,
    last_rejections,
    version_counts,
)
from certwright.operators.discoveryservice.config.taint import (
    EnvoyRejection,
    is_rejected_by_all,
    rejections,
)
from certwright.xds.observations import EnvoyObservation
from certwright.xds.protocol.observation import SyncState, TypeObservation
from certwright.xds.snapshot import NodeKey
from certwright.xds.typeurls import CLUSTER, LISTENER

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


SERVED = {CLUSTER: "c2", LISTENER: "l2"}
GOOD = envoy("good", accepted(CLUSTER, "c2"), accepted(LISTENER, "l2"))
BAD = envoy("bad", accepted(CLUSTER, "c2"), rejected(LISTENER, "l2", "l1"))


def test_a_version_is_rejected_when_every_envoy_rejects_it() -> None:
    assert is_rejected_by_all([BAD], SERVED)
    assert is_rejected_by_all([BAD, BAD], SERVED)
    assert not is_rejected_by_all([BAD, GOOD], SERVED)
    assert not is_rejected_by_all([], SERVED)


def test_an_envoy_that_has_not_answered_has_not_rejected() -> None:
    slow = envoy("slow", accepted(CLUSTER, "c2"), waiting(LISTENER, "l2"))
    assert not is_rejected_by_all([BAD, slow], SERVED)


def test_an_envoy_that_asked_for_nothing_is_not_subscribed() -> None:
    assert is_rejected_by_all([BAD, envoy("silent")], SERVED)
    assert not is_rejected_by_all([envoy("silent")], SERVED)


@pytest.mark.scenario("DS-64")
def test_a_rejection_of_an_earlier_version_does_not_count() -> None:
    earlier = envoy("e", rejected(LISTENER, "l1"))
    assert not rejections(earlier, SERVED)
    assert not is_rejected_by_all([earlier], SERVED)


def test_envoys_are_counted_by_the_version_that_they_hold() -> None:
    history = {
        "one": {(CLUSTER, "c1"), (LISTENER, "l1")},
        "two": {(CLUSTER, "c2"), (LISTENER, "l1"), (LISTENER, "l2")},
    }
    old = envoy("old", accepted(CLUSTER, "c1"), accepted(LISTENER, "l1"))
    mixed = envoy("mixed", accepted(CLUSTER, "c1"), accepted(LISTENER, "l2"))
    nothing = envoy("nothing", waiting(CLUSTER, "c2"))
    counts = version_counts([GOOD, GOOD, old, BAD, mixed, nothing], history)
    assert [(one.version, one.envoys) for one in counts] == [("two", 3), ("", 2), ("one", 1)]


def test_a_status_shows_the_last_ten_rejections() -> None:
    known = [
        Rejection(envoy=f"e{n}", type="Listener", version="v1", message="m", at=NOW)
        for n in range(10)
    ]
    later = NOW + timedelta(minutes=1)
    news = [EnvoyRejection("x", LISTENER, "l2", "words", later)]
    shown = last_rejections(known, news, "v2")
    assert len(shown) == 10
    assert shown[0] == Rejection(
        envoy="x", type="Listener", version="v2", message="words", at=later
    )
    assert last_rejections(shown, news, "v2") == shown


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
