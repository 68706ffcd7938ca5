"""Secrets that ask for tokens."""

from base64 import b64decode, b64encode
from typing import Any

import pytest

from certwright.kube import JsonObject
from certwright.kube.kinds import Secret
from certwright.operators.tokenrequestor.request import ACCOUNT_NAME, ACCOUNT_NAMESPACE, PURPOSE
from certwright.testkit import Cluster
from certwright.testkit.builders import secret


class Asking:
    """Makes Secrets that ask, and reads what they got."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def create(
        self,
        name: str = "s",
        *,
        account: str = "web",
        data: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
        **annotations: Any,
    ) -> None:
        labels = {PURPOSE: "token-requestor"} | (labels or {})
        named = {ACCOUNT_NAME: account, ACCOUNT_NAMESPACE: self._cluster.namespace}
        await self._cluster.create(
            secret(name, data, labels=labels, annotations=named | annotations.pop("more", {}))
        )

    async def annotate(self, annotations: JsonObject, name: str = "s") -> None:
        await self._cluster.patch(Secret, name, {"metadata": {"annotations": annotations}})

    async def annotations(self, name: str = "s") -> JsonObject:
        value: JsonObject = (await self._cluster.get(Secret, name))["metadata"]["annotations"]
        return value

    async def data(self, name: str = "s") -> JsonObject:
        data = (await self._cluster.get(Secret, name)).get("data") or {}
        return {key: b64decode(value).decode() for key, value in data.items()}

    async def put(self, data: dict[str, str], name: str = "s") -> None:
        keys = {key: b64encode(value.encode()).decode() for key, value in data.items()}
        await self._cluster.patch(Secret, name, {"data": keys})

    async def who(self, token: str) -> str:
        """Return whom a token stands for; nothing if it opens nothing."""
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        status = (await self._cluster.client.create(review))["status"]
        name = status["user"].get("username", "")
        value: str = name.removeprefix(f"system:serviceaccount:{self._cluster.namespace}:")
        return value


@pytest.fixture
def asking(request: pytest.FixtureRequest) -> Asking:
    embedded = "embedded_cluster" in request.fixturenames
    return Asking(request.getfixturevalue("embedded_cluster" if embedded else "cluster"))
