"""Who a request comes from: client certificates, tokens, and neither, over TLS."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.contract.samples import NAMESPACED
from tests.support.contract.transcript import Conversation, difference

from certwright.apiserver import ApiServer, UserInfo
from certwright.client import Config, HttpTransport, User, load_config

MAPS = f"{NAMESPACED}/configmaps"
REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
ADMIN = UserInfo("certwright-admin", ("system:masters",))
"""Who the certificate of the real control plane is for."""


@asynccontextmanager
async def talking(config: Config) -> AsyncIterator[Conversation]:
    transport = HttpTransport(config)
    yield Conversation(transport, "default")
    await transport.close()


async def visit(config: Config) -> list[object]:
    """Come with a certificate, with nothing, and with tokens that are worth nothing."""
    heard: list[object] = []
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
    return heard


@pytest.mark.real
async def test_credentials(control_plane_kubeconfig: Path, tmp_path: Path) -> None:
    async with ApiServer(namespace_defaults=True).serve() as endpoint:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(endpoint.kubeconfig(ADMIN), "utf-8")
        ours = await visit(load_config(kubeconfig))
    theirs = await visit(load_config(control_plane_kubeconfig))
    found = difference(ours, theirs)
    assert not found, found
