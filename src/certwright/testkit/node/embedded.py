"""An embedded server with a node: it serves over TLS, and its pods run."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from certwright.apiserver import ApiServer, Endpoint
from certwright.client import Client
from certwright.testkit.node.node import LocalNode, local_node
from certwright.testkit.node.process.images import Program
from certwright.testkit.node.services import ApiAddress, NodeSettings


@dataclass(frozen=True, slots=True)
class ServerWithNode:
    """An embedded server, where it is reached, and a node that runs its pods."""

    server: ApiServer
    endpoint: Endpoint
    node: LocalNode
    client: Client


@asynccontextmanager
async def server_with_node(
    server: ApiServer,
    *,
    images: Mapping[str, Program] | None = None,
    settings: NodeSettings = NodeSettings(),  # noqa: B008 - a value
    port: int = 0,
) -> AsyncIterator[ServerWithNode]:
    """Serve an embedded server and run its pods, for the duration of the context.

    Webhooks are called by their Services, and ``kubectl logs`` works. Pods that name a
    ServiceAccount are that ServiceAccount.
    """
    client = Client(server.transport(), field_manager="certwright-node")
    async with server.serve(port) as endpoint:
        host, _, number = endpoint.url.removeprefix("https://").partition(":")
        api = ApiAddress(host, int(number), endpoint.authority)
        addresses = server.services.ports
        async with local_node(
            client, images=images, settings=settings, api=api, addresses=addresses
        ) as node:
            server.logs.source = node.logs
            try:
                yield ServerWithNode(server, endpoint, node, client)
            finally:
                server.logs.source = None
