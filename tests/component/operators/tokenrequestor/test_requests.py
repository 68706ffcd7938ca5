"""Secrets ask for tokens, and get them: on both servers, with the calls counted."""

import pytest
from tests.component.operators.tokenrequestor.conftest import Asking

from certwright.kube.kinds import Event, Secret, ServiceAccount
from certwright.operators.tokenrequestor import FINALIZER, token_requestor
from certwright.operators.tokenrequestor.contents import ca_bundle_in, token_in
from certwright.operators.tokenrequestor.request import (
    ACCOUNT_LABELS,
    ACCOUNT_NAME,
    CLASS,
    EXPIRATION,
    INJECT_CA_BUNDLE,
    PURPOSE,
    RENEW_TIMESTAMP,
    TARGET_NAME,
    TARGET_NAMESPACE,
)
from certwright.operators.tokenrequestor.target import REQUESTED_BY
from certwright.testkit import Cluster
from certwright.testkit.builders import secret

KUBECONFIG = """
current-context: x
contexts: [{name: x, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: https://c}}]
users: [{name: u, user: {}}]
"""

OPERATOR = token_requestor(ca_bundle=lambda: b"THE CA")


async def test_a_token_with_four_writes_and_none_after_a_restart(
    cluster: Cluster, asking: Asking
) -> None:
    await asking.create(more={ACCOUNT_LABELS: '{"app":"web"}'})
    calls = await cluster.settle(OPERATOR)
    assert await asking.who((await asking.data())["token"]) == "web"
    account = await cluster.get(ServiceAccount, "web")
    assert account["automountServiceAccountToken"] is False
    assert account["metadata"]["labels"]["app"] == "web"
    assert RENEW_TIMESTAMP in await asking.annotations()
    assert calls.writes == 4  # finalizer, account, token, Secret
    assert calls.of("Secret").by_verb["get"] == 0
    calls = await cluster.restart()
    assert calls.writes == 0


async def test_secrets_of_others_are_neither_seen_nor_touched(
    cluster: Cluster, asking: Asking
) -> None:
    await cluster.create(secret("other", {"token": "x"}, labels={PURPOSE: "something"}))
    calls = await cluster.settle(OPERATOR)
    listed = [call for call in calls.of("Secret") if call.verb in {"list", "watch"}]
    assert listed
    assert all("labelSelector" in dict(call.query) for call in listed)
    assert calls.writes == 0


async def test_a_token_inside_a_kubeconfig(cluster: Cluster, asking: Asking) -> None:
    await asking.create(data={"kubeconfig": KUBECONFIG}, more={INJECT_CA_BUNDLE: "true"})
    await cluster.settle(OPERATOR)
    data = await asking.data()
    assert data.keys() == {"kubeconfig"}
    assert await asking.who(token_in(data["kubeconfig"])) == "web"
    assert ca_bundle_in(data["kubeconfig"]) == "VEhFIENB"
    assert "server: https://c" in data["kubeconfig"]


async def test_the_authority_beside_the_token(cluster: Cluster, asking: Asking) -> None:
    await asking.create()
    await cluster.settle(OPERATOR)
    assert (await asking.data()).keys() == {"token"}
    await asking.annotate({INJECT_CA_BUNDLE: "true"})
    await cluster.settle()
    assert (await asking.data())["bundle.crt"] == "THE CA"


async def test_a_secret_in_the_target_takes_the_token(cluster: Cluster, asking: Asking) -> None:
    where = {TARGET_NAME: "taken", TARGET_NAMESPACE: cluster.namespace}
    await asking.create(data={"token": "old"}, more=where)
    await cluster.settle(OPERATOR)
    assert await asking.who((await asking.data("taken"))["token"]) == "web"
    assert await asking.data() == {}
    await cluster.delete(Secret, "taken")
    await cluster.settle()
    assert await asking.who((await asking.data("taken"))["token"]) == "web"
    await asking.annotate(dict.fromkeys(where))
    await cluster.settle()
    assert await cluster.find(Secret, "taken") is None
    assert await asking.who((await asking.data())["token"]) == "web"


async def test_the_account_and_the_target_go_with_the_secret(
    cluster: Cluster, asking: Asking
) -> None:
    where = {TARGET_NAME: "taken", TARGET_NAMESPACE: cluster.namespace}
    await asking.create(more=where)
    await cluster.settle(OPERATOR)
    assert (await cluster.get(Secret, "s"))["metadata"]["finalizers"] == [FINALIZER]
    await cluster.delete(Secret, "s")
    calls = await cluster.settle()
    for kind, name in ((Secret, "s"), (Secret, "taken"), (ServiceAccount, "web")):
        assert await cluster.find(kind, name) is None
    assert calls.writes == 3


async def test_an_account_two_ask_for_stays_until_the_last_goes(
    cluster: Cluster, asking: Asking
) -> None:
    await asking.create("a", more={ACCOUNT_LABELS: '{"a":"1"}'})
    await asking.create("b", more={ACCOUNT_LABELS: '{"b":"1"}'})
    await cluster.settle(OPERATOR)
    account = (await cluster.get(ServiceAccount, "web"))["metadata"]
    assert account["annotations"][REQUESTED_BY].count(",") == 1
    assert {"a": "1", "b": "1"}.items() <= account["labels"].items()
    await cluster.delete(Secret, "a")
    await cluster.settle()
    kept = (await cluster.get(ServiceAccount, "web"))["metadata"]
    assert kept["uid"] == account["uid"]
    assert "a" not in kept["labels"]
    await cluster.delete(Secret, "b")
    await cluster.settle()
    assert await cluster.find(ServiceAccount, "web") is None


async def test_an_account_that_was_deleted_comes_back_with_new_tokens_for_all(
    cluster: Cluster, asking: Asking
) -> None:
    await asking.create("a")
    await asking.create("b")
    await cluster.settle(OPERATOR)
    before = [await asking.data("a"), await asking.data("b")]
    await cluster.delete(ServiceAccount, "web")
    await cluster.settle()
    after = [await asking.data("a"), await asking.data("b")]
    assert [await asking.who(data["token"]) for data in after] == ["web", "web"]
    assert before[0] != after[0]
    assert before[1] != after[1]


async def test_an_account_that_was_edited_is_put_right_and_the_token_stays(
    cluster: Cluster, asking: Asking
) -> None:
    await asking.create(more={ACCOUNT_LABELS: '{"app":"web"}'})
    await cluster.settle(OPERATOR)
    before = await asking.data()
    edit = {"automountServiceAccountToken": True, "metadata": {"labels": {"app": "x", "mine": "1"}}}
    await cluster.patch(ServiceAccount, "web", edit)
    calls = await cluster.settle()
    account = await cluster.get(ServiceAccount, "web")
    assert account["automountServiceAccountToken"] is False
    assert {"app": "web", "mine": "1"}.items() <= account["metadata"]["labels"].items()
    assert await asking.data() == before
    assert calls.writes == 1


async def test_a_token_that_opens_nothing_is_replaced(cluster: Cluster, asking: Asking) -> None:
    await asking.create()
    await cluster.settle(OPERATOR)
    await asking.put({"token": "forged"})
    calls = await cluster.settle()
    assert await asking.who((await asking.data())["token"]) == "web"
    assert calls.writes == 2  # token, Secret


async def test_another_account_means_another_token_and_the_old_account_goes(
    cluster: Cluster, asking: Asking
) -> None:
    await asking.create()
    await cluster.settle(OPERATOR)
    await asking.annotate({ACCOUNT_NAME: "new"})
    await cluster.settle()
    assert await asking.who((await asking.data())["token"]) == "new"
    assert await cluster.names(ServiceAccount) - {"default"} == {"new"}


async def test_taking_the_timestamp_away_asks_for_a_renewal(
    cluster: Cluster, asking: Asking
) -> None:
    await asking.create()
    await cluster.settle(OPERATOR)
    before = await asking.data()
    await asking.annotate({RENEW_TIMESTAMP: None})
    calls = await cluster.settle()
    assert await asking.data() != before
    assert RENEW_TIMESTAMP in await asking.annotations()
    assert calls.writes == 2


async def test_a_secret_no_longer_labelled_is_let_go(cluster: Cluster, asking: Asking) -> None:
    await asking.create()
    await cluster.settle(OPERATOR)
    await cluster.patch(Secret, "s", {"metadata": {"labels": {PURPOSE: None}}})
    await cluster.settle()
    assert "finalizers" not in (await cluster.get(Secret, "s"))["metadata"]
    assert await cluster.find(ServiceAccount, "web") is None


async def test_a_secret_no_longer_labelled_is_let_go_after_a_restart_too(
    cluster: Cluster, asking: Asking
) -> None:
    await asking.create()
    await cluster.settle(OPERATOR)
    await cluster.stop()
    await cluster.patch(Secret, "s", {"metadata": {"labels": {PURPOSE: None}}})
    await cluster.settle(OPERATOR)
    assert "finalizers" not in (await cluster.get(Secret, "s"))["metadata"]
    assert await cluster.find(ServiceAccount, "web") is None


async def test_a_class_is_looked_after_by_its_own_instance(
    cluster: Cluster, asking: Asking
) -> None:
    await asking.create("mine", account="mine", labels={CLASS: "shoot"})
    await asking.create("other", account="other", labels={CLASS: "garden"})
    await asking.create("none", account="none")
    await cluster.settle(token_requestor(resource_class="shoot", namespaces=[cluster.namespace]))
    assert await cluster.names(ServiceAccount) - {"default"} == {"mine"}
    assert await asking.data("other") == {}


@pytest.mark.parametrize(
    ("more", "data", "complaint"),
    [
        ({EXPIRATION: "1s"}, None, "10m at least"),
        ({}, {"kubeconfig": "a: b"}, "no current-context"),
    ],
)
async def test_mistakes_are_reported_and_nothing_is_made(
    cluster: Cluster,
    asking: Asking,
    more: dict[str, str],
    data: dict[str, str] | None,
    complaint: str,
) -> None:
    await asking.create(data=data, more=more)
    calls = await cluster.settle(OPERATOR)
    assert any(complaint in event["note"] for event in await cluster.list(Event))
    assert calls.of("ServiceAccount").writes == 0
    await cluster.delete(Secret, "s")
    await cluster.settle()
    assert await cluster.find(Secret, "s") is None
