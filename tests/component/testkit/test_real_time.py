"""A cluster in real time: controllers of a test may talk to something behind a socket."""

import asyncio
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import urlopen

import pytest

from certwright.clock import SYSTEM
from certwright.kube import Key
from certwright.kube.kinds import ConfigMap
from certwright.runtime import DONE, Context, Controller, Outcome
from certwright.testkit import Cluster
from certwright.testkit.builders import config_map
from certwright.testkit.time.virtual import VirtualLoop

pytestmark = pytest.mark.real_time


class Greeter(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        pass


async def test_a_controller_reaches_a_server(cluster: Cluster) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Greeter) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()

        def ask() -> str:
            with urlopen(f"http://127.0.0.1:{server.server_port}", timeout=10) as answer:
                return str(answer.read(), "utf-8")

        async def greet(ctx: Context, key: Key) -> Outcome:
            obj = ctx.get(ConfigMap, key)
            if key.name == "asked" and obj is not None and "said" not in obj.get("data", {}):
                said = await asyncio.to_thread(ask)
                await ctx.client.patch(ConfigMap, key, {"data": {"said": said}})
            return DONE

        try:
            await cluster.create(config_map("asked"))
            await cluster.settle(Controller(ConfigMap, greet))
            assert (await cluster.get(ConfigMap, "asked"))["data"] == {"said": "hello"}
        finally:
            await asyncio.to_thread(server.shutdown)


async def test_time_is_that_of_the_machine(cluster: Cluster) -> None:
    assert not isinstance(asyncio.get_running_loop(), VirtualLoop)
    assert cluster.clock is SYSTEM
