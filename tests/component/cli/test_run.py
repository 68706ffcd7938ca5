"""`certwright run` against servers good and bad."""

import json
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
import yaml
from aiohttp import web

from certwright.apiserver import ADMIN, ApiServer
from certwright.apiserver.http.kubeconfig import kubeconfig_with_token
from certwright.client import Client
from certwright.kube import JsonObject, Key, NotFound
from certwright.kube.kinds import ConfigMap, Lease
from certwright.listener import serve_web


@dataclass(frozen=True)
class Server:
    client: Client
    kubeconfig: str


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    api = ApiServer()
    async with api.serve() as endpoint, Client(api.transport()) as client:
        endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        yield Server(client, str(tmp_path / "kubeconfig"))


@pytest.fixture
def operator(tmp_path: Path) -> Callable[..., Any]:
    """Write a controller of ConfigMaps with this body; return its file."""

    def operator(body: str) -> str:
        (tmp_path / "operator_of_maps.py").write_text(
            "import asyncio, gc\n"
            "from certwright.kube.kinds import ConfigMap\n"
            "from certwright.runtime import DONE, Controller, again\n"
            f"async def reconcile(ctx, key):\n    {body}\n"
            "controller = Controller(ConfigMap, reconcile, name='maps')\n",
            "utf-8",
        )
        return "operator_of_maps.py"

    return operator


@pytest.fixture
def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        value: int = taken.getsockname()[1]
        return value


def config_map(name: str) -> JsonObject:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


async def test_a_controller_works_as_soon_as_its_definition_is_there(
    start: Callable[..., Awaitable[Any]],
    examples: Path,
    server: Server,
    until: Callable[..., Awaitable[Any]],
    free_port: int,
) -> None:
    words = ("--kubeconfig", server.kubeconfig, "--probes", f"127.0.0.1:{free_port}")
    run = await start("run", examples / "greeting.py", *words)
    first = json.loads(await run.line("starting"))
    assert first["controllers"] == ["greeting"]
    assert first["server"].startswith("https://127.0.0.1:")
    missing = json.loads(await run.line("watch interrupted"))
    assert missing["level"] == "warning"
    assert "install its CustomResourceDefinition" in missing["error"]

    crds = await start("crds", examples / "greeting.py")
    await crds.end()
    await server.client.create(yaml.safe_load(crds.text))
    greeting = {
        "apiVersion": "demo.certwright.dev/v1",
        "kind": "Greeting",
        "metadata": {"name": "hi", "namespace": "default"},
        "spec": {"count": 2},
    }
    await until(lambda: _created(server.client, greeting))
    await until(lambda: _count(server.client, 2))
    async with aiohttp.ClientSession(f"http://127.0.0.1:{free_port}") as session:
        async with session.get("/readyz?verbose") as answer:
            assert answer.status == 200
            assert "Greeting.v1.demo.certwright.dev: ok" in await answer.text()
        async with session.get("/metrics") as answer:
            text = await answer.text()
        assert "controller_runtime_reconcile_total" in text
        assert 'rest_client_requests_total{code="200",host="127.0.0.1:' in text
    assert await run.end(signal.SIGTERM) == 0
    assert "Traceback" not in run.text


async def _created(client: Client, obj: JsonObject) -> bool:
    try:
        await client.create(obj)
    except NotFound:
        return False  # not served yet
    return True


async def _count(client: Client, wanted: int) -> bool:
    found = await client.list(ConfigMap, "default", labels="greeting=hi")
    return len(found.items) == wanted


async def test_what_is_under_way_ends_before_the_process_does(
    start: Callable[..., Awaitable[Any]], operator: Callable[..., Any], server: Server
) -> None:
    body = "print('began', flush=True); await asyncio.sleep(1); print('ended', flush=True); return DONE"
    await server.client.create(config_map("a"))
    run = await start("run", operator(body), "--kubeconfig", server.kubeconfig)
    await run.line("began")
    assert await run.end(signal.SIGTERM) == 0
    assert "ended" in run.lines


async def test_memory_is_given_back_after_the_first_sync(
    start: Callable[..., Awaitable[Any]], operator: Callable[..., Any], server: Server
) -> None:
    body = "print('frozen', bool(gc.get_freeze_count()), flush=True); return again(0.05)"
    await server.client.create(config_map("a"))
    run = await start("run", operator(body), "--kubeconfig", server.kubeconfig)
    await run.line("frozen True")
    assert await run.end(signal.SIGINT) == 0


async def test_the_leader_holds_the_lease_and_gives_it_away(
    start: Callable[..., Awaitable[Any]],
    operator: Callable[..., Any],
    server: Server,
    until: Callable[..., Awaitable[Any]],
) -> None:
    words = ("--kubeconfig", server.kubeconfig, "--leader-elect", "default/my-operator")
    await server.client.create(config_map("a"))
    body = "print('worked', flush=True); return DONE"
    run = await start("run", operator(body), *words)
    await run.line("worked")
    key = Key("default", "my-operator")
    assert (await server.client.get(Lease, key))["spec"]["holderIdentity"]
    standby = await start("run", operator(body), *words)
    await standby.line("controller synced")
    assert await run.end(signal.SIGTERM) == 0
    await standby.line("worked")
    assert await standby.end(signal.SIGTERM) == 0
    assert not (await server.client.get(Lease, key))["spec"].get("holderIdentity")


@pytest.mark.parametrize("to_file", [False, True])
async def test_a_look_inside(
    start: Callable[..., Awaitable[Any]],
    operator: Callable[..., Any],
    server: Server,
    tmp_path: Path,
    until: Callable[..., Awaitable[Any]],
    *,
    to_file: bool,
) -> None:
    words = ("--dump", "dump.json") if to_file else ()
    run = await start("run", operator("return DONE"), "--kubeconfig", server.kubeconfig, *words)
    await run.line("controller synced")
    run.process.send_signal(signal.SIGUSR1)
    if to_file:
        dump = tmp_path / "dump.json"

        async def written() -> int:
            return dump.exists() and dump.stat().st_size

        await until(written)
    else:
        await run.line('"watches"')
    assert await run.end(signal.SIGTERM) == 0
    text = dump.read_text("utf-8") if to_file else _object_in(run.text)
    assert orjson.loads(text)["watches"]["ConfigMap"]["state"] == "watching"


def _object_in(text: str) -> str:
    """Return the pretty-printed object between lines of log."""
    return text[text.index("\n{\n") : text.index("\n}\n") + 3]


async def test_an_address_in_use_is_named(
    start: Callable[..., Awaitable[Any]], operator: Callable[..., Any], server: Server
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        words = ("--kubeconfig", server.kubeconfig, "--probes", address)
        run = await start("run", operator("return DONE"), *words)
        assert await run.end() == 2
    assert run.lines[-1].startswith(f"error: --probes {address}: ")
    assert "Address already in use; choose another" in run.lines[-1]
    assert "Traceback" not in run.text


async def test_a_server_that_is_away_is_waited_for(
    start: Callable[..., Awaitable[Any]],
    operator: Callable[..., Any],
    tmp_path: Path,
    free_port: int,
) -> None:
    api = ApiServer()
    config = orjson.loads(
        kubeconfig_with_token(f"https://127.0.0.1:{free_port}", b"", api.token(ADMIN))
    )
    config["clusters"][0]["cluster"] = {
        "server": f"https://127.0.0.1:{free_port}",
        "insecure-skip-tls-verify": True,
    }
    (tmp_path / "kubeconfig").write_bytes(orjson.dumps(config))
    await Client(api.transport()).create(config_map("a"))
    body = "print('worked', key.name, flush=True); return DONE"

    run = await start("run", operator(body), "--kubeconfig", "kubeconfig")
    line = json.loads(await run.line("watch interrupted"))
    assert line["level"] == "warning"
    assert f"https://127.0.0.1:{free_port} cannot be reached" in line["error"]
    assert "is it running, and is the server of context" in line["error"]
    async with api.serve(free_port):
        await run.line("worked a")
        assert await run.end(signal.SIGTERM) == 0
    assert "Traceback" not in run.text


async def test_credentials_that_expired_are_named(
    start: Callable[..., Awaitable[Any]],
    operator: Callable[..., Any],
    server: Server,
    tmp_path: Path,
) -> None:
    config = orjson.loads((tmp_path / "kubeconfig").read_bytes())
    config["users"][0]["user"] = {"token": "expired"}
    (tmp_path / "expired").write_bytes(orjson.dumps(config))
    run = await start("run", operator("return DONE"), "--kubeconfig", "expired")
    line = json.loads(await run.line("watch interrupted"))
    assert line["level"] == "warning"
    assert "credentials" in line["error"]
    assert await run.end(signal.SIGTERM) == 0
    assert "Traceback" not in run.text


async def test_a_web_page_instead_of_a_server_is_named(
    start: Callable[..., Awaitable[Any]], operator: Callable[..., Any], tmp_path: Path
) -> None:
    async def page(_request: web.Request) -> web.StreamResponse:
        return web.Response(text="<html>Please log in</html>", content_type="text/html")

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", page)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    async with serve_web(runner, "127.0.0.1") as port:
        text = kubeconfig_with_token(f"http://127.0.0.1:{port}", b"", "token")
        (tmp_path / "kubeconfig").write_text(text, "utf-8")
        run = await start("run", operator("return DONE"), "--kubeconfig", "kubeconfig")
        line = json.loads(await run.line("watch interrupted"))
        assert line["level"] == "warning"
        assert "answered 200 with a web page, not as a Kubernetes API server" in line["error"]
        assert await run.end(signal.SIGTERM) == 0
    assert "Traceback" not in run.text
