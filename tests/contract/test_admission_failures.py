"""Webhooks that do not answer as they should, and what the client is told."""

import asyncio
import base64
from collections.abc import Awaitable

import orjson
import pytest
from tests.support.contract.hooks import (
    OTHER_AUTHORITY,
    Handler,
    Hooks,
    Json,
    Reply,
    add,
    allow,
    answer,
    deny,
    patch,
    raw,
)
from tests.support.contract.samples import CONFIG_MAPS, config_map
from tests.support.contract.transcript import Conversation, contract


def document(**changes: object) -> Handler:
    """Return an answer in which parts are replaced; None removes them."""

    def handle(review: Json) -> Json:
        found = {**answer(review), **changes}
        return {key: value for key, value in found.items() if value is not None}

    return handle


def response(**changes: object) -> Handler:
    def handle(review: Json) -> Json:
        found = answer(review)
        merged = {**found["response"], **changes}
        kept = {key: value for key, value in merged.items() if value is not None}
        return {**found, "response": kept}

    return handle


def large(review: Json) -> Json:
    return answer(review, auditAnnotations={"a": "x" * 3 * 2**20})


def slow(review: Json) -> Awaitable[Reply]:
    async def later() -> Reply:
        await asyncio.sleep(3)
        return answer(review)

    return later()


STATUS = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "sorry"}
NOT_BASE64 = "%%%"
NO_LIST = base64.b64encode(b'{"op":"add"}').decode()
NO_JSON = base64.b64encode(b"hello").decode()

ANSWERS: dict[str, Handler] = {
    "HTML": raw(200, b"<html><body>hello</body></html>", "text/html"),
    "HTML that says it is JSON": raw(200, b"<html></html>"),
    "nothing": raw(200, b""),
    "nothing in text": raw(200, b"", "text/plain"),
    "a list": raw(200, b"[]"),
    "a text": raw(200, b'"x"'),
    "a number": raw(200, b"5"),
    "half a document": raw(200, b'{"kind":'),
    "an empty document": raw(200, b"{}"),
    "error 400": raw(400, b"bad", "text/plain"),
    "error 401": raw(401, b"who", "text/plain"),
    "error 403": raw(403, b"not you", "text/plain"),
    "error 403 in JSON": raw(403, b"not you"),
    "error 404": raw(404, b"where", "text/plain"),
    "error 409": raw(409, b"twice", "text/plain"),
    "error 418": raw(418, b"tea", "text/plain"),
    "error 422": raw(422, b"what", "text/plain"),
    "error 500": raw(500, b'it said "boom"', "text/plain"),
    "error 500 in HTML": raw(500, b"<html>boom</html>", "text/html"),
    "error 500 in JSON": raw(500, b"{}"),
    "error 503": raw(503, b"later", "text/plain"),
    "error 504": raw(504, b"late", "text/plain"),
    "a Status": raw(500, orjson.dumps(STATUS)),
    "no response": document(response=None),
    "a response of the wrong type": document(response=[]),
    "no kind": document(kind=None, apiVersion=None),
    "no version": document(apiVersion=None),
    "the wrong kind": document(kind="Review"),
    "the wrong version": document(apiVersion="admission.k8s.io/v1beta1"),
    "no uid": response(uid=None),
    "the wrong uid": response(uid="x"),
    "uid of the wrong type": response(uid=5),
    "nothing about allowed": response(allowed=None),
    "allowed is a text": response(allowed="yes"),
    "warnings are a text": response(warnings="careful"),
    "patch is not base64": response(patch=NOT_BASE64, patchType="JSONPatch"),
    "patch is no list": response(patch=NO_LIST, patchType="JSONPatch"),
    "patch is no JSON": response(patch=NO_JSON, patchType="JSONPatch"),
    "patch without a type": response(patch=base64.b64encode(b"[]").decode()),
    "type without a patch": response(patchType="JSONPatch"),
    "an empty type": response(patchType=""),
    "another type": patch(add("/data", {}), patchType="Merge"),
    "a patch": patch(add("/data", {"x": "1"})),
    "an empty patch": patch(),
    "3 MiB": large,
    "too late": slow,
}

SYNTAX = {"half a document", "patch is no JSON", "patch is not base64"}
"""Go's decoders have words of their own: a known difference."""


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
@pytest.mark.parametrize("name", ANSWERS)
@contract
async def test_answers(api: Conversation, name: str, kind: str) -> None:
    async with Hooks(api) as hooks:
        seconds = 1 if name == "too late" else 30
        hook = hooks.webhook("a", ANSWERS[name], timeoutSeconds=seconds)
        await hooks.configure(kind, hook)
        await api.post(CONFIG_MAPS, config_map("a"), same_words=name not in SYNTAX)


@pytest.mark.parametrize("name", ["HTML", "error 500", "the wrong uid", "patch is no list"])
@contract
async def test_failures_that_do_not_matter(api: Conversation, name: str) -> None:
    async with Hooks(api) as hooks:
        hook = hooks.webhook("a", ANSWERS[name], failurePolicy="Ignore")
        await hooks.configure("Mutating", hook, hooks.webhook("b", patch(add("/data", {"b": "1"}))))
        await api.post(CONFIG_MAPS, config_map("a"))


@contract
async def test_denials_always_matter(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        hook = hooks.webhook("a", deny(message="no"), failurePolicy="Ignore")
        await hooks.configure("Mutating", hook)
        await api.post(CONFIG_MAPS, config_map("a"))


PATCHES: dict[str, list[Json]] = {
    "add under nothing": [add("/data/x", "1")],
    "add to a list without end": [add("/metadata/finalizers/5", "a/b")],
    "remove what is not there": [{"op": "remove", "path": "/data"}],
    "remove under nothing": [{"op": "remove", "path": "/data/x"}],
    "replace what is not there": [{"op": "replace", "path": "/data", "value": {"x": "1"}}],
    "replace under nothing": [{"op": "replace", "path": "/data/x", "value": "1"}],
    "test that fails": [{"op": "test", "path": "/metadata/name", "value": "b"}],
    "test of nothing": [{"op": "test", "path": "/data/x/y", "value": "b"}],
    "move from nothing": [{"op": "move", "from": "/data/x", "path": "/data/y"}],
    "copy from nothing": [{"op": "copy", "from": "/data/x/z", "path": "/data/y"}],
    "another operation": [{"op": "merge", "path": "/data", "value": {}}],
    "no path": [{"op": "add", "value": {}}],
    "no operation": [{"path": "/data", "value": {}}],
    "value of the wrong type": [add("/data", "text")],
    "number for a text": [add("/data", {"x": 5})],
    "unknown field": [add("/dtaa", {"x": "5"})],
    "invalid object": [add("/metadata/labels", {"a b": "c"})],
    "no metadata": [{"op": "remove", "path": "/metadata"}],
    "another name": [{"op": "replace", "path": "/metadata/name", "value": "b"}],
    "another namespace": [{"op": "replace", "path": "/metadata/namespace", "value": "b"}],
    "uid": [add("/metadata/uid", "00000000-0000-0000-0000-000000000000")],
    "resourceVersion": [add("/metadata/resourceVersion", "1")],
    "creation": [add("/metadata/creationTimestamp", "2020-01-01T00:00:00Z")],
    "deletion": [add("/metadata/deletionTimestamp", "2020-01-01T00:00:00Z")],
    "two operations": [add("/data", {}), add("/data/x", "1")],
    "a null": [add("/data", None)],
}


@pytest.mark.parametrize("name", PATCHES)
@contract
async def test_patches_of_new_objects(api: Conversation, name: str) -> None:
    async with Hooks(api) as hooks:
        await hooks.configure("Mutating", hooks.webhook("a", patch(*PATCHES[name])))
        await api.post(CONFIG_MAPS, config_map("a"))


@pytest.mark.parametrize(
    "name", ["another name", "another namespace", "uid", "resourceVersion", "invalid object"]
)
@contract
async def test_patches_of_updates(api: Conversation, name: str) -> None:
    async with Hooks(api) as hooks:
        await api.post(CONFIG_MAPS, config_map("a"))
        await hooks.configure("Mutating", hooks.webhook("a", patch(*PATCHES[name])))
        await api.merge(f"{CONFIG_MAPS}/a", {"data": {"x": "1"}})
        await api.get(f"{CONFIG_MAPS}/a")


@contract
async def test_patches_of_deletions(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        await api.post(CONFIG_MAPS, config_map("a"))
        await hooks.configure("Mutating", hooks.webhook("a", patch(add("/data", {}))))
        await api.delete(f"{CONFIG_MAPS}/a")
        await api.get(f"{CONFIG_MAPS}/a")


@contract
async def test_unknown_authorities(api: Conversation) -> None:
    async with Hooks(api, authority=OTHER_AUTHORITY) as others, Hooks(api) as hooks:
        hook = hooks.webhook("a", clientConfig=others.client("a"))
        await hooks.configure("Validating", hook)
        await api.post(CONFIG_MAPS, config_map("a"))


@pytest.mark.parametrize("host", ["hook.example.com", "127.0.0.2"])
@contract
async def test_certificates_for_others(api: Conversation, host: str) -> None:
    async with Hooks(api, host) as others, Hooks(api) as hooks:
        hook = hooks.webhook("a", clientConfig=others.client("a"))
        await hooks.configure("Validating", hook)
        await api.post(CONFIG_MAPS, config_map("a"))


@contract
async def test_webhooks_that_are_down(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        client = {**hooks.client("a"), "url": "https://127.0.0.1:1/a"}
        await hooks.configure("Validating", hooks.webhook("a", clientConfig=client))
        await api.post(CONFIG_MAPS, config_map("a"))


@contract
async def test_services_that_do_not_exist(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        service = {"name": "nothing", "namespace": api.namespace, "path": "/x", "port": 8443}
        hook = hooks.webhook("a", clientConfig={**hooks.client("a"), "service": service})
        del hook["clientConfig"]["url"]
        await hooks.configure("Validating", hook)
        await api.post(CONFIG_MAPS, config_map("a"))


@contract
async def test_the_old_review(api: Conversation) -> None:
    """AdmissionReview v1beta1 is sent to webhooks that prefer it, and less is checked."""
    async with Hooks(api) as hooks:
        versions = ["v1alpha1", "v1beta1", "v1"]
        handler = patch(add("/data", {"x": "1"}), uid="another", patchType=None)
        hook = hooks.webhook("a", handler, admissionReviewVersions=versions)
        await hooks.configure("Mutating", hook)
        await api.post(CONFIG_MAPS, config_map("a"))
        hooks.note()


@contract
async def test_allowed_with_a_status(api: Conversation) -> None:
    async with Hooks(api) as hooks:
        handler = allow(status={"message": "fine", "code": 500}, auditAnnotations={"a": "b"})
        await hooks.configure("Validating", hooks.webhook("a", handler))
        await api.post(CONFIG_MAPS, config_map("a"))
