"""The program of the page about a CA behind HTTP, as the page shows it, with a CA behind HTTP."""

import asyncio
import importlib.util
import json
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.issuer import IssuerApp
from certwright.kube import Condition, find_condition
from certwright.listener import serve_web
from certwright.testkit import Cluster

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(120)]

TOKEN = "hunter2"
KEY = pki.generate_key(pki.KeySpec())
ROOT = pki.create_root(pki.parse_name("CN=tickets"), KEY, timedelta(days=99), datetime.now(UTC))


@dataclass
class Tickets:
    """The authority of the page. Each status of *posts* and *gets* is answered once, then all goes well."""

    posts: list[int] = field(default_factory=list)
    gets: list[int] = field(default_factory=list)
    orders: dict[str, Any] = field(default_factory=dict)

    async def health(self, _: web.Request) -> web.Response:
        return web.Response()

    async def order(self, request: web.Request) -> web.Response:
        assert request.headers["Authorization"] == f"Bearer {TOKEN}"
        if self.posts:
            return web.Response(status=self.posts.pop(0))
        wanted = await request.json()
        is_new = wanted["id"] not in self.orders
        self.orders.setdefault(wanted["id"], wanted)
        return web.json_response({"order": wanted["id"]}, status=201 if is_new else 200)

    async def fetch(self, request: web.Request) -> web.Response:
        if self.gets:
            return web.Response(status=self.gets.pop(0))
        wanted = self.orders[request.match_info["order"]]
        usages = pki.parse_usages(wanted["usages"])
        terms = pki.RequestTerms(timedelta(seconds=wanted["seconds"]), usages=usages)
        leaf = ROOT.issue_request(pki.read_request(wanted["csr"]), terms, datetime.now(UTC))
        return web.Response(body=ROOT.write_chain(leaf))

    @asynccontextmanager
    async def served(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_get("/health", self.health)
        app.router.add_post("/orders", self.order)
        app.router.add_get("/orders/{order}", self.fetch)
        runner = web.AppRunner(app, access_log=None)
        async with serve_web(runner, "127.0.0.1") as port:
            yield f"http://127.0.0.1:{port}"


@pytest.fixture
def app(request: pytest.FixtureRequest, tmp_path: Path) -> IssuerApp[Any]:
    """The app of the page; only that it asks again sooner."""
    page = (request.config.rootpath / "docs/how-to/ca-behind-http.md").read_text("utf-8")
    program = page.split("```python\n")[1].split("```")[0]
    assert "after=30" in program
    path = tmp_path / "tickets.py"
    path.write_text(program.replace("after=30", "after=0.1"), "utf-8")
    spec = importlib.util.spec_from_file_location("tickets", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found: IssuerApp[Any] = module.app
    return found


async def answered(
    cluster: Cluster, app: IssuerApp[Any], tickets: Tickets, is_over: Callable[[Condition], bool]
) -> Condition:
    """Ask for a certificate, and wait for an answer."""
    url = await cluster.enter(tickets.served())
    assert app.namespaced_kind is not None
    kind = app.namespaced_kind.resource
    await cluster.serve(CertificateRequest, *app.kinds)
    token = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}}
    await cluster.create({**token, "stringData": {"token": TOKEN}})
    spec = {"url": url, "token": {"name": "token", "key": "token"}}
    issuer = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "it"}}
    await cluster.create({**issuer, "spec": spec})
    csr = pki.build_request(KEY, pki.parse_name("CN=web"), pki.AlternativeNames(dns=("a.example",)))
    made = await cluster.create(
        {
            "apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest",
            "metadata": {"name": "web"},
            "spec": {
                "request": b64encode(pki.write_request(csr)).decode(), "duration": "1h",
                "issuerRef": {"name": "it", "kind": kind.kind, "group": kind.group},
            },
        }
    )  # fmt: skip
    approved = {"type": "Approved", "status": "True", "reason": "Tested", "message": "by a test"}
    approved["lastTransitionTime"] = made["metadata"]["creationTimestamp"]
    made["status"] = {"conditions": [approved]}
    await cluster.client.update(made, subresource="status")
    await cluster.settle(app.operator_in(cluster.namespace))
    async with asyncio.timeout(60):
        while True:
            found = await cluster.get(CertificateRequest, "web")
            ready = find_condition(found.status.conditions or (), "Ready")
            if ready is not None and is_over(ready):
                return ready
            await asyncio.sleep(0.02)


def is_issued(ready: Condition) -> bool:
    return ready.status == "True"


async def test_an_order_that_takes_its_time_is_placed_once(
    cluster: Cluster, app: IssuerApp[Any]
) -> None:
    tickets = Tickets(gets=[202, 202])
    await answered(cluster, app, tickets, is_issued)
    [order] = tickets.orders.values()
    found = await cluster.get(CertificateRequest, "web")
    assert order["id"] == found.metadata.uid
    assert order["usages"] == ["digital signature", "key encipherment"]
    assert tickets.gets == []


@pytest.mark.parametrize(
    "answers", [{"posts": [401]}, {"gets": [404]}, {"posts": [503]}], ids=json.dumps
)
async def test_what_passes_is_tried_again(
    cluster: Cluster, app: IssuerApp[Any], answers: Any
) -> None:
    tickets = Tickets(**answers)
    await answered(cluster, app, tickets, is_issued)
    assert len(tickets.orders) == 1


async def test_an_order_that_is_refused_fails(cluster: Cluster, app: IssuerApp[Any]) -> None:
    ready = await answered(cluster, app, Tickets(posts=[422]), lambda one: one.reason == "Failed")
    assert "ClientResponseError: 422, message='Unprocessable Entity'" in ready.message
    assert TOKEN not in ready.message
