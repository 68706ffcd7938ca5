"""Who may be collected, row by row."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.operators.garbagecollector.decision import (
    Candidate,
    GarbageVerdict,
    ObjectKey,
    Survey,
    assess,
    assess_all,
    confirmed,
    needs_mark,
    needs_unmark,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LIFETIME = timedelta(minutes=10)
SECOND = timedelta(seconds=1)
OLD = Candidate(ObjectKey("Secret", "ns", "s"), "u", "1", NOW - timedelta(days=1))
LONG_UNUSED = replace(OLD, unused_since=NOW - LIFETIME)


@pytest.mark.parametrize(
    ("candidate", "user", "verdict", "said"),
    [
        (LONG_UNUSED, None, GarbageVerdict.COLLECTABLE, "nothing uses it"),
        (LONG_UNUSED, "Pod ns/p", GarbageVerdict.IN_USE, "Pod ns/p uses it"),
        (OLD, None, GarbageVerdict.UNUSED, "as of this pass"),
        (
            replace(OLD, unused_since=NOW - LIFETIME + SECOND),
            None,
            GarbageVerdict.UNUSED,
            "deleted after 10m0s",
        ),
        (replace(OLD, unused_since=NOW + SECOND), None, GarbageVerdict.UNUSED, "as of this pass"),
        (
            replace(LONG_UNUSED, created=NOW - LIFETIME + SECOND),
            None,
            GarbageVerdict.YOUNG,
            "younger than 10m0s",
        ),
        (replace(LONG_UNUSED, created=NOW - LIFETIME), None, GarbageVerdict.COLLECTABLE, ""),
        (replace(LONG_UNUSED, created=NOW + SECOND), None, GarbageVerdict.YOUNG, ""),
        (replace(LONG_UNUSED, keep=True), None, GarbageVerdict.KEPT, "annotated to be kept"),
        (replace(LONG_UNUSED, deleting=True), None, GarbageVerdict.DELETING, "being deleted"),
    ],
)
def test_verdicts(candidate: Candidate, user: str | None, verdict: StrEnum, said: str) -> None:
    assessment = assess(candidate, user, NOW, LIFETIME)
    assert assessment.verdict is verdict
    assert said in assessment.reason


def test_without_a_lifetime_one_look_suffices() -> None:
    fresh = replace(OLD, created=NOW)
    assert assess(fresh, None, NOW, timedelta()).verdict is GarbageVerdict.COLLECTABLE
    assert assess(fresh, "Pod ns/p", NOW, timedelta()).verdict is GarbageVerdict.IN_USE


def test_the_same_name_in_another_namespace_is_another_object() -> None:
    elsewhere = replace(LONG_UNUSED, key=ObjectKey("Secret", "other", "s"))
    config_map = replace(LONG_UNUSED, key=ObjectKey("ConfigMap", "ns", "s"))
    report = assess_all([elsewhere, LONG_UNUSED, config_map], {OLD.key: "Pod ns/p"}, NOW, LIFETIME)
    assert [one.candidate for one in report.of(GarbageVerdict.COLLECTABLE)] == [
        config_map,
        elsewhere,
    ]
    assert [one.candidate for one in report.of(GarbageVerdict.IN_USE)] == [LONG_UNUSED]


def test_a_report_counts_and_names() -> None:
    report = assess_all([LONG_UNUSED, replace(OLD, uid="v")], {}, NOW, LIFETIME)
    assert str(report) == "1 unused, 1 collectable"
    assert str(report.assessments[0]) == "Secret ns/s: collectable: nothing uses it"
    assert report.counts()[GarbageVerdict.IN_USE] == 0
    assert str(Survey(())) == "nothing to collect"


def test_what_is_noted_and_taken_back() -> None:
    def assessed(candidate: Any, user: Any = None) -> Any:
        return assess(candidate, user, NOW, LIFETIME)

    assert needs_mark(assessed(OLD), NOW)
    assert needs_mark(assessed(replace(OLD, unused_since=NOW + SECOND)), NOW)
    assert not needs_mark(assessed(replace(OLD, unused_since=NOW - SECOND)), NOW)
    assert not needs_mark(assessed(LONG_UNUSED), NOW)
    assert needs_unmark(assessed(LONG_UNUSED, "Pod ns/p"))
    assert needs_unmark(assessed(replace(LONG_UNUSED, keep=True)))
    assert not needs_unmark(assessed(OLD, "Pod ns/p"))
    assert not needs_unmark(assessed(LONG_UNUSED))


@pytest.mark.parametrize(
    "second", [replace(LONG_UNUSED, resource_version="2"), replace(LONG_UNUSED, uid="v")]
)
def test_a_second_look_confirms_only_what_did_not_change(second: Candidate) -> None:
    first = assess_all([LONG_UNUSED], {}, NOW, LIFETIME)
    assert confirmed(first, first) == (LONG_UNUSED,)
    assert confirmed(first, assess_all([second], {}, NOW, LIFETIME)) == ()
    assert confirmed(first, assess_all([LONG_UNUSED], {OLD.key: "Pod ns/p"}, NOW, LIFETIME)) == ()


DURATIONS = st.timedeltas(timedelta(days=-1), timedelta(days=1))


@settings(deadline=None)
@given(
    created=DURATIONS,
    since=st.none() | DURATIONS,
    lifetime=st.timedeltas(timedelta(), timedelta(days=1)),
    user=st.none() | st.just("Pod ns/p"),
)
def test_only_what_is_old_enough_and_unused_for_long_enough_goes(
    created: timedelta, since: timedelta | None, lifetime: timedelta, user: str | None
) -> None:
    candidate = replace(
        OLD, created=NOW - created, unused_since=None if since is None else NOW - since
    )
    goes = assess(candidate, user, NOW, lifetime).verdict is GarbageVerdict.COLLECTABLE
    long_enough = not lifetime or (since is not None and since >= lifetime)
    assert goes == (user is None and created >= lifetime and long_enough)
