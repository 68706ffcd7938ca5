"""Two conversations: one with each server."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio
from tests.support.contract.transcript import Conversation

from certwright.apiserver import ApiServer
from certwright.client import connect
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import Namespace


def _namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


@pytest_asyncio.fixture
async def embedded() -> AsyncIterator[Conversation]:
    """Talk to a fresh embedded server."""
    conversation = Conversation(
        ApiServer(namespace_defaults=True, rbac=True).transport(), f"c-{uuid.uuid4().hex[:8]}"
    )
    await conversation.post(
        "/api/v1/namespaces", _namespace(conversation.namespace), recorded=False
    )
    conversation.start()
    yield conversation


@pytest_asyncio.fixture
async def real(control_plane_kubeconfig: Path) -> AsyncIterator[Conversation]:
    """Talk to the real server, in a namespace that goes when the test ends."""
    async with connect(kubeconfig=control_plane_kubeconfig) as client:
        conversation = Conversation(client.transport, f"c-{uuid.uuid4().hex[:8]}")
        await client.create(_namespace(conversation.namespace))
        # Made by controllers, some time after the namespace: then it is as it will stay.
        for path in ("serviceaccounts/default", "configmaps/kube-root-ca.crt"):
            await conversation.until(
                f"/api/v1/namespaces/{{ns}}/{path}", lambda answer: answer.status == 200
            )
        conversation.start()
        yield conversation
        await client.delete(Namespace, Key("", conversation.namespace))
