"""An instance confined to namespaces, with Secrets in two of them that share an account."""

from base64 import b64decode

import pytest

from certwright.kube import JsonObject
from certwright.kube.kinds import Secret, ServiceAccount
from certwright.operators.tokenrequestor import token_requestor
from certwright.operators.tokenrequestor.request import (
    ACCOUNT_LABELS,
    ACCOUNT_NAME,
    ACCOUNT_NAMESPACE,
    PURPOSE,
)
from certwright.operators.tokenrequestor.target import REQUESTED_BY
from certwright.testkit import EmbeddedCluster
from certwright.testkit.builders import namespace, secret

OPERATOR = token_requestor(namespaces=["default", "other"], allowed=["default/web"])


def asking(where: str, **labels: str) -> JsonObject:
    annotations = {ACCOUNT_NAME: "web", ACCOUNT_NAMESPACE: "default"}
    for name, value in labels.items():
        annotations[ACCOUNT_LABELS] = f'{{"{name}":"{value}"}}'
    labelled = {PURPOSE: "token-requestor"}
    return secret("s", namespace=where, labels=labelled, annotations=annotations)


@pytest.fixture
async def asking_in_two(embedded_cluster: EmbeddedCluster) -> None:
    await embedded_cluster.create(namespace("other"))
    await embedded_cluster.create(asking("default", a="1"))
    await embedded_cluster.create(asking("other", b="1"))
    await embedded_cluster.settle(OPERATOR)


async def token_of(cluster: EmbeddedCluster, name: str) -> str:
    return b64decode((await cluster.get(Secret, name))["data"]["token"]).decode()


async def test_they_share_it_without_a_fight(
    embedded_cluster: EmbeddedCluster, asking_in_two: None
) -> None:
    cluster = embedded_cluster
    account = (await cluster.get(ServiceAccount, "web"))["metadata"]
    assert account["annotations"][REQUESTED_BY] == "default/s,other/s"
    assert {"a": "1", "b": "1"}.items() <= account["labels"].items()
    assert await token_of(cluster, "s") != await token_of(cluster, "other/s")
    assert (await cluster.advance(minutes=5)).writes == 0
    assert (await cluster.restart()).writes == 0


async def test_it_goes_with_the_last_of_them(
    embedded_cluster: EmbeddedCluster, asking_in_two: None
) -> None:
    cluster = embedded_cluster
    await cluster.delete(Secret, "s")
    await cluster.settle()
    account = (await cluster.get(ServiceAccount, "web"))["metadata"]
    assert account["annotations"][REQUESTED_BY] == "other/s"
    await cluster.delete(Secret, "other/s")
    await cluster.settle()
    assert await cluster.find(ServiceAccount, "web") is None


async def test_secrets_elsewhere_are_not_looked_at(
    embedded_cluster: EmbeddedCluster,
) -> None:
    await embedded_cluster.create(namespace("third"))
    await embedded_cluster.create(asking("third"))
    calls = await embedded_cluster.settle(OPERATOR)
    assert calls.writes == 0
    assert {call.path for call in calls.of("Secret") if call.verb == "watch"} == {
        "/api/v1/secrets",  # what is kept in the target may be anywhere
        "/api/v1/namespaces/default/secrets",
        "/api/v1/namespaces/other/secrets",
    }
