"""Condition arithmetic: what is kept, what is stamped, and where it stands."""

from datetime import datetime
from typing import Any

import pytest
from tests.support.issuer.issuer_rows import T1, T2

from certwright.api.certificates import SigningCondition
from certwright.issuer.status import put_condition
from certwright.kube import Condition


def request(
    type_: str, status: Any, since: datetime = T1, message: str = "", observed: int = 0
) -> Condition:
    return Condition(
        type=type_,
        status=status,
        message=message,
        last_transition_time=since,
        observed_generation=observed,
    )


def signing(
    type_: str, status: Any, since: datetime = T1, updated: datetime = T1, message: str = ""
) -> SigningCondition:
    return SigningCondition(
        type=type_,
        status=status,
        message=message,
        last_transition_time=since,
        last_update_time=updated,
    )


# existing, patch, expected; the new one is always Ready=True "new".
ROWS = {
    "status unchanged": (["True"], [], ["Ready T1"]),
    "status changed": (["False"], [], ["Ready T2"]),
    "already in patch": (["True"], ["Ready"], ["Ready T1"]),
    "other type in patch": (["True"], ["Other"], ["Other -", "Ready T1"]),
}


@pytest.mark.scenario("ISS-100")
@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("observed", [0, 8], ids=["request", "issuer"])
def test_conditions_of_requests_and_issuers(row: str, observed: int) -> None:
    statuses, patch, expected = ROWS[row]
    existing = [request("Ready", status, observed=observed and 7) for status in statuses]
    new = Condition(type="Ready", status="True", message="new", observed_generation=observed)
    found = put_condition(existing, [request(one, "False", T1) for one in patch], new, T2)
    times = {"Ready T1": T1, "Ready T2": T2}
    assert found == [
        request("Ready", "True", times[one], "new", observed)
        if one in times
        else request("Other", "False")
        for one in expected
    ]


@pytest.mark.scenario("ISS-100")
@pytest.mark.parametrize("row", ROWS)
def test_conditions_of_signing_requests_always_say_when_they_were_written(row: str) -> None:
    statuses, patch, expected = ROWS[row]
    existing = [signing("Ready", status) for status in statuses]
    new = SigningCondition(type="Ready", status="True", message="new")
    found = put_condition(existing, [signing(one, "False") for one in patch], new, T2)
    times = {"Ready T1": T1, "Ready T2": T2}
    assert found == [
        signing("Ready", "True", times[one], T2, "new")
        if one in times
        else signing("Other", "False")
        for one in expected
    ]


def test_times_are_whole_seconds() -> None:
    now = T2.replace(microsecond=999_999)
    [found] = put_condition([], [], Condition(type="Ready", status="True"), now)
    assert found.last_transition_time == T2
