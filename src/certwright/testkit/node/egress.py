"""The way from a real API server into the cluster: Services, pods and the node's endpoint.

kube-apiserver dials nothing of a cluster itself if its egress selector says so: it asks a proxy
by HTTP CONNECT on a Unix socket. This is that proxy. A Service's address leads to a ready
endpoint of its EndpointSlices, a pod's address to the port of 127.0.0.1 that stands for its port.
"""

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Final

import yaml

from certwright.apiserver.webhooks.response import CallFailed
from certwright.apiserver.webhooks.servicetable import Address, ready_endpoint
from certwright.client import Client, TransportError
from certwright.kube import ApiError, JsonObject
from certwright.kube.kinds import EndpointSlice, Service
from certwright.testkit.node.ports import PortTable

_LONGEST_HEAD: Final = 16_384
_LONGEST_PLACE: Final = 60
_CHUNK: Final = 65_536
_ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"


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


class EgressProxy:
    """Connects an API server to what it asks for."""

    def __init__(self, client: Client, ports: PortTable) -> None:
        self._client = client
        self._ports = ports

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection: read where it leads, then pass bytes in both directions."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, *_ = head.decode("latin-1").split()
            host, _, port = target.rpartition(":")
            local = await self._find((host, int(port))) if method == "CONNECT" else None
            if local is None:
                writer.write(f"HTTP/1.1 503 nothing listens at {target}\r\n\r\n".encode())
                return
            there = await asyncio.open_connection(*local)
            writer.write(_ESTABLISHED)
            async with asyncio.TaskGroup() as group:
                group.create_task(_pass_on(reader, there[1]))
                group.create_task(_pass_on(there[0], writer))
        except OSError:
            writer.write(b"HTTP/1.1 502 connection refused\r\n\r\n")
        except (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            writer.write(b"HTTP/1.1 400 not a CONNECT request\r\n\r\n")
        except (ApiError, TransportError):
            writer.write(b"HTTP/1.1 503 the API server does not answer\r\n\r\n")
        finally:
            writer.close()

    async def _find(self, target: Address) -> Address | None:
        if target in self._ports.addresses:
            return self._ports.addresses[target]
        services = await self._client.list(Service)
        slices = await self._client.list(EndpointSlice)
        return find_local(target, services.items, slices.items, self._ports.addresses)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while chunk := await reader.read(_CHUNK):
            writer.write(chunk)
            await writer.drain()
    with suppress(OSError):
        writer.close()


def folder_for_sockets() -> tempfile.TemporaryDirectory[str]:
    """Make a folder with a short path: that of a Unix socket has room for about 100 bytes."""
    usual = tempfile.gettempdir()
    place = usual if len(os.fsencode(usual)) <= _LONGEST_PLACE else "/tmp"  # noqa: S108 - short
    return tempfile.TemporaryDirectory(prefix="certwright-", dir=place)


@asynccontextmanager
async def egress_proxy(socket: Path, client: Client, ports: PortTable) -> AsyncIterator[None]:
    """Serve a Unix socket while the context is open."""
    proxy = EgressProxy(client, ports)
    server = await asyncio.start_unix_server(proxy.connect, socket, limit=_LONGEST_HEAD)
    try:
        yield
    finally:
        server.close()
