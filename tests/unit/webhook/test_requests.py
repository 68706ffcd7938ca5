"""Who may ask, how, and for how long: decided from what stands before the body."""

from typing import Any

import pytest

from certwright.kube import ApiError, Unauthorized
from certwright.webhook.server import asked_seconds, check_client, check_headers

SUBJECT = {"subject": ((("organizationName", "system:masters"),), (("commonName", "api"),))}


@pytest.mark.parametrize("value", ["application/json", "Application/JSON; charset=utf-8"])
def test_reviews_are_posted_as_json(value: str) -> None:
    check_headers("POST", {"Content-Type": value})


@pytest.mark.parametrize(
    ("method", "headers", "code"),
    [
        ("PUT", {"Content-Type": "application/json"}, 405),
        ("POST", {}, 415),
        ("POST", {"Content-Type": "application/yaml"}, 415),
        ("POST", {"Content-Type": "application/json", "Content-Encoding": "br"}, 415),
    ],
)
def test_everything_else_is_refused(method: str, headers: Any, code: int) -> None:
    with pytest.raises(ApiError) as raised:
        check_headers(method, headers)
    assert raised.value.status_code == code


def test_a_client_is_known_by_the_name_in_its_certificate() -> None:
    check_client(SUBJECT, ())
    check_client(SUBJECT, ("api", "other"))
    for certificate, names in ((None, ()), ({}, ("api",)), (SUBJECT, ("system:masters",))):
        with pytest.raises(Unauthorized):
            check_client(certificate, names)


@pytest.mark.parametrize(
    ("query", "seconds"),
    [
        ("timeout=10s", 10),
        ("a=b&timeout=500ms", 0.5),
        ("timeout=never", float("inf")),
        ("timeout=-1s", float("inf")),
        ("timeout=0s", float("inf")),
        ("a=b", float("inf")),
    ],
)
def test_the_api_server_says_how_long_it_waits(query: str, seconds: float) -> None:
    assert asked_seconds(query) == seconds
