"""Admission webhooks on the embedded server, in virtual time and without sockets."""

import asyncio
import base64
import gc
from datetime import timedelta

import orjson
import pytest

from certwright.apiserver.http.certs import TestAuthority
from certwright.apiserver.webhooks.reviews import ReviewsNeeded
from certwright.kube import ApiError, InternalError, JsonObject, Key, ServerTimeout
from certwright.kube.kinds import ConfigMap
from certwright.testkit import EmbeddedCluster

KEY = Key("default", "a")


def configuration(kind: str, **webhook: object) -> JsonObject:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "test"},
        "webhooks": [
            {
                "name": "a.example.com",
                "clientConfig": {"service": {"name": "hook", "namespace": "ns", "path": "/a"}},
                "rules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "resources": ["configmaps"],
                        "operations": ["*"],
                    }
                ],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                **webhook,
            }
        ],
    }


def config_map(**data: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "namespace": "default"},
        "data": data,
    }


def answer(review: JsonObject, **response: object) -> JsonObject:
    found = {"uid": review["request"]["uid"], "allowed": True, **response}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": found}


def patch(review: JsonObject, *operations: JsonObject) -> JsonObject:
    encoded = base64.b64encode(orjson.dumps(operations)).decode()
    return answer(review, patchType="JSONPatch", patch=encoded)


async def test_mutation(embedded_cluster: EmbeddedCluster) -> None:
    client = embedded_cluster.client
    await client.create(configuration("Mutating"))

    async def handle(review: JsonObject) -> JsonObject:
        await asyncio.sleep(2)
        return patch(review, {"op": "add", "path": "/data/by", "value": "hook"})

    embedded_cluster.webhooks.register(handle, service="ns/hook/a")
    made = await client.create(config_map(x="1"))
    assert made["data"] == {"x": "1", "by": "hook"}
    assert (await client.get(ConfigMap, KEY))["data"] == {"x": "1", "by": "hook"}


async def test_a_reviewed_request_is_let_go_with_its_answer(
    embedded_cluster: EmbeddedCluster,
) -> None:
    client = embedded_cluster.client
    for kind in ("Mutating", "Validating"):
        await client.create(configuration(kind))
    embedded_cluster.webhooks.register(answer, service="ns/hook/a")
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        await client.create(config_map(x="1"))
        held = [one for one in gc.get_objects() if isinstance(one, ReviewsNeeded)]
    finally:
        if was_enabled:
            gc.enable()
    assert held == [], "cycles hold them, and with them all of the request"


async def test_what_a_reinvoked_webhook_changes_counts(embedded_cluster: EmbeddedCluster) -> None:
    client = embedded_cluster.client
    both = configuration("Mutating", reinvocationPolicy="IfNeeded")
    place = {"service": {"name": "hook", "namespace": "ns", "path": "/b"}}
    both["webhooks"].append({**both["webhooks"][0], "name": "b.example.com", "clientConfig": place})
    await client.create(both)

    def seen_by_a(review: JsonObject) -> JsonObject:
        seen = "".join(sorted(review["request"]["object"]["data"]))
        return patch(review, {"op": "add", "path": "/data/a", "value": seen})

    def add_b(review: JsonObject) -> JsonObject:
        return patch(review, {"op": "add", "path": "/data/b", "value": "yes"})

    embedded_cluster.webhooks.register(seen_by_a, service="ns/hook/a")
    embedded_cluster.webhooks.register(add_b, service="ns/hook/b")
    assert (await client.create(config_map(x="1")))["data"] == {"x": "1", "a": "abx", "b": "yes"}


async def test_the_answer_to_another_review_is_not_taken(
    embedded_cluster: EmbeddedCluster,
) -> None:
    client = embedded_cluster.client
    await client.create(configuration("Validating"))
    embedded_cluster.webhooks.register(
        lambda review: answer(review, uid="other"), service="ns/hook/a"
    )
    with pytest.raises(InternalError, match=r"expected response.uid=.*, got \"other\""):
        await client.create(config_map())


async def test_denial(embedded_cluster: EmbeddedCluster) -> None:
    client = embedded_cluster.client
    await client.create(configuration("Validating"))
    embedded_cluster.webhooks.register(
        lambda review: answer(review, allowed=False, status={"message": "no"}),
        service="ns/hook/a",
    )
    with pytest.raises(ApiError) as refused:
        await client.create(config_map())
    assert refused.value.message == 'admission webhook "a.example.com" denied the request: no'
    assert refused.value.status_code == 400


async def test_changes_meanwhile_are_reviewed_anew(embedded_cluster: EmbeddedCluster) -> None:
    """The review is about an object that changed before the answer came."""
    client = embedded_cluster.client
    await client.create(config_map(x="1"))
    await client.create(configuration("Validating"))
    reviewed = []

    async def handle(review: JsonObject) -> JsonObject:
        request = review["request"]
        reviewed.append((request["oldObject"]["data"], request["object"]["data"]))
        if len(reviewed) == 1:
            await client.patch(ConfigMap, KEY, {"data": {"y": "2"}})
        return answer(review)

    embedded_cluster.webhooks.register(handle, service="ns/hook/a")
    await client.patch(ConfigMap, KEY, {"data": {"x": "3"}})
    found = await client.get(ConfigMap, KEY)
    assert found["data"] == {"x": "3", "y": "2"}
    assert reviewed == [
        ({"x": "1"}, {"x": "3"}),
        ({"x": "1"}, {"x": "1", "y": "2"}),
        ({"x": "1", "y": "2"}, {"x": "3", "y": "2"}),
    ]


async def test_webhooks_that_never_answer(embedded_cluster: EmbeddedCluster) -> None:
    client, clock = embedded_cluster.client, embedded_cluster.clock
    await client.create(configuration("Validating", timeoutSeconds=7))
    embedded_cluster.webhooks.register(_never, service="ns/hook/a")
    before = clock.now()
    with pytest.raises(InternalError) as refused:
        await client.create(config_map())
    assert refused.value.message == (
        'Internal error occurred: failed calling webhook "a.example.com": failed to call webhook: '
        'Post "https://hook.ns.svc:443/a?timeout=7s": context deadline exceeded'
    )
    assert clock.now() - before >= timedelta(seconds=7)


async def test_requests_end_after_their_time(embedded_cluster: EmbeddedCluster) -> None:
    """Each webhook keeps to its own time, and all of them together take too long."""
    client = embedded_cluster.client
    slow = configuration("Mutating", timeoutSeconds=30, failurePolicy="Ignore")
    slow["webhooks"].append({**slow["webhooks"][0], "name": "b.example.com"})
    await client.create(slow)
    embedded_cluster.webhooks.register(_never, service="ns/hook/a")
    with pytest.raises(ServerTimeout):
        await client.create(config_map())


async def _never(review: JsonObject) -> JsonObject:
    await asyncio.Event().wait()
    return answer(review)


async def test_certificates_expire(embedded_cluster: EmbeddedCluster) -> None:
    client, clock = embedded_cluster.client, embedded_cluster.clock
    authority = TestAuthority("webhooks", clock.now())
    bundle = base64.b64encode(authority.certificate).decode()
    config = configuration("Validating")
    config["webhooks"][0]["clientConfig"]["caBundle"] = bundle
    await client.create(config)
    chain = authority.serving("hook.ns.svc").certificate
    embedded_cluster.webhooks.register(answer, service="ns/hook/a", chain=chain)
    await client.create(config_map())
    await embedded_cluster.advance(hours=24 * 366)
    with pytest.raises(InternalError, match="certificate has expired or is not yet valid"):
        await client.patch(ConfigMap, KEY, {"data": {"x": "1"}})


async def test_webhooks_that_are_down(embedded_cluster: EmbeddedCluster) -> None:
    client = embedded_cluster.client
    await client.create(configuration("Validating"))
    embedded_cluster.webhooks.register(answer, service="ns/hook/a")
    await client.create(config_map())
    embedded_cluster.webhooks.remove(service="ns/hook/a")
    with pytest.raises(InternalError, match="connect: connection refused"):
        await client.delete(ConfigMap, KEY)
    assert await client.get(ConfigMap, KEY)
