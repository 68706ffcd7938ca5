"""A real control plane with a node: manifests are applied, and their pods run."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from certwright.client import Client, connect
from certwright.kube import Key, NotFound
from certwright.kube.kinds import ServiceAccount
from certwright.testkit.controlplane import ControlPlane, control_plane
from certwright.testkit.controlplane.flags import CONTROLLERS, WORKLOAD_CONTROLLERS
from certwright.testkit.node.egress import egress_configuration, egress_proxy, folder_for_sockets
from certwright.testkit.node.node import LocalNode, local_node
from certwright.testkit.node.process.images import Program
from certwright.testkit.node.services import ApiAddress, NodeSettings

_ACCOUNT_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class PlaneWithNode:
    """A control plane, a node that runs its pods, and an administrator's client."""

    plane: ControlPlane
    node: LocalNode
    client: Client


@asynccontextmanager
async def control_plane_with_node(
    *,
    images: Mapping[str, Program] | None = None,
    settings: NodeSettings = NodeSettings(),  # noqa: B008 - a value
    controllers: Sequence[str] = (*CONTROLLERS, *WORKLOAD_CONTROLLERS),
    apiserver_flags: Sequence[str] = (),
) -> AsyncIterator[PlaneWithNode]:
    """Run a control plane whose pods run on this machine, for the duration of the context.

    The API server reaches Services, pods and the node through a proxy, so
    webhooks are called by their Services, and ``kubectl logs`` works.
    """
    stack = AsyncExitStack()  # closed without the caller's exception: a group would wrap it
    try:
        folder = Path(stack.enter_context(folder_for_sockets()))
        socket, configuration = folder / "egress.sock", folder / "egress.yaml"
        configuration.write_text(egress_configuration(socket), "utf-8")
        plane = await stack.enter_async_context(
            control_plane(
                controllers=controllers,
                apiserver_flags=[
                    f"--egress-selector-config-file={configuration}",
                    *apiserver_flags,
                ],
                service_accounts=True,
            )
        )
        client = await stack.enter_async_context(connect(kubeconfig=plane.kubeconfig))
        host, _, port = plane.server.removeprefix("https://").partition(":")
        authority = plane.authority.certificate
        node = await stack.enter_async_context(
            local_node(
                client,
                images=images,
                settings=settings,
                api=ApiAddress(host, int(port), authority),
                client_authority=authority,
            )
        )
        ports = node.services.ports
        # With a client of its own. Requests that wait for a webhook may be all that the other one
        # sends at a time, and the API server reaches no webhook before the proxy has asked.
        asking = await stack.enter_async_context(connect(kubeconfig=plane.kubeconfig))
        await stack.enter_async_context(egress_proxy(socket, asking, ports))
        await _has_accounts(client)
        yield PlaneWithNode(plane, node, client)
    finally:
        await stack.aclose()


async def _has_accounts(client: Client) -> None:
    """Return when pods can be created in the default namespace: they need its ServiceAccount."""
    async with asyncio.timeout(_ACCOUNT_SECONDS):
        while True:
            try:
                await client.get(ServiceAccount, Key("default", "default"))
            except NotFound:
                await asyncio.sleep(0.05)
            else:
                return
