"""Calls of webhooks over TLS that go wrong, in the words of kube-apiserver."""

import base64

import pytest
from tests.support.contract.broken_servers import WITH_TLS, WITHOUT_TLS, broken_server
from tests.support.contract.hooks import AUTHORITY

from certwright.apiserver import ApiServer
from certwright.apiserver.webhooks.httpscaller import HttpsReviewCaller
from certwright.apiserver.webhooks.response import CallFailed
from certwright.clock import SYSTEM

POST = 'Post "https://127.0.0.1:{}/a?timeout=1s": '
BODY = "unexpected error when reading response body. Please retry. Original error: "


@pytest.mark.parametrize(
    ("name", "tls", "told"),
    [
        ("silent", False, POST + "context deadline exceeded"),
        ("closes", False, POST + "EOF"),
        ("closes", True, POST + "EOF"),
        ("half a body", True, BODY + "unexpected EOF"),
        ("half a chunk", True, BODY + "unexpected EOF"),
        ("half a body, then silent", True, BODY + "context deadline exceeded"),
    ],
)
async def test_a_broken_connection_is_told(name: str, told: str, *, tls: bool) -> None:
    behaviour = (WITH_TLS if tls else WITHOUT_TLS)[name]
    caller = HttpsReviewCaller(ApiServer().services, SYSTEM)
    async with broken_server(behaviour, tls=tls) as port:
        bundle = base64.b64encode(AUTHORITY.certificate).decode()
        client = {"url": f"https://127.0.0.1:{port}/a", "caBundle": bundle}
        with pytest.raises(CallFailed) as failed:
            await caller.call(client, {}, 1)
    assert failed.value.reason == told.format(port)
