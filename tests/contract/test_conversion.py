"""Versions that a webhook converts into each other: served by the test, called by both servers."""

import base64
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web
from tests.support.contract.samples import CRDS
from tests.support.contract.things import answering, definition, install, remove
from tests.support.contract.transcript import Conversation, contract
from tests.support.conversion import Converter, Review, conversion, versions

from certwright.apiserver.http.certs import TestAuthority
from certwright.clock import SYSTEM
from certwright.kube import JsonObject
from certwright.listener import serve_web

Json = dict[str, Any]
Spoil = Callable[[Review, JsonObject], Any]


@dataclass
class Webhook:
    """A conversion webhook on this machine."""

    converter: Converter
    client_config: Json


@pytest_asyncio.fixture
async def webhook() -> AsyncIterator[Webhook]:
    converter = Converter()

    async def answer(request: web.Request) -> web.Response:
        made = converter(await request.json())
        return made if isinstance(made, web.Response) else web.json_response(made)

    authority = TestAuthority("conversion webhook", SYSTEM.now())
    pair = authority.serving("127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(pair.key + pair.certificate)
        file.flush()
        context.load_cert_chain(file.name)
    app = web.Application()
    app.router.add_post("/convert", answer)
    runner = web.AppRunner(app, access_log=None)
    async with serve_web(runner, "127.0.0.1", context=context) as port:
        yield Webhook(
            converter,
            {
                "url": f"https://127.0.0.1:{port}/convert",
                "caBundle": base64.b64encode(authority.certificate).decode(),
            },
        )


def _definition(api: Conversation, webhook: Webhook, *review_versions: str) -> Json:
    manifest = definition(api, *versions())
    manifest["spec"]["conversion"] = conversion(webhook.client_config, *review_versions)
    return manifest


@contract
async def test_an_object_in_both_versions(api: Conversation, webhook: Webhook) -> None:
    things = await install(api, _definition(api, webhook), "v1", "v2")
    await api.post(things.at("v1"), things.new("v1", spec={"address": "h:1"}))
    await api.get(things.at("v2", "a"))
    await api.get(things.at("v2"))
    await api.post(things.at("v2"), things.new("v2", "b", spec={"host": "g", "port": "2", "x": 1}))
    await api.get(things.at("v1", "b"))
    await api.get(things.at("v2", "b"))
    await api.get(things.at("v2"))
    await api.get(f"{things.at('v2')}?limit=1")
    await api.get(f"{things.at('v2')}?labelSelector=seen%3Dyes")
    await api.get(f"{things.at('v1')}?labelSelector=seen%3Dyes")
    await api.post(f"{things.at('v2')}?dryRun=All", things.new("v2", "c", spec={"host": "d"}))
    await remove(api)


@contract
async def test_writes_in_turns(api: Conversation, webhook: Webhook) -> None:
    things = await install(api, _definition(api, webhook), "v1", "v2")
    made = await api.post(things.at("v2"), things.new("v2", spec={"host": "h", "port": "1"}))
    await api.merge(things.at("v2", "a"), {"spec": {"port": "2"}})
    await api.merge(things.at("v1", "a"), {"spec": {"note": "n"}})
    await api.put(things.at("v2", "a"), made.body)
    now = await api.get(things.at("v2", "a"))
    again = await api.put(things.at("v2", "a"), now.body)
    api.note(now.version == again.version)
    await api.put(things.at("v2", "a"), {**now.body, "spec": {"host": "g"}})
    await api.merge(things.at("v2", "a/status"), {"status": {"phase": "P"}})
    await api.json_patch(things.at("v2", "a"), [{"op": "remove", "path": "/spec/host"}])
    await api.get(things.at("v1", "a"))
    await api.merge(things.at("v2", "a"), {"metadata": {"finalizers": ["example.com/held"]}})
    await api.delete(things.at("v2", "a"))
    await api.merge(things.at("v2", "a"), {"metadata": {"finalizers": None}})
    await api.get(things.at("v2", "a"))
    await remove(api)


@contract
async def test_watches_in_both_versions(api: Conversation, webhook: Webhook) -> None:
    things = await install(api, _definition(api, webhook), "v1", "v2")
    made = await api.post(things.at("v1"), things.new("v1", spec={"address": "h:1"}))
    await api.merge(things.at("v2", "a"), {"spec": {"port": "2"}})
    await api.merge(things.at("v1", "a"), {"spec": {"address": "h:3"}})
    await api.delete(things.at("v1", "a"))
    for name in ("v1", "v2"):
        await api.watch(f"{things.at(name)}?resourceVersion={made.version}", 3)
    await remove(api)


@contract
async def test_objects_are_migrated(api: Conversation, webhook: Webhook) -> None:
    manifest = _definition(api, webhook)
    things = await install(api, manifest, "v1", "v2")
    where = f"{CRDS}/{manifest['metadata']['name']}"
    await api.post(things.at("v1"), things.new("v1", spec={"address": "h:1"}))
    first, second = versions("v2")
    third = {**second, "name": "v3", "storage": False}
    await api.merge(where, {"spec": {"versions": [first, second, third]}})
    await answering(api, things.at("v3"), lambda answer: answer.status == 200)
    await api.merge(where, {"spec": {"versions": [second]}})
    seen = await api.get(things.at("v2", "a"))
    moved = await api.put(things.at("v2", "a"), seen.body)
    api.note(seen.version == moved.version)
    again = await api.put(things.at("v2", "a"), moved.body)
    api.note(moved.version == again.version)
    await api.merge(f"{where}/status", {"status": {"storedVersions": ["v2"]}})
    plain = {"strategy": "None", "webhook": None}
    fourth = {**third, "name": "v4"}
    await api.merge(where, {"spec": {"versions": [second, fourth], "conversion": plain}})
    await answering(api, things.at("v4"), lambda answer: answer.status == 200)
    await api.get(things.at("v2", "a"))
    await remove(api)


@contract
async def test_owners_in_both_versions(api: Conversation, webhook: Webhook) -> None:
    things = await install(api, _definition(api, webhook), "v1", "v2")
    await api.apply(things.at("v1", "a"), things.new("v1", spec={"address": "h:1"}), "one")
    await api.apply(things.at("v2", "a"), things.new("v2", spec={"port": "2"}), "two")
    await api.apply(things.at("v2", "a"), things.new("v2", spec={"port": "2"}), "two", force=True)
    await api.apply(
        things.at("v2", "a"), things.new("v2", spec={"host": "h", "note": "x"}), "three"
    )
    await api.apply(things.at("v2", "a"), things.new("v2", spec={"host": "h", "port": "2"}), "one")
    await api.apply(things.at("v1", "a"), things.new("v1", spec={"note": "x"}), "one")
    await api.apply(things.at("v1", "a"), things.new("v1", spec={}), "three")
    await api.merge(things.at("v1", "a"), {"spec": {"address": "i:3"}})
    await api.apply(things.at("v1", "a"), things.new("v1", spec={"note": "z"}), "one", force=True)
    await api.apply(things.at("v2", "a"), things.new("v2", spec={}), "two")
    await api.get(things.at("v1", "a"))
    webhook.converter.spoil = lambda request, _: request.failed("not today")
    await api.apply(things.at("v1", "a"), things.new("v1", spec={"note": "y"}), "four")
    await api.merge(things.at("v1", "a"), {"spec": {"address": "i:4"}})
    webhook.converter.spoil = None
    await remove(api)


def _changed(**changes: Any) -> Spoil:
    """Answer with other converted objects."""

    def spoil(_request: Review, answer: JsonObject) -> JsonObject:
        objects = answer["response"]["convertedObjects"]
        answer["response"]["convertedObjects"] = [{**obj, **changes} for obj in objects]
        return answer

    return spoil


def _with_metadata(**changes: Any) -> Spoil:
    def spoil(_request: Review, answer: JsonObject) -> JsonObject:
        for obj in answer["response"]["convertedObjects"]:
            obj["metadata"] = {**obj["metadata"], **changes}
        return answer

    return spoil


def _response(**changes: Any) -> Spoil:
    def spoil(_request: Review, answer: JsonObject) -> JsonObject:
        return {**answer, "response": {**answer["response"], **changes}}

    return spoil


def _review(**changes: Any) -> Spoil:
    return lambda _, answer: {**answer, **changes}


def _http(status: int, text: str, media: str = "text/plain") -> Spoil:
    return lambda *_: web.Response(status=status, text=text, content_type=media)


FAILURES: dict[str, Spoil] = {
    "said so": lambda request, _: request.failed("not today"),
    "said nothing": _response(result={"status": "Failure"}),
    "no result": _response(result={}),
    "other uid": _response(uid="1234"),
    "no uid": _response(uid=""),
    "no response": _review(response=None),
    "other version": _review(apiVersion="apiextensions.k8s.io/v1beta1"),
    "other kind": _review(kind="AdmissionReview"),
    "no kind": _review(kind="", apiVersion=""),
    "none converted": _response(convertedObjects=[]),
    "two converted": _response(convertedObjects=[{}, {}]),
    "not converted": lambda request, _: request.converted(request.objects),
    "other group": _changed(apiVersion="v1"),
    "other kind of object": _changed(kind="Other"),
    "no kind of object": _changed(kind=""),
    "no metadata": _changed(metadata=None),
    "text as metadata": _changed(metadata="x"),
    "other name": _with_metadata(name="b"),
    "no name": _with_metadata(name=""),
    "other namespace": _with_metadata(namespace="b"),
    "object uid": _with_metadata(uid="1234"),
    "text as labels": _with_metadata(labels="x"),
    "number as label": _with_metadata(labels={"a": 1}),
    "bad label": _with_metadata(labels={"a b": "c d"}),
    "bad annotation": _with_metadata(annotations={"a b": "c"}),
    "list as annotation": _with_metadata(annotations={"a": []}),
    "html": _http(200, "<html></html>", "text/html"),
    "nothing": _http(200, ""),
    "a list": lambda *_: web.json_response([]),
    "not found": _http(404, "no such page"),
    "broken": _http(500, "boom"),
    "overloaded": _http(503, "later"),
}  # fmt: skip

HARMLESS: dict[str, Spoil] = {
    "no labels": _with_metadata(labels=None),
    "no annotations": _with_metadata(annotations={}),
    "other generation": _with_metadata(generation=77, resourceVersion="1", finalizers=["x.y/z"]),
    "unknown field": _changed(unknown=1),
}


async def _spoilt(
    api: Conversation, webhook: Webhook, spoil: Spoil, *, same_words: bool = True
) -> None:
    webhook.converter.spoil = None
    things = await install(api, _definition(api, webhook), "v1", "v2")
    labels = {"labels": {"a": "b"}}
    await api.post(things.at("v1"), things.new("v1", spec={"address": "h:1"}, metadata=labels))
    webhook.converter.spoil = spoil
    await api.get(things.at("v2", "a"), same_words=same_words)
    new = things.new("v2", "b", spec={"host": "h"})
    await api.post(things.at("v2"), new, same_words=same_words)
    await api.get(things.at("v1", "b"))
    webhook.converter.spoil = None
    await remove(api)


@pytest.mark.parametrize("how", FAILURES)
@contract
async def test_a_webhook_that_fails(api: Conversation, webhook: Webhook, how: str) -> None:
    # The real server quotes the bytes that it got.
    await _spoilt(api, webhook, FAILURES[how], same_words=how != "no kind of object")


@pytest.mark.parametrize("how", HARMLESS)
@contract
async def test_what_a_webhook_may_not_change(api: Conversation, webhook: Webhook, how: str) -> None:
    await _spoilt(api, webhook, HARMLESS[how])


@contract
async def test_reviews_of_the_older_version(api: Conversation, webhook: Webhook) -> None:
    things = await install(api, _definition(api, webhook, "v2", "v1beta1", "v1"), "v1", "v2")
    await api.post(things.at("v2"), things.new("v2", spec={"host": "h", "port": "1"}))
    asked = {each.document["apiVersion"] for each in webhook.converter.requests}
    assert asked == {"apiextensions.k8s.io/v1beta1"}
    webhook.converter.spoil = _response(uid="")
    await api.get(things.at("v2", "a"))
    webhook.converter.spoil = _response(result={})
    await api.get(things.at("v2", "a"))
    webhook.converter.spoil = None
    await remove(api)


def _of_other_authority() -> str:
    other = TestAuthority("other", SYSTEM.now())
    return base64.b64encode(other.certificate).decode()


UNREACHABLE: dict[str, Callable[[Json], Json]] = {
    "closed port": lambda config: {**config, "url": "https://127.0.0.1:1/convert"},
    "other authority": lambda config: {**config, "caBundle": _of_other_authority()},
    "no authority": lambda config: {"url": config["url"]},
    "other path": lambda config: {**config, "url": config["url"] + "/other"},
    "other name": lambda config: {**config, "url": config["url"].replace("127.0.0.1", "localhost")},
}


@pytest.mark.parametrize("how", UNREACHABLE)
@contract
async def test_a_webhook_that_is_not_reached(api: Conversation, webhook: Webhook, how: str) -> None:
    config = UNREACHABLE[how](webhook.client_config)
    things = await install(api, _definition(api, Webhook(webhook.converter, config)), "v1", "v2")
    await api.post(things.at("v1"), things.new("v1", spec={"address": "h:1"}))
    await api.get(things.at("v2", "a"))
    await api.post(things.at("v2"), things.new("v2", "b", spec={"host": "h"}))
    await api.get(things.at("v1"))
    await remove(api)
