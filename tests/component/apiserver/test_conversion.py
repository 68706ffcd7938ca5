"""Kinds whose versions a webhook converts into each other."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from random import Random
from typing import Any

import pytest
from tests.component.apiserver.conftest import Answer, SetClock, request
from tests.support.conversion import Converter, conversion, versions

from certwright.apiserver import ApiServer
from certwright.apiserver.http.certs import TestAuthority
from certwright.apiserver.webhooks.registered import RegisteredWebhooks
from certwright.kube import JsonObject

Json = dict[str, Any]

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
URL = "https://converter.example.com/convert"
DEFINITION: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "links.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "links", "kind": "Link"},
        "versions": versions(),
        "conversion": conversion({"url": URL}),
    },
}


def at(version: str, name: str = "") -> str:
    where = f"/apis/example.com/{version}/namespaces/default/links"
    return f"{where}/{name}" if name else where


def link(version: str, name: str = "a", **spec: Any) -> Json:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Link",
        "metadata": {"name": name},
        "spec": spec,
    }


class Links:
    """A server with links, and the webhook that converts them."""

    def __init__(self) -> None:
        clock = SetClock()
        self.webhooks = RegisteredWebhooks(clock)
        self.converter = Converter()
        self.webhooks.register(self.converter, url=URL)
        self.server = ApiServer(clock=clock, rng=Random(7), webhooks=self.webhooks)  # noqa: S311

    async def __call__(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        response = await self.server.respond(request(method, path, body, **options))
        return Answer(response.status, json.loads(response.body), dict(response.headers))

    async def merge(self, path: str, body: Json, **options: Any) -> Answer:
        kind = "application/merge-patch+json"
        return await self("PATCH", path, body, content_type=kind, **options)

    async def apply(self, path: str, body: Json, manager: str, **options: Any) -> Answer:
        kind = "application/apply-patch+yaml"
        return await self("PATCH", path, body, content_type=kind, fieldManager=manager, **options)

    async def watch(self, path: str, **query: Any) -> AsyncIterator[JsonObject]:
        stream = await self.server.open(request("GET", path, watch="1", **query))
        async for chunk in stream.chunks():
            for line in chunk.splitlines():
                yield json.loads(line)

    def stored(self, name: str = "a") -> JsonObject:
        found = (o for o in self.server.objects() if o["kind"] == "Link")
        return next(o for o in found if o["metadata"]["name"] == name)


@pytest.fixture
async def links() -> Links:
    links = Links()
    assert (await links("POST", CRDS, DEFINITION)).status == 201
    return links


async def test_objects_are_stored_in_one_version_and_read_in_both(links: Links) -> None:
    made = await links("POST", at("v2"), link("v2", host="h", port="1"))

    assert made.status == 201
    assert made.body["spec"] == {"host": "h", "port": "1"}
    assert links.stored()["spec"] == {"address": "h:1"}
    assert links.stored()["apiVersion"] == "example.com/v1"
    assert (await links("GET", at("v1", "a"))).body["spec"] == {"address": "h:1"}
    again = await links("GET", at("v2", "a"))
    assert again.body == made.body


async def test_the_stored_version_needs_no_webhook(links: Links) -> None:
    links.webhooks.remove(url=URL)

    made = await links("POST", at("v1"), link("v1", address="h:1"))
    listed = await links("GET", at("v1"))

    assert (made.status, len(listed.body["items"])) == (201, 1)
    refused = await links("GET", at("v2", "a"))
    assert refused.status == 500
    assert refused.message == (
        "conversion webhook for example.com/v1, Kind=Link failed: "
        f'Post "{URL}?timeout=30s": dial tcp converter.example.com: connect: connection refused'
    )


async def test_a_list_is_converted_in_one_review(links: Links) -> None:
    for name in ("a", "b", "c"):
        await links("POST", at("v1"), link("v1", name, address=f"{name}:1"))
    links.converter.requests.clear()

    listed = await links("GET", at("v2"))
    page = await links("GET", at("v2"), limit=2)

    assert [each["spec"]["host"] for each in listed.body["items"]] == ["a", "b", "c"]
    assert [each["metadata"]["name"] for each in page.body["items"]] == ["a", "b"]
    assert [len(each.objects) for each in links.converter.requests] == [3, 2]


async def test_selectors_see_what_the_webhook_made(links: Links) -> None:
    await links("POST", at("v1"), link("v1", address="h:1"))

    assert (await links("GET", at("v2"), labelSelector="seen=yes")).body["items"]
    assert not (await links("GET", at("v1"), labelSelector="seen=yes")).body["items"]


async def test_each_request_asks_anew(links: Links) -> None:
    await links("POST", at("v1"), link("v1", address="h:1"))
    await links("GET", at("v2", "a"))
    links.converter.spoil = lambda request, _: request.failed("not today")

    refused = await links("GET", at("v2", "a"))

    assert refused.status == 500
    assert refused.message == "conversion webhook for example.com/v1, Kind=Link failed: not today"


async def test_writes_in_the_other_version(links: Links) -> None:
    made = await links("POST", at("v2"), link("v2", host="h", port="1"))
    patched = await links.merge(at("v2", "a"), {"spec": {"port": "2"}})
    assert patched.body["spec"] == {"host": "h", "port": "2"}
    assert patched.body["metadata"]["generation"] == 2
    assert links.stored()["spec"] == {"address": "h:2"}

    replaced = await links("PUT", at("v2", "a"), {**patched.body, "spec": {"host": "g"}})
    assert replaced.body["spec"] == {"host": "g", "port": ""}
    status = await links.merge(at("v2", "a/status"), {"status": {"phase": "P"}})
    assert status.body["status"] == {"phase": "P"}
    stale = await links("PUT", at("v2", "a"), made.body)
    assert stale.status == 409
    gone = await links("DELETE", at("v2", "a"))
    assert gone.body["status"] == "Success"
    assert (await links("GET", at("v1", "a"))).status == 404


async def test_nothing_is_stored_when_the_webhook_refuses(links: Links) -> None:
    links.converter.spoil = lambda request, _: request.failed("not today")

    refused = await links("POST", at("v2"), link("v2", host="h"))

    assert refused.message == "conversion webhook for example.com/v2, Kind=Link failed: not today"
    assert not [obj for obj in links.server.objects() if obj["kind"] == "Link"]


async def test_a_generated_name_and_a_dry_run(links: Links) -> None:
    body = link("v2", host="h", port="1")
    body["metadata"] = {"generateName": "x-"}

    made = await links("POST", at("v2"), body)
    dry = await links("POST", at("v2"), link("v2", "dry", host="d"), dryRun="All")

    assert made.body["metadata"]["name"].startswith("x-")
    assert (dry.status, dry.body["spec"]) == (201, {"host": "d", "port": ""})
    listed = await links("GET", at("v1"))
    assert [each["metadata"]["uid"] for each in listed.body["items"]] == [
        made.body["metadata"]["uid"]
    ]


async def test_a_delete_that_waits_shows_the_object(links: Links) -> None:
    held = link("v1", address="h:1")
    held["metadata"]["finalizers"] = ["example.com/held"]
    await links("POST", at("v1"), held)

    deleted = await links("DELETE", at("v2", "a"))

    assert deleted.body["spec"] == {"host": "h", "port": "1"}
    assert deleted.body["metadata"]["deletionTimestamp"]
    finished = await links.merge(at("v2", "a"), {"metadata": {"finalizers": None}})
    assert finished.body["spec"] == {"host": "h", "port": "1"}
    assert (await links("GET", at("v1", "a"))).status == 404


async def test_a_write_that_changes_nothing_migrates(links: Links) -> None:
    made = await links("POST", at("v1"), link("v1", address="h:1"))
    same = await links("PUT", at("v1", "a"), made.body)
    assert same.body == made.body
    await links.merge(f"{CRDS}/links.example.com", {"spec": {"versions": versions("v2")}})
    assert links.stored()["apiVersion"] == "example.com/v1"

    seen = await links("GET", at("v1", "a"))
    moved = await links("PUT", at("v1", "a"), seen.body)

    assert links.stored()["apiVersion"] == "example.com/v2"
    assert links.stored()["spec"] == {"host": "h", "port": "1"}
    assert moved.body["spec"] == seen.body["spec"]
    assert moved.body["metadata"]["resourceVersion"] != seen.body["metadata"]["resourceVersion"]
    again = await links("PUT", at("v2", "a"), (await links("GET", at("v2", "a"))).body)
    moved_version = moved.body["metadata"]["resourceVersion"]
    assert again.body["metadata"]["resourceVersion"] == moved_version


async def test_a_watch_keeps_its_order_while_the_webhook_is_slow(links: Links) -> None:
    gate = asyncio.Event()
    convert = links.converter.__call__

    async def slow(review: JsonObject) -> Any:
        await gate.wait()
        return convert(review)

    await links("POST", at("v1"), link("v1", "a", address="h:0"))
    links.webhooks.register(slow, url=URL)
    seen: list[tuple[str, str]] = []

    async def follow() -> None:
        async for event in links.watch(at("v2")):
            seen.append((event["type"], event["object"]["spec"]["port"]))
            if len(seen) == 5:
                return

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(follow())
        for _ in range(3):
            await asyncio.sleep(0)
        for port in ("1", "2"):
            await links.merge(at("v1", "a"), {"spec": {"address": f"h:{port}"}})
        gate.set()
        await links.merge(at("v1", "a"), {"spec": {"address": "h:3"}})
        await links("DELETE", at("v1", "a"))

    assert seen == [
        ("ADDED", "0"), ("MODIFIED", "1"), ("MODIFIED", "2"), ("MODIFIED", "3"), ("DELETED", "3"),
    ]  # fmt: skip


async def test_a_watch_ends_when_the_webhook_fails(links: Links) -> None:
    made = await links("POST", at("v1"), link("v1", address="h:1"))
    await links.merge(at("v1", "a"), {"spec": {"note": "x"}})
    links.converter.spoil = lambda request, _: request.failed("not today")
    since = made.body["metadata"]["resourceVersion"]

    async with asyncio.timeout(5):
        events = [event async for event in links.watch(at("v2"), resourceVersion=since)]

    assert events == []
    assert (await links("GET", at("v2"))).message.endswith("failed: not today")


async def test_a_watch_that_cannot_begin_says_why(links: Links) -> None:
    await links("POST", at("v1"), link("v1", address="h:1"))
    links.converter.spoil = lambda request, _: request.failed("not today")

    async with asyncio.timeout(5):
        events = [event async for event in links.watch(at("v2"))]

    (event,) = events
    assert event["type"] == "ERROR"
    assert event["object"]["message"].endswith("failed: not today")


async def test_a_watch_with_a_selector(links: Links) -> None:
    await links("POST", at("v1"), link("v1", address="h:1"))
    await links("POST", at("v1"), link("v1", "b", address="h:1"))
    await links.merge(at("v1", "b"), {"metadata": {"labels": {"x": "y"}}})
    seen: list[tuple[str, str]] = []

    async def follow() -> None:
        async for event in links.watch(at("v2"), labelSelector="x=y"):
            seen.append((event["type"], event["object"]["metadata"]["name"]))
            if event["type"] == "DELETED":
                return

    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(follow())
        await asyncio.sleep(0)
        await links.merge(at("v1", "a"), {"metadata": {"labels": {"x": "y"}}})
        await asyncio.sleep(0)
        await links.merge(at("v1", "b"), {"metadata": {"labels": {"x": None}}})

    assert seen == [("ADDED", "b"), ("ADDED", "a"), ("DELETED", "b")]


async def test_controllers_leave_objects_in_their_version(links: Links) -> None:
    await links("POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
    elsewhere = at("v1").replace("default", "gone")
    await links("POST", elsewhere, link("v1", address="h:1"))
    await links.merge(f"{CRDS}/links.example.com", {"spec": {"versions": versions("v2")}})
    links.webhooks.remove(url=URL)

    await links("DELETE", "/api/v1/namespaces/gone")

    assert (await links("GET", "/api/v1/namespaces/gone")).status == 404


async def test_owners_are_compared_in_the_version_they_wrote_in(links: Links) -> None:
    await links.apply(at("v1", "a"), link("v1", address="h:1"), "one")

    refused = await links.apply(at("v2", "a"), link("v2", port="2"), "two")
    assert refused.status == 409
    assert [cause["field"] for cause in refused.body["details"]["causes"]] == [".spec.address"]
    forced = await links.apply(at("v2", "a"), link("v2", port="2"), "two", force="true")

    owners = {
        each["manager"]: each["fieldsV1"] for each in forced.body["metadata"]["managedFields"]
    }
    assert owners == {"two": {"f:spec": {"f:port": {}}}}
    assert links.stored()["spec"] == {"address": "h:2"}


async def test_admission_sees_the_version_that_it_is_registered_for(links: Links) -> None:
    seen: list[Json] = []

    def admit(review: JsonObject) -> JsonObject:
        seen.append(review["request"]["object"])
        patch = [{"op": "add", "path": "/spec/note", "value": "seen"}]
        response = {
            "uid": review["request"]["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        }
        return {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": response,
        }

    admission = "https://admission.example.com/"
    links.webhooks.register(admit, url=admission)
    configuration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "a"},
        "webhooks": [
            {
                "name": "a.example.com",
                "clientConfig": {"url": admission},
                "rules": [
                    {
                        "apiGroups": ["example.com"],
                        "apiVersions": ["v1"],
                        "resources": ["links"],
                        "operations": ["*"],
                    }
                ],
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }
    where = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    assert (await links("POST", where, configuration)).status == 201

    made = await links("POST", at("v2"), link("v2", host="h", port="1"))

    assert [(obj["apiVersion"], obj["spec"]) for obj in seen] == [
        ("example.com/v1", {"address": "h:1"})
    ]
    assert made.body["spec"] == {"host": "h", "port": "1", "note": "seen"}
    assert links.stored()["spec"] == {"address": "h:1", "note": "seen"}


async def test_a_webhook_behind_a_service_shows_its_name(links: Links) -> None:
    authority = TestAuthority("converter", SetClock().now())
    bundle = base64.b64encode(authority.certificate).decode()
    service = {"namespace": "hooks", "name": "converter", "path": "/convert"}
    config = {"service": service, "caBundle": bundle, "url": None}
    where = f"{CRDS}/links.example.com"
    body = {"spec": {"conversion": {"webhook": {"clientConfig": config}}}}
    assert (await links.merge(where, body)).status == 200
    place = "hooks/converter/convert"
    await links("POST", at("v1"), link("v1", address="h:1"))

    links.webhooks.register(
        links.converter,
        service=place,
        chain=authority.serving("converter.hooks.svc").certificate,
    )
    assert (await links("GET", at("v2", "a"))).body["spec"] == {"host": "h", "port": "1"}
    links.webhooks.register(
        links.converter, service=place, chain=authority.serving("other.hooks.svc").certificate
    )
    refused = await links("GET", at("v2", "a"))

    assert refused.message.endswith(
        'failed: Post "https://converter.hooks.svc:443/convert?timeout=30s": tls: failed to verify '
        "certificate: x509: certificate is valid for other.hooks.svc, not converter.hooks.svc"
    )
