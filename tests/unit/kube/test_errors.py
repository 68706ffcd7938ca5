from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.kube import (
    AlreadyExists,
    ApiError,
    Conflict,
    Gone,
    Invalid,
    NotFound,
    ServerTimeout,
    TooManyRequests,
)
from certwright.kube.errors import Cause

STATUS = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": 'Widget.demo "a" is invalid: spec.size: Invalid value: 9: too big',
    "reason": "Invalid",
    "details": {
        "name": "a",
        "group": "demo",
        "kind": "Widget",
        "causes": [
            {"reason": "FieldValueInvalid", "message": "Invalid value: 9: too big", "field": "spec.size"}
        ],
    },
    "code": 422,
}  # fmt: skip


def test_a_status_becomes_the_exception_of_its_reason() -> None:
    error = ApiError.from_status(422, STATUS)
    assert type(error) is Invalid
    assert str(error) == 'Widget.demo "a" is invalid: spec.size: Invalid value: 9: too big'
    assert error.causes == (
        Cause(reason="FieldValueInvalid", message="Invalid value: 9: too big", field="spec.size"),
    )
    assert error.details == {"name": "a", "group": "demo", "kind": "Widget"}
    assert error.to_status() == STATUS


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (409, "", Conflict),
        (410, "Expired", Gone),
        (410, "Gone", Gone),
        (404, "", NotFound),
        (500, "ServerTimeout", ServerTimeout),
        (504, "Timeout", ServerTimeout),
        (418, "Teapot", ApiError),
    ],
)
def test_reason_decides_and_the_code_where_there_is_none(
    code: int, reason: str, expected: type[ApiError]
) -> None:
    error = ApiError.from_status(code, {"reason": reason})
    assert type(error) is expected
    assert (error.status_code, error.status_reason) == (code, reason)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (400, "BadRequest"), (401, "Unauthorized"), (403, "Forbidden"), (404, "NotFound"),
        (405, "MethodNotAllowed"), (406, "NotAcceptable"), (409, "AlreadyExists"), (409, "Conflict"),
        (410, "Expired"), (413, "RequestEntityTooLarge"), (415, "UnsupportedMediaType"),
        (422, "Invalid"), (429, "TooManyRequests"), (500, "InternalError"),
        (503, "ServiceUnavailable"), (504, "Timeout"),
    ],
)  # fmt: skip
def test_raising_a_class_gives_the_status_a_server_would_send(code: int, reason: str) -> None:
    cls = type(ApiError.from_status(code, {"reason": reason}))
    assert cls is not ApiError
    assert cls("no").to_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "no",
        "reason": reason,
        "code": code,
    }


def test_says_when_to_come_back() -> None:
    error = ApiError.from_status(429, {"details": {"retryAfterSeconds": 3}})
    assert type(error) is TooManyRequests
    assert error.retry_after == 3.0
    assert error.to_status()["details"] == {"retryAfterSeconds": 3}


@pytest.mark.parametrize(
    "seconds", [0, -1, True, "3", None, [], float("nan"), float("inf"), 10**400]
)
def test_ignores_senseless_delays(seconds: object) -> None:
    error = ApiError.from_status(429, {"details": {"retryAfterSeconds": seconds}})
    assert error.retry_after is None


@pytest.mark.parametrize(
    "status",
    [
        None,
        [],
        "text",
        {},
        {"message": 5, "reason": ["x"], "details": []},
        {"message": None, "reason": {}, "details": "x"},
        {"details": {"causes": "abc"}},
        {"details": {"causes": {"a": 1}}},
        {"details": {"causes": ["abc", None, 1, []]}},
        {"details": {"name": 5, "kind": None}},
    ],
)
def test_treats_fields_of_the_wrong_type_as_absent(status: object) -> None:
    error = ApiError.from_status(404, status)
    assert type(error) is NotFound
    assert str(error) == "the server answered 404"
    assert error.causes == ()
    assert error.details == {}


def test_keeps_the_good_causes_among_bad_ones() -> None:
    causes = ["x", {"reason": 1, "message": "m", "field": None}, {"field": "spec"}]
    error = ApiError.from_status(422, {"details": {"causes": causes}})
    assert error.causes == (Cause(message="m"), Cause(field="spec"))


def test_cuts_what_would_flood_conditions_and_logs() -> None:
    cause = {"message": "m" * 10_000, "field": "f" * 10_000}
    error = ApiError.from_status(
        422,
        {
            "message": "x" * 1_000_000,
            "reason": "R" * 10_000,
            "details": {"causes": [cause] * 1_000, "name": "n" * 10_000},
        },
    )
    assert len(str(error)) == 4096
    assert len(error.causes) == 100
    assert all(len(each.message) == len(each.field) == 4096 for each in error.causes)
    assert len(error.details["name"]) == len(error.status_reason) == 4096


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
FIELDS = st.sampled_from(["message", "reason", "details", "causes", "retryAfterSeconds", "field"])
HOSTILE = st.recursive(
    JSON, lambda inner: st.dictionaries(FIELDS, inner) | st.lists(inner), max_leaves=15
)


@given(st.integers(100, 599), HOSTILE)
def test_never_raises_whatever_the_server_answers(code: int, status: Any) -> None:
    error = ApiError.from_status(code, status)
    assert error.status_code == code
    assert str(error)
    assert error.to_status()["code"] == code
