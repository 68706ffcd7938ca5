"""Whose tokens a Secret gets, and what of others is left as it is."""

from base64 import b64decode, b64encode

import pytest
from tests.component.operators.tokenrequestor.conftest import Asking

from certwright.kube import Key
from certwright.kube.kinds import Event, Secret, ServiceAccount
from certwright.operators.tokenrequestor import token_requestor
from certwright.operators.tokenrequestor.request import (
    ACCOUNT_LABELS,
    ACCOUNT_NAMESPACE,
    RENEW_TIMESTAMP,
    TARGET_NAME,
    TARGET_NAMESPACE,
)
from certwright.operators.tokenrequestor.target import PREDECESSOR
from certwright.testkit import Cluster, EmbeddedCluster
from certwright.testkit.builders import secret

OPERATOR = token_requestor()


async def notes(cluster: Cluster) -> list[str]:
    return [event["note"] for event in await cluster.list(Event)]


async def test_accounts_of_other_namespaces_have_to_be_allowed(
    cluster: Cluster, asking: Asking
) -> None:
    await asking.create(account="bootstrap-signer", more={ACCOUNT_NAMESPACE: "kube-public"})
    calls = await cluster.settle(OPERATOR)
    assert await asking.data() == {}
    assert calls.of("ServiceAccount").writes == 0
    [note] = await notes(cluster)
    assert "kube-public/bootstrap-signer is in another namespace than this Secret" in note
    assert "controllers.tokenRequestor.allowedServiceAccounts" in note


async def test_an_allowed_account_of_another_namespace_gets_tokens(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    await asking.create(account="signer", more={ACCOUNT_NAMESPACE: "kube-public"})
    await embedded_cluster.settle(token_requestor(allowed=["kube-public/sign*"]))
    token = (await asking.data())["token"]
    assert await asking.who(token) == "system:serviceaccount:kube-public:signer"


async def test_a_refused_secret_adds_nothing_to_an_account_that_others_ask_for(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    await asking.create("mine", more={ACCOUNT_LABELS: '{"mine":"1"}'})
    labels = {"resources.gardener.cloud/purpose": "token-requestor"}
    named = (await asking.annotations("mine")) | {ACCOUNT_LABELS: '{"theirs":"1"}'}
    await embedded_cluster.create(
        secret("theirs", namespace="kube-public", labels=labels, annotations=named)
    )
    await embedded_cluster.settle(OPERATOR)
    account = (await embedded_cluster.get(ServiceAccount, "web"))["metadata"]
    assert "theirs" not in account["labels"]
    assert "theirs" not in str(account["annotations"])


async def test_an_account_that_was_there_is_neither_changed_nor_deleted(
    cluster: Cluster, asking: Asking
) -> None:
    head = {"apiVersion": "v1", "kind": "ServiceAccount"}
    await cluster.create({**head, "metadata": {"name": "web", "labels": {"their": "own"}}})
    before = await cluster.get(ServiceAccount, "web")
    await asking.create(more={ACCOUNT_LABELS: '{"app":"web"}'})
    await cluster.settle(OPERATOR)
    assert await asking.who((await asking.data())["token"]) == "web"
    await asking.annotate({RENEW_TIMESTAMP: None})
    calls = await cluster.settle()
    assert calls.writes == 2  # token, Secret
    assert (await cluster.restart()).writes == 0
    await cluster.delete(Secret, "s")
    await cluster.settle()
    assert await cluster.get(ServiceAccount, "web") == before


async def test_a_secret_of_the_target_that_was_there_is_left_and_named(
    cluster: Cluster, asking: Asking
) -> None:
    await cluster.create(secret("taken", {"theirs": "x"}))
    before = await cluster.get(Secret, "taken")
    await asking.create(more={TARGET_NAME: "taken", TARGET_NAMESPACE: cluster.namespace})
    await cluster.settle(OPERATOR)
    assert any(
        f"{cluster.namespace}/taken of the target cluster was not" in note
        for note in await notes(cluster)
    )
    await cluster.delete(Secret, "s")
    await cluster.settle()
    assert await cluster.get(Secret, "taken") == before


async def test_a_secret_kept_for_another_one_is_not_overwritten(
    cluster: Cluster, asking: Asking
) -> None:
    where = {TARGET_NAME: "taken", TARGET_NAMESPACE: cluster.namespace}
    await asking.create("first", account="one", more=where)
    await cluster.settle(OPERATOR)
    before = await cluster.get(Secret, "taken")
    await asking.create("second", account="two", more=where)
    await cluster.settle()
    assert await cluster.get(Secret, "taken") == before
    assert any("taken of the target cluster was not" in note for note in await notes(cluster))
    await cluster.delete(Secret, "second")
    await cluster.settle()
    assert await cluster.get(Secret, "taken") == before


async def test_a_foreign_secret_that_is_deleted_makes_room(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    await embedded_cluster.create(secret("taken", {"theirs": "x"}))
    await asking.create(more={TARGET_NAME: "taken", TARGET_NAMESPACE: "default"})
    await embedded_cluster.settle(OPERATOR)
    await embedded_cluster.delete(Secret, "taken")
    await embedded_cluster.advance(minutes=6)
    assert await asking.who((await asking.data("taken"))["token"]) == "web"


async def test_the_token_stays_in_the_two_namespaces_concerned(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    await asking.create(more={TARGET_NAME: "taken", TARGET_NAMESPACE: "kube-public"})
    await embedded_cluster.settle(OPERATOR)
    [note] = await notes(embedded_cluster)
    assert "use the namespace of this Secret (default)" in note
    assert await embedded_cluster.find(Secret, "kube-public/taken") is None


async def test_what_gardeners_token_requestor_made_is_taken_over(
    embedded_cluster: EmbeddedCluster, asking: Asking
) -> None:
    client = embedded_cluster.client
    head = {"apiVersion": "v1", "metadata": {"name": "web", "namespace": "default"}}
    account = {**head, "kind": "ServiceAccount", "automountServiceAccountToken": False}
    await client.create(account, field_manager=PREDECESSOR)
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    key = Key("default", "web")
    issued = await client.create_subresource(ServiceAccount, key, "token", body)
    token = b64encode(issued["status"]["token"].encode()).decode()
    taken = {**secret("taken", namespace="default"), "data": {"token": token}}
    await client.create(taken, field_manager=PREDECESSOR)
    forged = {**secret("forged", namespace="default"), "data": {"token": "eA=="}}
    await client.create(forged, field_manager=PREDECESSOR)
    for name in ("taken", "forged"):
        where = {TARGET_NAME: name, TARGET_NAMESPACE: "default"}
        await asking.create(f"for-{name}", more=where)
    await embedded_cluster.settle(OPERATOR)
    renewed = b64decode((await embedded_cluster.get(Secret, "taken"))["data"]["token"]).decode()
    assert renewed != issued["status"]["token"]
    assert await asking.who(renewed) == "web"
    assert (await embedded_cluster.get(Secret, "forged"))["data"] == {"token": "eA=="}
    for name in ("taken", "forged"):
        await embedded_cluster.delete(Secret, f"for-{name}")
    await embedded_cluster.settle()
    assert await embedded_cluster.find(ServiceAccount, "web") is None
    assert await embedded_cluster.find(Secret, "taken") is None
    assert await embedded_cluster.find(Secret, "forged") is not None


@pytest.mark.parametrize("origin", ["", "garden/web"])
async def test_what_a_managed_resource_keeps_is_not(
    embedded_cluster: EmbeddedCluster, asking: Asking, origin: str
) -> None:
    annotations = {"resources.gardener.cloud/origin": origin} if origin else {}
    metadata = {"name": "web", "namespace": "default", "annotations": annotations}
    head = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    account = {**head, "automountServiceAccountToken": False}
    await embedded_cluster.client.create(account, field_manager=PREDECESSOR)
    await asking.create()
    await embedded_cluster.settle(OPERATOR)
    await embedded_cluster.delete(Secret, "s")
    await embedded_cluster.settle()
    assert (await embedded_cluster.find(ServiceAccount, "web") is not None) is bool(origin)
