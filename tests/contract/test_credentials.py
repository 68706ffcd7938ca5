"""Who a request comes from: client certificates, tokens, and neither, over TLS."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.support.contract.samples import NAMESPACED
from tests.support.contract.transcript import Conversation, difference

from certwright.apiserver import ApiServer, UserInfo
from certwright.client import (
    Config,
    HttpTransport,
    Request,
    Response,
    Stream,
    Transport,
    User,
    load_config,
)

MAPS = f"{NAMESPACED}/configmaps"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ADMIN = UserInfo("certwright-admin", ("system:masters",))
"""Who the certificate of the real control plane is for."""


class OneAgent:
    """A transport that leaves it to the one beneath to say which program asks."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner

    async def send(self, request: Request) -> Response:
        return await self._inner.send(self._bare(request))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(self._bare(request))

    async def close(self) -> None:
        """Do nothing: the connection belongs to its opener."""

    def _bare(self, request: Request) -> Request:
        headers = [header for header in request.headers if header[0] != "user-agent"]
        return replace(request, headers=tuple(headers))


@asynccontextmanager
async def talking(config: Config) -> AsyncIterator[Conversation]:
    transport = HttpTransport(config)
    yield Conversation(OneAgent(transport), "default")
    await transport.close()


async def visit(config: Config) -> list[Any]:
    """Come with a certificate, with nothing, and with tokens that are worth nothing."""
    config = replace(config, source="the test")
    heard: list[Any] = []
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    async with talking(config) as admin:
        await admin.get(f"{MAPS}/none")
        answer = await admin.post(REVIEWS, review, recorded=False)
        who = answer.body["status"]["userInfo"]
        who.pop("extra", None)  # which certificate it was: known difference
        heard += [*admin.heard, who]
    for user in (User(), User(token="guess"), User(username="a", password="b")):
        async with talking(replace(config, user=user)) as stranger:
            for path in (MAPS, f"{MAPS}/a", "/apis", "/livez", "/metrics", "/nowhere"):
                await stranger.get(path)
            await stranger.post(MAPS, {"metadata": {"name": "a"}})
            await stranger.post(REVIEWS, review)
            await stranger.watch(MAPS, 1)
            heard += stranger.heard
    text = orjson.dumps(heard).replace(config.server.encode(), b"<server>")
    found: list[Any] = orjson.loads(text)
    return found


@pytest.mark.real
async def test_credentials(control_plane_kubeconfig: Path, tmp_path: Path) -> None:
    async with ApiServer(namespace_defaults=True).serve() as endpoint:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(endpoint.kubeconfig(ADMIN), "utf-8")
        ours = await visit(load_config(kubeconfig))
    theirs = await visit(load_config(control_plane_kubeconfig))
    found = difference(ours, theirs)
    assert not found, found
