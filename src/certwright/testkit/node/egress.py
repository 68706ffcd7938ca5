"""The way from a real API server into the cluster: Services, pods and the node's endpoint.

kube-apiserver dials nothing of a cluster itself if its egress selector says so: it asks a proxy
by HTTP CONNECT on a Unix socket. That proxy is a process of its own, `process.tunnel` says why; it
asks here where an address leads. A Service's address leads to a ready endpoint of its
EndpointSlices, a pod's address to the port of 127.0.0.1 that stands for its port.
"""

import asyncio
import json
import os
import socket
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import yaml

from certwright.apiserver.webhooks.response import CallFailed
from certwright.apiserver.webhooks.servicetable import Address, ready_endpoint
from certwright.client import Client, TransportError
from certwright.kube import ApiError, JsonObject
from certwright.kube.kinds import EndpointSlice, Service
from certwright.testkit.node.ports import PortTable
from certwright.testkit.node.process import tunnel

_LONGEST_PLACE: Final = 60
_TUNNEL: Final = Path(tunnel.__file__)
"""Run as a file, isolated: importing the package would cost half a second."""
_START_SECONDS: Final = 60.0
_END_SECONDS: Final = 10.0


def egress_configuration(socket: Path) -> str:
    """Return the configuration that sends an API server's own traffic to a Unix socket."""
    transport = {"uds": {"udsName": str(socket)}}
    connection = {"proxyProtocol": "HTTPConnect", "transport": transport}
    return yaml.safe_dump({
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    })  # fmt: skip


def find_local(
    target: Address,
    services: list[JsonObject],
    slices: list[JsonObject],
    addresses: dict[Address, Address],
) -> Address | None:
    """Return where on this machine a Service, pod or node listens; None if nothing does."""
    if target in addresses:
        return addresses[target]
    host, port = target
    for service in services:
        if service["spec"].get("clusterIP") != host:
            continue
        namespace = service["metadata"]["namespace"]
        nearby = [one for one in slices if one["metadata"]["namespace"] == namespace]
        try:
            endpoint = ready_endpoint(service, port, nearby)
        except CallFailed:
            return None
        return addresses.get(endpoint) if endpoint else None
    return None


class EgressLookup:
    """Tells the process that connects an API server where addresses of the cluster lead."""

    def __init__(self, client: Client, ports: PortTable) -> None:
        self._client = client
        self._ports = ports
        self.ready = asyncio.Event()

    async def listen(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer questions until the other end closes, several at a time."""
        try:
            async with asyncio.TaskGroup() as group:
                while line := await reader.readline():
                    question = json.loads(line)
                    if "host" not in question:
                        self.ready.set()
                        continue
                    group.create_task(self._answer(question, writer))
        finally:
            writer.close()  # without answers nothing may wait for one: the process ends

    async def _answer(self, question: JsonObject, writer: asyncio.StreamWriter) -> None:
        target = question["host"], question["port"]
        try:
            local = await self._find(target)
        except (ApiError, TransportError):
            answer: JsonObject = {"problem": "the API server does not answer"}
        else:
            nothing: JsonObject = {"problem": f"nothing listens at {target[0]}:{target[1]}"}
            answer = nothing if local is None else {"host": local[0], "port": local[1]}
        writer.write(json.dumps({"id": question["id"], **answer}).encode() + b"\n")

    async def _find(self, target: Address) -> Address | None:
        if target in self._ports.addresses:
            return self._ports.addresses[target]
        services = await self._client.list(Service)
        slices = await self._client.list(EndpointSlice)
        return find_local(target, services.items, slices.items, self._ports.addresses)


def folder_for_sockets() -> tempfile.TemporaryDirectory[str]:
    """Make a folder with a short path: that of a Unix socket has room for about 100 bytes."""
    usual = tempfile.gettempdir()
    place = usual if len(os.fsencode(usual)) <= _LONGEST_PLACE else "/tmp"  # noqa: S108 - short
    return tempfile.TemporaryDirectory(prefix="certwright-", dir=place)


@asynccontextmanager
async def egress_proxy(path: Path, client: Client, ports: PortTable) -> AsyncIterator[None]:
    """Serve a Unix socket while the context is open, from a process of its own."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", str(_TUNNEL), str(path), stdin=theirs.fileno()
        )
    reader, writer = await asyncio.open_connection(sock=ours)
    lookup = EgressLookup(client, ports)
    stack = AsyncExitStack()  # closed without the caller's exception: a group would wrap it
    group = await stack.enter_async_context(asyncio.TaskGroup())
    listening = group.create_task(lookup.listen(reader, writer))
    try:
        async with asyncio.timeout(_START_SECONDS):
            await lookup.ready.wait()
        yield
    finally:
        writer.close()
        listening.cancel()
        await stack.aclose()
        try:
            async with asyncio.timeout(_END_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
