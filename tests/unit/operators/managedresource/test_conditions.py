from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from certwright.operators.managedresource.status import APPLIED, ConditionUpdate, current, merged

THEN = datetime(2026, 1, 1, tzinfo=UTC)
NOW = THEN + timedelta(hours=1, microseconds=5)
THEN_TEXT, NOW_TEXT = "2026-01-01T00:00:00Z", "2026-01-01T01:00:00Z"
BEFORE: dict[str, Any] = {
    "type": APPLIED,
    "status": "True",
    "reason": "R",
    "message": "m",
    "lastTransitionTime": THEN_TEXT,
    "lastUpdateTime": THEN_TEXT,
}


@pytest.mark.parametrize(
    ("claim", "transition", "update"),
    [
        (ConditionUpdate(APPLIED, "True", "R", "m"), THEN_TEXT, THEN_TEXT),
        (ConditionUpdate(APPLIED, "False", "R", "m"), NOW_TEXT, THEN_TEXT),
        (ConditionUpdate(APPLIED, "True", "Other", "m"), THEN_TEXT, NOW_TEXT),
        (ConditionUpdate(APPLIED, "True", "R", "other"), THEN_TEXT, NOW_TEXT),
        (ConditionUpdate(APPLIED, "True", "R", "m", ("ERR_X",)), THEN_TEXT, NOW_TEXT),
        (ConditionUpdate(APPLIED, "Progressing", "Other", "m"), NOW_TEXT, NOW_TEXT),
    ],
    ids=["the same", "status", "reason", "message", "codes", "status and reason"],
)
def test_which_time_moves(claim: ConditionUpdate, transition: str, update: str) -> None:
    (condition,) = merged([BEFORE], [claim], NOW)
    assert condition["lastTransitionTime"] == transition
    assert condition["lastUpdateTime"] == update


def test_a_new_condition_has_both_times_in_whole_seconds() -> None:
    assert merged(None, [ConditionUpdate(APPLIED, "True", "R", "m")], NOW) == [
        {**BEFORE, "lastTransitionTime": NOW_TEXT, "lastUpdateTime": NOW_TEXT}
    ]


def test_claiming_the_same_again_changes_nothing() -> None:
    claims = [
        ConditionUpdate(APPLIED, "Progressing", "", "", ("ERR_X",)),
        ConditionUpdate("Ready", "True", "R", "m"),
    ]
    once = merged([], claims, THEN)
    assert merged(once, claims, NOW) == once


def test_empty_words_are_replaced() -> None:
    (condition,) = merged([], [ConditionUpdate(APPLIED, "True", "", "")], NOW)
    assert condition["reason"] == "Unspecified"
    assert condition["message"] == "No message given."


def test_codes_are_not_carried_over() -> None:
    (condition,) = merged(
        [{**BEFORE, "codes": ["ERR_X"]}], [ConditionUpdate(APPLIED, "True", "R", "m")], NOW
    )
    assert "codes" not in condition
    assert condition["lastUpdateTime"] == NOW_TEXT


def test_conditions_keep_their_places_and_those_of_others_are_not_touched() -> None:
    foreign = {"type": "Foreign", "status": "Odd", "unknown": {"a": 1}}
    before = [foreign, {**BEFORE, "extra": 7}]
    after = merged(
        before,
        [ConditionUpdate("Ready", "True", "R", "m"), ConditionUpdate(APPLIED, "False", "R", "m")],
        NOW,
    )
    assert [condition["type"] for condition in after] == ["Foreign", APPLIED, "Ready"]
    assert after[0] == foreign
    assert after[1]["extra"] == 7
    assert before[1]["status"] == "True"


@pytest.mark.parametrize("existing", [None, "x", {}, [7, "x"]])
def test_conditions_of_a_wrong_shape_are_none(existing: Any) -> None:
    (condition,) = merged(existing, [ConditionUpdate(APPLIED, "True", "R", "m")], NOW)
    assert condition["type"] == APPLIED
    assert current(existing, APPLIED).status == "Unknown"


def test_what_is_said_now() -> None:
    assert current([BEFORE], APPLIED) == ConditionUpdate(APPLIED, "True", "R", "m")
    assert current([{**BEFORE, "codes": ["X"]}], APPLIED).codes == ("X",)
    assert current([], APPLIED).reason == "ConditionInitialized"
