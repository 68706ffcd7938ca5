"""What exceptions mean, alone and nested."""

from datetime import timedelta
from email.message import Message
from types import SimpleNamespace
from typing import Any
from urllib.error import HTTPError

import pytest

from certwright import pki
from certwright.issuer.sign.httperrors import http_rule_problem, http_verb
from certwright.issuer.sign.result import (
    ErrorRules,
    SignStatus,
    check_failure,
    classify,
    text_of,
)
from certwright.issuer.spec import NoSuchKey
from certwright.issuer.verbs import (
    IssuerUnavailable,
    Pending,
    Permanent,
    Retry,
    SignOutcome,
    WithCondition,
)


def raised(outer: BaseException, cause: BaseException) -> BaseException:
    outer.__cause__ = cause
    return outer


def result_of(error: BaseException, *, is_window_open: bool = True) -> SignStatus:
    return classify(error, is_window_open=is_window_open).status


@pytest.mark.parametrize(
    ("error", "inside", "past"),
    [
        (ValueError("x"), SignStatus.RETRY, SignStatus.FAILED),
        (Retry("x", after=5), SignStatus.RETRY, SignStatus.FAILED),
        (Permanent("x"), SignStatus.FAILED, SignStatus.FAILED),
        (Pending("x"), SignStatus.PENDING, SignStatus.PENDING),
        (IssuerUnavailable("x"), SignStatus.ISSUER_ERROR, SignStatus.ISSUER_ERROR),
        (
            ExceptionGroup("several", [ValueError("x"), Permanent("y")]),
            SignStatus.FAILED,
            SignStatus.FAILED,
        ),
        (raised(ValueError("x"), Permanent("y")), SignStatus.FAILED, SignStatus.FAILED),
        (TimeoutError(), SignStatus.RETRY, SignStatus.FAILED),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_each_verb_inside_and_past_the_window(
    error: Exception, inside: SignStatus, past: SignStatus
) -> None:
    assert result_of(error) is inside
    assert result_of(error, is_window_open=False) is past


@pytest.mark.scenario("ISS-45")
def test_pending_beats_permanent_whichever_is_outside() -> None:
    assert result_of(raised(Pending("x"), Permanent("y"))) is SignStatus.PENDING
    assert result_of(raised(Permanent("x"), Pending("y"))) is SignStatus.PENDING


def test_an_unavailable_issuer_beats_everything() -> None:
    for error in (
        raised(Permanent("x"), IssuerUnavailable("y")),
        WithCondition("A", "True", "B", IssuerUnavailable("y")),
        raised(Pending("x"), IssuerUnavailable("y")),
    ):
        result = classify(error, is_window_open=True)
        assert result.status is SignStatus.ISSUER_ERROR
        assert result.condition is None
        assert result.text == "y"


def test_an_issuer_is_beyond_help_only_if_its_own_trouble_is_permanent() -> None:
    def is_permanent(error: BaseException) -> bool:
        return classify(error, is_window_open=True).is_permanent

    assert is_permanent(IssuerUnavailable(Permanent("x")))
    assert is_permanent(raised(IssuerUnavailable("x"), Permanent("y")))
    assert not is_permanent(raised(Permanent("x"), IssuerUnavailable("y")))


def test_conditions_are_taken_from_anywhere_in_the_chain() -> None:
    inner = WithCondition("QuotaOk", "False", "TooMany", Pending("later", after=9))
    result = classify(raised(RuntimeError("outside"), inner), is_window_open=True)
    assert result.status is SignStatus.PENDING
    assert result.after == timedelta(seconds=9)
    assert result.condition is not None
    assert result.condition.type == "QuotaOk"
    assert result.condition.message == "later"


def test_a_forbidden_condition_is_the_authors_mistake() -> None:
    error = WithCondition("Ready", "True", "Mine", Permanent("x"))
    result = classify(error, is_window_open=True, forbidden_conditions=frozenset({"Ready"}))
    assert result.status is SignStatus.RETRY
    assert result.condition is None
    assert "must not set the condition Ready" in result.text


@pytest.mark.parametrize(
    ("type_", "status", "reason", "problem"),
    [
        ("QuotaOk", "Maybe", "TooMany", "the status 'Maybe'; it must be True, False or Unknown"),
        ("QuotaOk", "", "TooMany", "the status ''"),
        ("QuotaOk", False, "TooMany", "the status False"),
        ("", "False", "TooMany", "the type '' and the reason 'TooMany'; neither may be empty"),
        ("QuotaOk", "False", "", "the type 'QuotaOk' and the reason ''"),
    ],
)
def test_a_condition_that_no_server_takes_is_refused_at_once(
    type_: str, status: Any, reason: str, problem: str
) -> None:
    with pytest.raises(ValueError, match="WithCondition got") as refused:
        WithCondition(type_, status, reason, Permanent("over quota"))
    assert problem in str(refused.value)
    result = classify(refused.value, is_window_open=True)
    assert result.status is SignStatus.FAILED, "the cause decides all the same"
    assert result.condition is None
    assert "over quota" in result.text


def test_chains_that_bite_their_tail_end() -> None:
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert result_of(one) is SignStatus.RETRY


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("plain"), "ValueError: plain"),
        (ValueError(), "ValueError"),
        (KeyError("a"), "KeyError: 'a'"),
        (NoSuchKey('secret "ca" has no key "tls.crt"'), 'secret "ca" has no key "tls.crt"'),
        (Permanent("100%d {0} %s"), "100%d {0} %s"),
        (Permanent("a\x00b\x1bc\nd"), "a�b�c\nd"),
        (
            ExceptionGroup("both", [ValueError("a"), KeyError("b")]),
            "both: ValueError: a; KeyError: 'b'",
        ),
        (Permanent(ValueError("inside")), "inside"),
    ],
    ids=repr,
)
def test_texts_for_people(error: Exception, text: str) -> None:
    assert text_of(error) == text


def test_texts_hold_no_secrets_and_are_not_endless() -> None:
    key = pki.write_key(pki.generate_key(pki.KeySpec(pki.KeyAlgorithm.ECDSA))).decode()
    assert "PRIVATE KEY" not in text_of(ValueError(f"cannot use {key}"))
    assert len(text_of(ValueError("x" * 100_000))) == 16_000


def test_what_is_wrong_with_the_request_is_permanent() -> None:
    refused = pki.RequestRefused([pki.Violation("CaMismatch", "it is no authority")])
    result = classify(refused, is_window_open=True)
    assert result.status is SignStatus.FAILED
    assert result.text == "CaMismatch: it is no authority"


def test_only_permanent_is_special_in_a_check() -> None:
    assert check_failure(Permanent("x")) == ("x", True)
    assert check_failure(Pending("x")) == ("x", False)
    assert check_failure(IssuerUnavailable("x")) == ("x", False)
    assert check_failure(raised(ValueError("x"), Permanent("y"))) == ("ValueError: x", True)


def answered(status: int, shape: str = "httpx", **headers: str) -> Any:
    """Return an exception as an HTTP library would raise it."""
    error: Any = RuntimeError(f"answered {status}")
    if shape == "httpx":
        error.response = SimpleNamespace(status_code=status, headers=headers)
    else:
        error.status, error.headers = status, headers
    return error


@pytest.mark.parametrize("shape", ["httpx", "aiohttp"])
@pytest.mark.parametrize(
    ("status", "result"),
    [(400, SignStatus.FAILED), (404, SignStatus.FAILED), (422, SignStatus.FAILED), (408, SignStatus.RETRY),
     (429, SignStatus.RETRY), (500, SignStatus.RETRY), (503, SignStatus.RETRY),
     (401, SignStatus.ISSUER_ERROR), (403, SignStatus.ISSUER_ERROR), (407, SignStatus.ISSUER_ERROR)],
)  # fmt: skip
def test_http_errors(shape: str, status: int, result: SignStatus) -> None:
    assert result_of(answered(status, shape)) is result


@pytest.mark.parametrize("status", [401, 403, 404, 503])
def test_no_http_error_ends_an_issuer_for_good(status: int) -> None:
    """A proxy that is restarted answers 404, and a token may be let in again by the server."""
    assert check_failure(answered(status)) == (f"RuntimeError: answered {status}", False)
    rules = ErrorRules(translate=lambda error: Permanent(f"told: {error}"))
    verb = check_failure(answered(status), rules)
    assert verb == (f"told: answered {status}", True)


def test_retry_after_is_honoured_within_reason() -> None:
    def after(value: str) -> timedelta:
        error = answered(429, **{"Retry-After": value})
        return classify(error, is_window_open=True).after

    assert after("30") == timedelta(seconds=30)
    assert after("999999") == timedelta(hours=1)
    assert after("Wed, 21 Oct 2026 07:28:00 GMT") == timedelta()


def test_errors_of_urllib_are_understood() -> None:
    """Its headers are no mapping."""
    headers = Message()
    headers["Retry-After"] = "30"
    with HTTPError("http://ca.example.com", 503, "busy", headers, None) as error:
        result = classify(error, is_window_open=True)
    assert (result.status, result.after) == (SignStatus.RETRY, timedelta(seconds=30))


def test_what_is_no_http_error_is_left_alone() -> None:
    assert http_verb(ValueError("x")) is None
    assert http_verb(answered(200)) is None
    assert http_verb(answered(True)) is None


def test_an_author_may_know_better() -> None:
    def translate(error: Exception) -> SignOutcome | None:
        return Permanent("not for you") if "401" in str(error) else None

    rules = ErrorRules(translate=translate, http={403: Permanent, 404: Retry})
    told = classify(answered(401), is_window_open=True, rules=rules)
    assert (told.status, told.text) == (SignStatus.FAILED, "not for you")
    for status, meaning in ((403, SignStatus.FAILED), (404, SignStatus.RETRY)):
        assert classify(answered(status), is_window_open=True, rules=rules).status is meaning
    assert classify(answered(407), is_window_open=True, rules=rules).text == (
        "RuntimeError: answered 407"
    )


def test_upstream_texts_name_no_types() -> None:
    rules = ErrorRules(names_types=False)
    assert classify(ValueError("test error"), is_window_open=True, rules=rules).text == "test error"
    assert check_failure(ValueError("test error"), rules).text == "test error"


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ({"403": Permanent}, "write http_errors={403: Permanent}"),
        ({302: Permanent}, "302 is no HTTP error"),
        ({403: Pending}, "write http_errors={403: Permanent}"),
        ({403: Permanent("no class")}, "one of the classes"),
    ],
)
def test_rules_that_mean_nothing_are_named(rules: dict[Any, Any], line: str) -> None:
    assert line in http_rule_problem(rules)
    assert not http_rule_problem({403: Permanent, 404: Retry, 503: IssuerUnavailable})
