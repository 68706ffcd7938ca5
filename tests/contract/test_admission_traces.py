"""Random traces with random webhooks: heard the same from both servers, and sane by themselves."""

import asyncio
import os
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from tests.contract.test_traces import define_gadgets, make_namespace
from tests.support.contract.hook_traces import HookedConversation, TraceHook, trace_hooks
from tests.support.contract.hooks import AUTHORITY, CONFIGURATIONS, _tls
from tests.support.contract.samples import config_map
from tests.support.contract.trace_gadgets import GADGETS
from tests.support.contract.trace_player import Player
from tests.support.contract.trace_subjects import CONFIG_MAPS, DEPLOYMENTS, SECRETS, Json, Subject
from tests.support.contract.traces import Operation, traces
from tests.support.contract.transcript import difference
from tests.support.waits import until

from certwright.apiserver import ApiServer
from certwright.apiserver.webhooks.registered import RegisteredWebhooks
from certwright.apiserver.webhooks.response import WebhookResponse
from certwright.client import connect
from certwright.clock import SYSTEM
from certwright.listener import serve_web

NAMESPACE = "hook-traces"
SUBJECTS = (CONFIG_MAPS, SECRETS, DEPLOYMENTS, GADGETS)
COMPARED = 80
"""Traces of each kind that both servers play."""
ALONE = 8
"""Traces of each kind that the embedded server plays alone."""
URL = "https://127.0.0.1:1"

Case = tuple[Sequence[Operation], tuple[TraceHook, ...]]


def campaign(subject: Subject, examples: int, verdict: Callable[[Case], None]) -> None:
    """Reach a verdict on many traces."""
    examples = int(os.environ.get("CERTWRIGHT_SEEDS") or examples)
    start = int(os.environ.get("CERTWRIGHT_TRACE_SEED", "0"))

    @seed(start)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=(HealthCheck.too_slow,),
        report_multiple_bugs=False,
    )
    @given(st.tuples(traces(subject), trace_hooks()))
    def judge(case: Case) -> None:
        verdict(case)

    judge()


def configurations(
    hooks: Sequence[TraceHook], url: str, subject: Subject
) -> Iterator[tuple[str, Json]]:
    """Yield the two configurations, and where they are stored."""
    for kind in ("Mutating", "Validating"):
        chosen = [hook for hook in hooks if hook.path[0] == kind[0].lower()]
        yield (
            f"{CONFIGURATIONS}/{kind.lower()}webhookconfigurations",
            {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": f"{kind}WebhookConfiguration",
                "metadata": {"name": "hook-traces"},
                "webhooks": [
                    hook.document(url, AUTHORITY.certificate, NAMESPACE, subject) for hook in chosen
                ],
            },
        )


async def play_embedded(subject: Subject, case: Case) -> tuple[HookedConversation, list[Json]]:
    """Play a trace on a server of its own, with webhooks in this process."""
    trace, hooks = case
    webhooks = RegisteredWebhooks(SYSTEM)
    api = HookedConversation(ApiServer(webhooks=webhooks).transport(), NAMESPACE)

    def handler(hook: TraceHook) -> Callable[[Json], Json | WebhookResponse]:
        def handle(review: Json) -> Json | WebhookResponse:
            api.listen(hook.path, review)
            return hook.react(review)

        return handle

    chain = AUTHORITY.serving("127.0.0.1").certificate
    for hook in hooks:
        webhooks.register(handler(hook), url=f"{URL}/{hook.path}", chain=chain)
    await make_namespace(api)
    if subject is GADGETS:
        await define_gadgets(api)
    for path, body in configurations(hooks, URL, subject):
        await api.post(path, body)
    api.start()
    return api, await Player(api, subject).play(trace)


class RealServer:
    """The real server, and the webhooks it calls."""

    def __init__(self, api: HookedConversation) -> None:
        self.api = api
        self.url = ""
        self._hooks: dict[str, TraceHook] = {}

    async def serve(self) -> Callable[[], Any]:
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        served, context = AsyncExitStack(), _tls(AUTHORITY, "127.0.0.1")
        port = await served.enter_async_context(serve_web(runner, "127.0.0.1", context=context))
        self.url = f"https://127.0.0.1:{port}"
        return served.aclose

    async def configure(self, hooks: Sequence[TraceHook], subject: Subject) -> None:
        """Store the configurations of a trace; return when the server heeds them."""
        self._hooks = {hook.path: hook for hook in hooks}
        for path, body in configurations(hooks, self.url, subject):
            nonce = uuid.uuid4().hex[:12]
            probe = TraceHook("probe", "deny", ["CREATE"], False, {}, "", "Fail", "Never")
            first = probe.document(self.url, AUTHORITY.certificate, NAMESPACE, CONFIG_MAPS)
            first["objectSelector"] = {"matchLabels": {"probe": nonce}}
            first["matchConditions"] = []
            body["webhooks"].insert(0, first)
            await self.api.delete(f"{path}/hook-traces", recorded=False)
            await self.api.post(path, body, recorded=False)
            asked = config_map(f"probe-{nonce}", {"labels": {"probe": nonce}})
            await until(f"the server heeds {path}", partial(self._heeds, asked))

    async def _heeds(self, asked: Json) -> bool:
        found = await self.api.post(f"{CONFIG_MAPS.path}?dryRun=All", asked, recorded=False)
        return "probe says no" in str(found.body.get("message"))

    async def forget(self) -> None:
        await self.configure((), CONFIG_MAPS)

    async def _answer(self, request: web.Request) -> web.Response:
        review = orjson.loads(await request.read())
        path = request.path.strip("/")
        if path == "probe":
            hook = TraceHook("probe", "deny", [], False, {}, "", "", "")
        else:
            hook = self._hooks[path]
            self.api.listen(path, review)
        reply = hook.react(review)
        if isinstance(reply, WebhookResponse):
            kind = reply.content_type
            return web.Response(status=reply.status, body=reply.body, content_type=kind)
        return web.Response(body=orjson.dumps(reply), content_type="application/json")


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def real_server(loop: asyncio.Runner, control_plane_kubeconfig: Path) -> Iterator[RealServer]:
    """Talk to the real server; what traces leave behind is removed after each."""

    async def begin() -> tuple[list[Callable[..., Any]], RealServer]:
        client = connect(kubeconfig=control_plane_kubeconfig)
        api = HookedConversation(client.transport, NAMESPACE)
        await make_namespace(api)
        await define_gadgets(api)
        server = RealServer(api)
        return [await server.serve(), client.close], server

    closes, server = loop.run(begin())
    yield server
    loop.run(server.forget())
    for close in closes:
        loop.run(close())


@pytest.mark.real
@pytest.mark.timeout(1200)  # of which finding the shortest failing trace takes most
@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_traces_with_webhooks_sound_the_same(
    subject: Subject, loop: asyncio.Runner, real_server: RealServer
) -> None:
    async def compare(case: Case) -> str:
        embedded, _ = await play_embedded(subject, case)
        api = real_server.api
        await real_server.configure(case[1], subject)
        api.reviews.clear()
        api.start()
        player = Player(api, subject)
        try:
            await player.play(case[0])
            return difference(embedded.heard, api.heard)
        finally:
            await real_server.forget()
            await player.clear()

    def verdict(case: Case) -> None:
        found = loop.run(compare(case))
        assert not found, found

    campaign(subject, COMPARED, verdict)


@pytest.mark.parametrize("subject", SUBJECTS, ids=repr)
def test_traces_with_webhooks_make_sense(subject: Subject, loop: asyncio.Runner) -> None:
    """What was refused or failed is not stored, and every answer says why."""

    def verdict(case: Case) -> None:
        api, events = loop.run(play_embedded(subject, case))
        refused = {"nonsense", "broken", "uid", "error"} & {hook.reaction for hook in case[1]}
        for heard in api.heard:
            message = (
                str((heard.get("content") or {}).get("message", "")) if "status" in heard else ""
            )
            assert refused or "failed calling webhook" not in message, heard
        versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in events]
        assert versions == sorted(versions)

    campaign(subject, ALONE, verdict)
