"""Webhooks for conversations: a TLS server both API servers call, and what it heard."""

import base64
import ssl
import tempfile
import uuid
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any, Self

import orjson
from aiohttp import web
from tests.support.contract.samples import CONFIG_MAPS, config_map
from tests.support.contract.transcript import Conversation
from tests.support.waits import until

from certwright.apiserver.http.certs import TestAuthority
from certwright.clock import SYSTEM
from certwright.listener import serve_web

Json = dict[str, Any]
Reply = Json | web.Response
Handler = Callable[[Json], Reply | Awaitable[Reply]]

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
AUTHORITY = TestAuthority("contract webhooks", SYSTEM.now())
OTHER_AUTHORITY = TestAuthority("of somewhere else", SYSTEM.now())


def rule(*resources: str, operations: Any = ("*",), group: str = "", **more: Any) -> Json:
    return {
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "resources": list(resources or ("configmaps",)),
        "operations": list(operations),
        **more,
    }


def answer(review: Json, **response: Any) -> Json:
    found = {"uid": review["request"]["uid"], "allowed": True, **response}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": found}


def allow(**response: Any) -> Handler:
    return lambda review: answer(review, **response)


def deny(**status: Any) -> Handler:
    return lambda review: answer(review, allowed=False, **({"status": status} if status else {}))


def patch(*operations: Json, **response: Any) -> Handler:
    encoded = base64.b64encode(orjson.dumps(operations)).decode()
    return lambda review: answer(review, **{"patchType": "JSONPatch", "patch": encoded, **response})


def add(path: str, value: Any) -> Json:
    return {"op": "add", "path": path, "value": value}


def raw(status: int, body: bytes, content_type: str = "application/json") -> Handler:
    return lambda _: web.Response(status=status, body=body, content_type=content_type)


class Hooks:
    """The webhooks of one conversation, for objects in its namespace."""

    def __init__(
        self, api: Conversation, *hosts: str, authority: TestAuthority = AUTHORITY
    ) -> None:
        self.api = api
        self.heard: list[Json] = []
        self._hosts = hosts or ("127.0.0.1",)
        self._authority = authority
        self._handlers: dict[str, Handler] = {}
        self._configured: list[str] = []
        self.port = 0

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        context = _tls(self._authority, *self._hosts)
        self._served = AsyncExitStack()
        self.port = await self._served.enter_async_context(
            serve_web(runner, "127.0.0.1", context=context)
        )
        self.api.symbols._literal[f":{self.port}"] = ":<port>"
        return self

    async def __aexit__(self, *_: object) -> None:
        for path in self._configured:
            await self.api.delete(path, recorded=False)
        await self._served.aclose()

    def webhook(self, name: str, handler: Handler | None = None, **fields: Any) -> Json:
        """Return a webhook for ConfigMaps, and have it answer; fields replace what it says."""
        path = name.partition(".")[0]
        if handler is not None:
            self._handlers[path] = handler
        namespace = {"kubernetes.io/metadata.name": self.api.namespace}
        return {
            "name": f"{path}.example.com",
            "clientConfig": self.client(path),
            "rules": [rule()],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": namespace},
            "objectSelector": {"matchExpressions": [{"key": "probe", "operator": "DoesNotExist"}]},
            **fields,
        }

    def client(self, path: str) -> Json:
        return {
            "url": f"https://127.0.0.1:{self.port}/{path}",
            "caBundle": base64.b64encode(AUTHORITY.certificate).decode(),
        }

    async def configure(
        self, kind: str, *webhooks: Json, name: str = "", probe: Json | None = None
    ) -> None:
        """Store a configuration, and return when the server heeds it.

        A further webhook, with the fields of *probe*, is asked about ConfigMaps of the test's own.
        """
        nonce = uuid.uuid4().hex[:12]
        selector = {"matchLabels": {"probe": nonce}}
        first = self.webhook(
            "probe", deny(message="heeded"), **{"objectSelector": selector, **(probe or {})}
        )
        body: Json = {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": f"{name or 'hooks'}-{nonce}"},
            "webhooks": [first, *webhooks],
        }
        plural = f"{CONFIGURATIONS}/{kind.lower()}webhookconfigurations"
        made = await self.api.post(plural, body, recorded=False)
        assert made.status == 201, made.body
        self._configured.append(f"{plural}/{body['metadata']['name']}")
        asked = config_map(f"probe-{nonce}", {"labels": {"probe": nonce}})

        async def heeded() -> bool:
            found = await self.api.post(f"{CONFIG_MAPS}?dryRun=All", asked, recorded=False)
            return "heeded" in str(found.body.get("message"))

        await until(f"the server heeds {kind} webhooks", heeded)
        self.heard.clear()

    async def forget(self) -> None:
        """Remove all configurations again."""
        for path in self._configured:
            await self.api.delete(path, recorded=False)
        self._configured.clear()

    def note(self, *, owners: bool = True) -> None:
        """Write down what the webhooks heard, in the order of their names.

        Without *owners*, managedFields are left out: of a Scale the embedded server shows none.

        What is asked twice in a row is noted once: the real server does that when its cache of
        the object may be stale.
        """
        before: Json = {}
        for review in sorted(self.heard, key=lambda review: str(review["path"])):
            if not owners:
                review["review"]["request"] = _without_owners(review["review"]["request"])
            asked = orjson.loads(orjson.dumps(review))
            asked["review"]["request"]["uid"] = ""
            if asked != before:
                self.api.note(review)
            before = asked
        self.heard.clear()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        review = orjson.loads(await request.read())
        path = request.path.strip("/")
        if path != "probe":
            self.heard.append({"path": request.path_qs, "review": _plain(review)})
        reply = self._handlers[path](review)
        found = await reply if isinstance(reply, Awaitable) else reply
        if isinstance(found, web.Response):
            return found
        return web.Response(body=orjson.dumps(found), content_type="application/json")


def _plain(review: Json) -> Json:
    """Hide who asks: the administrators of the two servers have different names."""
    request = dict(review["request"])
    user = {key: value for key, value in request["userInfo"].items() if key != "extra"}
    if "admin" in user["username"]:
        user = {"username": "<admin>"}
    return {**review, "request": {**request, "userInfo": user}}


def _without_owners(request: Json) -> Json:
    def bare(found: Json) -> Json:
        kept = {key: value for key, value in found["metadata"].items() if key != "managedFields"}
        return {**found, "metadata": kept}

    return {**request, **{key: bare(request[key]) for key in ("object", "oldObject")}}


def _tls(authority: TestAuthority, *hosts: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pair = authority.serving(*hosts)
    with tempfile.NamedTemporaryFile(suffix=".pem") as file:
        file.write(pair.key + pair.certificate)
        file.flush()
        context.load_cert_chain(file.name)
    return context
