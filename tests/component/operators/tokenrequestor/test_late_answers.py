"""Two Secrets ask for one ServiceAccount, and what one pass learns is outdated when it arrives."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest
from tests.component.operators.tokenrequestor.conftest import Asking

from certwright.client import Client, Request, Response, Stream, Transport
from certwright.kube.kinds import ServiceAccount
from certwright.operators.tokenrequestor import token_requestor
from certwright.operators.tokenrequestor.request import RENEW_TIMESTAMP
from certwright.testkit import EmbeddedCluster

WAY_SECONDS = 0.01
LATE_SECONDS = 1.0
PATIENCE_SECONDS = 60.0


class Late:
    """A transport that brings one answer late: the first one that says "not found".

    Each request takes some time to get there, so that a pass that repeats itself does not do so for ever.
    """

    def __init__(self, inner: Transport, is_meant: Callable[[Request], bool]) -> None:
        self._inner = inner
        self._is_meant = is_meant
        self.tokens = 0
        self.brought = False

    async def send(self, request: Request) -> Response:
        await asyncio.sleep(WAY_SECONDS)
        response = await self._inner.send(request)
        self.tokens += requests_token(request)
        if response.status == 404 and self._is_meant(request) and not self.brought:
            self.brought = True
            await asyncio.sleep(LATE_SECONDS)
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


def reads_account(request: Request) -> bool:
    return request.verb == "get" and request.resource == ServiceAccount


def requests_token(request: Request) -> bool:
    return request.subresource == "token"


@pytest.mark.parametrize("is_meant", [reads_account, requests_token])
async def test_an_account_that_was_missing_a_moment_ago_is_not_taken_for_gone(
    embedded_cluster: EmbeddedCluster, asking: Asking, is_meant: Callable[[Request], bool]
) -> None:
    """While the pass of one Secret hears "not found", that of the other creates the account."""
    late = Late(embedded_cluster.server.transport(), is_meant)
    client = Client(late, clock=embedded_cluster.clock)
    for name in ("a", "b"):
        await asking.create(name)
    await embedded_cluster.settle(token_requestor(client))
    before = [(await asking.data(name))["token"] for name in ("a", "b")]
    late.tokens = 0
    if is_meant is requests_token:  # the pass that renews one is under way
        await asking.annotate({RENEW_TIMESTAMP: None}, "a")
        await asyncio.sleep(WAY_SECONDS / 2)
    await embedded_cluster.delete(ServiceAccount, "web")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await embedded_cluster.settle()
    assert late.brought
    after = [(await asking.data(name))["token"] for name in ("a", "b")]
    assert [await asking.who(token) for token in after] == ["web", "web"]
    assert not set(before) & set(after)
    assert late.tokens <= 4
