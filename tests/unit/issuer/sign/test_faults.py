"""What the log says about an author's code that raised, and how often."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from certwright.issuer import Permanent, SecretKey
from certwright.issuer.sign.faults import (
    MAX_CAUSES,
    MAX_FAULTS,
    MAX_MESSAGES,
    REMIND_SECONDS,
    AuthorFault,
    FaultLog,
    fault_of,
)
from certwright.pki import parse_name


@dataclass(frozen=True)
class Spec:
    token: SecretKey


SPEC = Spec(SecretKey("hunter2-swordfish"))


def ask_authority(text: str) -> Any:
    return json.loads(text)


def sign(text: str) -> None:
    try:
        ask_authority(text)
    except ValueError as error:
        raise LookupError(f"no answer to {SPEC.token!s}") from error


def raised_by(function: Any, *arguments: Any) -> AuthorFault:
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever it is
        function(*arguments)
    return fault_of(caught.value, function, SPEC)


def test_a_fault_has_type_message_causes_and_the_authors_lines() -> None:
    fault = raised_by(sign, "{")
    assert (fault.type, fault.message) == ("LookupError", "no answer to [redacted]")
    [cause] = fault.causes
    assert cause.startswith("JSONDecodeError: Expecting property name")
    assert fault.place.startswith("test_faults.py:")
    assert "in sign: raise LookupError(" in fault.place


def test_the_frames_of_libraries_are_cut() -> None:
    fault = raised_by(ask_authority, "{")
    assert fault.place.endswith("in ask_authority: return json.loads(text)"), fault.lines
    assert not any("decoder.py" in line for line in fault.lines)


def test_the_lines_are_those_of_the_cause_where_a_library_raised_in_its_place() -> None:
    """Of code whose time is up, the library's exception has no line of the author's."""
    error = TimeoutError("timed out after 1m")
    with pytest.raises(LookupError) as caught:
        sign("{")
    error.__cause__ = caught.value
    assert "in sign: " in fault_of(error, sign, SPEC).place


def test_what_was_suppressed_stays_so() -> None:
    def quiet() -> None:
        try:
            ask_authority("{")
        except ValueError:
            raise Permanent("not signed") from None

    assert raised_by(quiet).causes == ()


def test_secrets_in_causes_and_lines_are_removed() -> None:
    def leak() -> None:
        try:
            raise ValueError("hunter2-swordfish")
        except ValueError as error:
            raise RuntimeError("failed") from error

    fault = raised_by(leak)
    assert "swordfish" not in str(fault)
    assert fault.causes == ("ValueError: [redacted]",)


def test_a_long_chain_is_cut() -> None:
    error: BaseException = ValueError("0")
    for number in range(1, 100):
        outer = ValueError(str(number))
        outer.__cause__ = error
        error = outer
    assert len(fault_of(error, None, SPEC).causes) == MAX_CAUSES


def test_groups_show_their_members() -> None:
    fault = fault_of(ExceptionGroup("both", [ValueError("a"), KeyError("b")]), None, SPEC)
    assert fault.causes == ("ValueError: a", "KeyError: 'b'")


def test_the_frames_of_this_library_are_cut() -> None:
    def refuse() -> None:
        parse_name("no name")

    fault = raised_by(refuse)
    assert fault.place.endswith('in refuse: parse_name("no name")'), fault.lines


FAULT = AuthorFault("ValueError", "no luck", (), ("issuer.py:3 in sign: raise ValueError",))


def told(log: FaultLog, *times: float, fault: AuthorFault = FAULT) -> list[int | None]:
    return [log.repeats("sign", "DemoIssuer/a/b", fault, now) for now in times]


def test_a_cause_is_told_once_and_again_by_the_hour() -> None:
    log = FaultLog()
    assert told(log, 0, 1, 2, 3) == [0, None, None, None]
    assert told(log, REMIND_SECONDS, REMIND_SECONDS + 1) == [3, None]


def test_other_causes_functions_and_issuers_are_told_on_their_own() -> None:
    log = FaultLog()
    told(log, 0)
    assert told(log, 1, fault=AuthorFault("KeyError", "no luck")) == [0]
    assert log.repeats("check", "DemoIssuer/a/b", FAULT, 2) == 0
    assert log.repeats("sign", "DemoIssuer/a/c", FAULT, 3) == 0


def test_messages_that_differ_each_time_count_as_one_after_a_few() -> None:
    log = FaultLog()
    faults = [AuthorFault("ValueError", f"order {n}", (), FAULT.lines) for n in range(100)]
    shown = [log.repeats("sign", "x", fault, 0) for fault in faults]
    assert [one for one in shown if one is not None] == [0] * (MAX_MESSAGES + 1)


def test_what_is_remembered_is_bounded() -> None:
    log = FaultLog()
    for number in range(10 * MAX_FAULTS):
        log.repeats("sign", f"issuer-{number}", FAULT, 0)
    assert len(log._known) <= MAX_FAULTS
    assert len(log._messages) <= MAX_FAULTS + 1
