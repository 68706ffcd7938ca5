"""What a refusal means for the request, and for the issuer."""

from datetime import timedelta
from typing import Any

import pytest

from certwright.issuer import IssuerUnavailable, Pending, Permanent, Retry, SignOutcome
from certwright.issuers.acme import (
    AcmeError,
    AcmeRefused,
    MalformedBinding,
    OrderFailed,
    ProblemDocument,
)
from certwright.issuers.acme.verbs import verb_for

TYPE = "urn:ietf:params:acme:error:"


def refused(kind: str, wait: timedelta | None = None, code: int = 400) -> AcmeRefused:
    return AcmeRefused("the order", code, ProblemDocument(TYPE + kind, "because"), wait)


@pytest.mark.parametrize(
    ("error", "verb"),
    [
        (refused("badCSR"), Permanent),
        (refused("caa"), Permanent),
        (refused("rejectedIdentifier", code=403), Permanent),
        (refused("unsupportedIdentifier"), Permanent),
        (refused("unauthorized", code=403), IssuerUnavailable),
        (refused("accountDoesNotExist"), IssuerUnavailable),
        (refused("externalAccountRequired"), IssuerUnavailable),
        (refused("userActionRequired", code=403), IssuerUnavailable),
        (refused("serverInternal", code=500), Retry),
        (refused("orderNotReady", code=403), Retry),
        (refused("badNonce"), Retry),
        (OrderFailed("the order is invalid"), Permanent),
        (MalformedBinding("no base64"), IssuerUnavailable),
    ],
)
def test_every_refusal_is_a_verb(error: Exception, verb: type[SignOutcome]) -> None:
    found = verb_for(error)
    assert type(found) is verb
    assert str(found) == str(error)


def test_a_rate_limit_is_waited_for() -> None:
    found = verb_for(refused("rateLimited", timedelta(seconds=90), 429))
    assert isinstance(found, Pending)
    assert found.after == timedelta(seconds=90)
    later = verb_for(refused("rateLimited"))
    assert isinstance(later, Pending)
    assert later.after == timedelta(minutes=10)


def test_a_server_that_wants_to_be_left_alone_is() -> None:
    found: Any = verb_for(refused("serverInternal", timedelta(seconds=7), 503))
    assert found.after == timedelta(seconds=7)


@pytest.mark.parametrize("error", [AcmeError("odd"), OSError("away"), KeyError("x")])
def test_the_rest_is_simply_tried_again(error: Exception) -> None:
    assert verb_for(error) is None
