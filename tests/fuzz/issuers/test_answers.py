"""Whatever a server answers, and whatever stands on a request: a value, or a named refusal."""

import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from certwright.cli.cert.contents import of_pem
from certwright.issuers.acme import ExternalAccount, MalformedBinding, Ticket, retry_after
from certwright.issuers.acme.issuer import ticket_in
from certwright.issuers.acme.messages import (
    Account,
    Authorization,
    Directory,
    Order,
    ProblemDocument,
)
from certwright.issuers.cfssl.client import _Reply
from certwright.issuers.vault.client import _Failure, _Login, _Signed
from certwright.issuers.web import WebError, WebResponse
from certwright.kube import JsonObject
from certwright.pki import PkiError

NOW = datetime(2031, 5, 17, 12, tzinfo=UTC)
MESSAGES = [
    Account,
    Authorization,
    Directory,
    Order,
    ProblemDocument,
    _Reply,
    _Failure,
    _Login,
    _Signed,
]
WORDS = st.sampled_from(
    sorted({name for kind in MESSAGES for name in kind.__struct_encode_fields__})
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=5), inner),
    max_leaves=6,
)


@pytest.mark.parametrize("kind", MESSAGES)
@given(value=JSON)
@settings(max_examples=60, deadline=None)
def test_any_json_is_a_message_or_refused(kind: type[Any], value: Any) -> None:
    try:
        message = WebResponse(200, {}, msgspec.json.encode(value)).json(kind)
    except WebError:
        return
    assert isinstance(message, kind)
    assert len(str(message)) < 100_000


@pytest.mark.parametrize("kind", MESSAGES)
@given(body=st.binary(max_size=200))
@settings(max_examples=40, deadline=None)
def test_any_bytes_are_a_message_or_refused(kind: type[Any], body: bytes) -> None:
    with contextlib.suppress(WebError):
        WebResponse(200, {}, body).json(kind)


@given(value=st.dictionaries(st.sampled_from(Ticket.__struct_fields__) | st.text(max_size=5), JSON))
@settings(max_examples=100, deadline=None)
def test_any_state_is_a_ticket_or_none(value: JsonObject) -> None:
    assert isinstance(ticket_in(value), Ticket | None)


@given(header=st.text(max_size=60) | st.from_regex(r"[A-Z][a-z]{2}, \d\d May \d{1,5} [\d:]{8} GMT"))
@settings(max_examples=200, deadline=None)
def test_any_header_is_a_time_within_reason_or_none(header: str) -> None:
    wait = retry_after(header, NOW)
    assert wait is None or timedelta(seconds=1) <= wait <= timedelta(hours=1)


@given(text=st.text(max_size=60))
@settings(max_examples=100, deadline=None)
def test_any_text_is_a_key_or_refused(text: str) -> None:
    with contextlib.suppress(MalformedBinding):
        assert ExternalAccount.of("id", text).mac_key


@given(data=st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode()))
@settings(max_examples=100, deadline=None)
def test_any_file_is_shown_or_refused(data: bytes) -> None:
    for text in (data, b"-----BEGIN CERTIFICATE-----\n" + data + b"\n-----END CERTIFICATE-----\n"):
        with contextlib.suppress(PkiError):
            of_pem("x", text)
