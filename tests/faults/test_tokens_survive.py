"""The token requestor under faults at every point: one valid token, one account, no leftovers."""

from base64 import b64decode
from collections.abc import Iterator
from typing import Any, cast

import pytest

from certwright.kube import JsonObject
from certwright.kube.kinds import Secret, ServiceAccount
from certwright.operators.tokenrequestor import token_requestor
from certwright.operators.tokenrequestor.request import (
    ACCOUNT_LABELS,
    ACCOUNT_NAME,
    ACCOUNT_NAMESPACE,
    EXPIRATION,
    PURPOSE,
    TARGET_NAME,
    TARGET_NAMESPACE,
)
from certwright.testkit import (
    EmbeddedCluster,
    break_each_watch,
    crash_after_every_write,
    delay_each_event,
    drop_each_event,
    fail_every_request,
    lose_every_answer,
    refuse_every_write,
    repeat_each_event,
    simulate,
    stale_restart,
    survives,
)
from certwright.testkit.builders import secret

OPERATOR = token_requestor()
IGNORE = ("Secret.data.token",)  # no two are alike


def asking(name: str, account: str, **more: str) -> JsonObject:
    annotations = {ACCOUNT_NAME: account, ACCOUNT_NAMESPACE: "default"} | more
    return secret(name, labels={PURPOSE: "token-requestor"}, annotations=annotations)


async def life(cluster: EmbeddedCluster) -> None:
    """Everything users do, and a token that is valid at every rest."""
    target = {TARGET_NAME: "taken", TARGET_NAMESPACE: "default"}
    await cluster.create(asking("a", "web", **{ACCOUNT_LABELS: '{"a":"1"}'}))
    await cluster.settle()
    await cluster.create(asking("b", "web"))
    await cluster.settle()
    await cluster.delete(ServiceAccount, "web")
    await cluster.settle()
    await _all_valid(cluster, {"a": "web", "b": "web"})
    await cluster.patch(Secret, "b", {"metadata": {"annotations": {ACCOUNT_NAME: "new"}}})
    await cluster.patch(Secret, "a", {"metadata": {"annotations": target}})
    await cluster.settle()
    await _all_valid(cluster, {"taken": "web", "b": "new"})
    await cluster.delete(Secret, "a")
    await cluster.settle()
    await _all_valid(cluster, {"b": "new"})


async def ageing(cluster: EmbeddedCluster) -> None:
    """Tokens of ten minutes, renewed twice."""
    await cluster.create(asking("a", "web", **{EXPIRATION: "10m"}))
    for _ in range(2):
        await cluster.settle()
        await _all_valid(cluster, {"a": "web"})
        await cluster.advance(minutes=9)
    await _all_valid(cluster, {"a": "web"})


async def _all_valid(cluster: EmbeddedCluster, expected: dict[str, str]) -> None:
    for name, account in expected.items():
        token = b64decode((await cluster.get(Secret, name))["data"]["token"]).decode()
        review = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": {"token": token},
        }
        status = (await cluster.client.create(review))["status"]
        assert status["user"]["username"] == f"system:serviceaccount:default:{account}"


SCENARIOS = pytest.mark.parametrize("scenario", [life, ageing])


@SCENARIOS
def test_crashes(scenario: Any) -> None:
    assert survives(scenario, OPERATOR, crash_after_every_write, ignore=IGNORE) > 10


def restart_into_the_past(calm: Any) -> Iterator[Any]:
    """Of all earlier states, at every write the latest ones and ever fewer of the others."""
    steps = {1, 2, 3, 5, 8, 13, 21, 34}
    for plan in stale_restart(calm):
        (crash,) = cast("Any", plan).writes.values()
        if crash.behind in steps:
            yield plan


def test_restarts_into_earlier_states() -> None:
    assert survives(life, OPERATOR, restart_into_the_past, ignore=IGNORE, most=50) >= 50


def test_events_lost() -> None:
    survives(life, OPERATOR, drop_each_event, ignore=IGNORE)


def test_events_late_and_repeated_and_watches_that_break() -> None:
    tortures = (repeat_each_event, delay_each_event, break_each_watch)
    survives(life, OPERATOR, *tortures, ignore=IGNORE, most=20)


def test_requests_that_fail() -> None:
    survives(ageing, OPERATOR, refuse_every_write, fail_every_request, ignore=IGNORE, most=24)
    survives(life, OPERATOR, lose_every_answer, ignore=IGNORE)


def test_random_storms() -> None:
    simulate(life, OPERATOR, seeds=range(30), ignore=IGNORE)
