from datetime import UTC, datetime, timedelta

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import Condition, JsonObject, find_condition, is_true, merge_conditions
from certwright.kube.conditions import conditions_of

THEN = datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC)
NOW = datetime(2024, 5, 2, 12, 0, 0, 987_654, tzinfo=UTC)
NOW_IN_SECONDS = datetime(2024, 5, 2, 12, 0, 0, tzinfo=UTC)

CONDITIONS = st.lists(
    st.builds(
        Condition,
        type=st.sampled_from(["Ready", "Synced", "Stalled"]),
        status=st.sampled_from(["True", "False", "Unknown"]),
        reason=st.sampled_from(["", "Done", "Failed"]),
        message=st.text(max_size=3),
        observed_generation=st.integers(0, 3),
        last_transition_time=st.none() | st.just(THEN),
    ),
    unique_by=lambda condition: condition.type,
)


def test_a_new_condition_starts_now_in_whole_seconds() -> None:
    merged = merge_conditions([], [Condition(type="Ready", status="True")], NOW)
    assert merged == [Condition(type="Ready", status="True", last_transition_time=NOW_IN_SECONDS)]


def test_the_transition_time_stays_while_the_status_stays() -> None:
    before = Condition(type="Ready", status="False", reason="A", last_transition_time=THEN)
    after = Condition(type="Ready", status="False", reason="B", message="m", observed_generation=4)
    assert merge_conditions([before], [after], NOW) == [
        Condition(
            type="Ready",
            status="False",
            reason="B",
            message="m",
            observed_generation=4,
            last_transition_time=THEN,
        )
    ]


def test_the_transition_time_moves_with_the_status() -> None:
    before = Condition(type="Ready", status="False", last_transition_time=THEN)
    (merged,) = merge_conditions([before], [Condition(type="Ready", status="True")], NOW)
    assert merged.last_transition_time == NOW_IN_SECONDS


def test_a_transition_may_bring_its_own_time() -> None:
    since = NOW - timedelta(hours=1)
    new = Condition(type="Ready", status="True", last_transition_time=since)
    (merged,) = merge_conditions([], [new], NOW)
    assert merged.last_transition_time == since.replace(microsecond=0)


def test_conditions_of_others_stay_in_their_places() -> None:
    theirs = Condition(type="Theirs", status="Unknown", last_transition_time=THEN)
    ours = Condition(type="Ours", status="True", last_transition_time=THEN)
    merged = merge_conditions(
        [ours, theirs],
        [Condition(type="New", status="True"), Condition(type="Ours", status="True")],
        NOW,
    )
    assert [condition.type for condition in merged] == ["Ours", "Theirs", "New"]
    assert merged[1] is theirs


@given(CONDITIONS, CONDITIONS)
def test_merging_again_later_changes_nothing(old: list[Condition], new: list[Condition]) -> None:
    once = merge_conditions(old, new, NOW)
    assert merge_conditions(once, new, NOW + timedelta(days=1)) == once
    assert all(find_condition(once, condition.type) is not None for condition in [*old, *new])


def test_finds_by_type() -> None:
    ready = Condition(type="Ready", status="False")
    assert find_condition([Condition(type="A", status="True"), ready], "Ready") is ready
    assert find_condition([ready], "A") is None


def test_is_true_only_when_said_of_this_generation() -> None:
    conditions = [
        Condition(type="Ready", status="True", observed_generation=3),
        Condition(type="Bad", status="Unknown"),
    ]
    assert is_true(conditions, "Ready")
    assert is_true(conditions, "Ready", generation=3)
    assert not is_true(conditions, "Ready", generation=4)
    assert not is_true(conditions, "Bad")
    assert not is_true(conditions, "Absent")


def test_reads_and_writes_the_form_of_the_api() -> None:
    condition = Condition(
        type="Ready",
        status="True",
        reason="Done",
        observed_generation=2,
        last_transition_time=THEN,
    )
    written = {
        "type": "Ready",
        "status": "True",
        "reason": "Done",
        "observedGeneration": 2,
        "lastTransitionTime": "2024-05-01T12:00:00Z",
    }
    assert msgspec.to_builtins(condition) == written
    assert conditions_of({"status": {"conditions": [written]}}) == [condition]


def test_leaves_out_what_is_no_condition() -> None:
    good = {"type": "Ready", "status": "True", "lastProbeTime": None, "lastTransitionTime": None}
    entries = [good, {"type": "X"}, "text", None, {"type": "X", "status": "maybe"}, {"type": 1}]
    assert conditions_of({"status": {"conditions": entries}}) == [
        Condition(type="Ready", status="True")
    ]
    odd: JsonObject
    for odd in ({}, {"status": None}, {"status": []}, {"status": {"conditions": {"a": 1}}}):
        assert conditions_of(odd) == []
