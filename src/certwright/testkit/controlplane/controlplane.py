"""The real thing: etcd, kube-apiserver and kube-controller-manager as local processes.

Starts in seconds, needs no root, uses free ports of 127.0.0.1, and leaves nothing behind:
every process ends with its context, and with this process should it be killed.
"""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from certwright.apiserver.http.certs import KeyPair, TestAuthority, signing_key_pair
from certwright.apiserver.http.kubeconfig import kubeconfig_with_certificate
from certwright.client import Client, Request, TransportError, connect
from certwright.clock import SYSTEM
from certwright.testkit.controlplane.assets import Assets, obtain_assets
from certwright.testkit.controlplane.component import ServerProcess, free_ports, running
from certwright.testkit.controlplane.errors import ComponentFailed
from certwright.testkit.controlplane.flags import (
    CONTROLLERS,
    Layout,
    Ports,
    apiserver_command,
    controller_manager_command,
    etcd_command,
)

_READY_SECONDS = 60
_ATTEMPTS = 3
"""Free ports are found by asking the kernel and closing again: another process may be faster."""


@dataclass(frozen=True, slots=True)
class ControlPlane:
    """A running control plane."""

    folder: Path
    server: str
    kubeconfig: Path
    """A kubeconfig of a member of system:masters, readable by this user only."""
    assets: Assets
    authority: TestAuthority
    components: tuple[ServerProcess, ServerProcess, ServerProcess]
    """etcd, the API server and the controller manager."""

    def keep_logs(self, folder: Path) -> None:
        """Copy the logs of all components to a folder that outlives the control plane."""
        folder.mkdir(parents=True, exist_ok=True)
        for log in self.folder.glob("*.log"):
            shutil.copy(log, folder)

    def kubeconfig_for(self, user: str, groups: Sequence[str] = ()) -> Path:
        """Write a kubeconfig for another user, who may do what RBAC grants."""
        path = self.folder / f"kubeconfig-{len(list(self.folder.glob('kubeconfig-*')))}"
        pair = self.authority.client(user, groups)
        text = kubeconfig_with_certificate(self.server, self.authority.certificate, pair)
        _write_private(path, text.encode())
        return path

    async def restart_apiserver(self) -> None:
        """Stop the API server, start it again, and return when it is ready.

        Only from the event loop the control plane was started in.
        """
        etcd, apiserver, _ = self.components
        await apiserver.stop()
        await apiserver.start()
        await _ready(self.kubeconfig, (etcd, apiserver))


@asynccontextmanager
async def control_plane(
    *,
    assets: Assets | None = None,
    controllers: Sequence[str] = CONTROLLERS,
    apiserver_flags: Sequence[str] = (),
    service_accounts: bool = False,
) -> AsyncIterator[ControlPlane]:
    """Run a control plane in a context; missing binaries are built first, in minutes, once.

    With *service_accounts*, pods get the credentials of their ServiceAccount.
    """
    if assets is None:
        assets = await asyncio.to_thread(obtain_assets)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="certwright-")))
        command = partial(
            apiserver_command, extra=apiserver_flags, service_accounts=service_accounts
        )
        yield await _start(stack, folder, assets, controllers, command)


async def _start(
    stack: AsyncExitStack,
    folder: Path,
    assets: Assets,
    controllers: Sequence[str],
    command: Callable[[Assets, Layout, Ports], list[str | Path]],
) -> ControlPlane:
    layout = Layout(folder)
    authority = TestAuthority("certwright-control-plane", SYSTEM.now())
    _write_pair(layout, "serving", authority.serving("127.0.0.1", "localhost", "kubernetes"))
    admin = authority.client("certwright-admin", ["system:masters"])
    _write_pair(layout, "admin", admin)
    _write_private(layout.file("ca.crt"), authority.certificate)
    tokens = signing_key_pair()
    _write_private(layout.file("tokens.key"), tokens.key)
    _write_private(layout.file("tokens.pub"), tokens.certificate)

    for attempt in range(1, _ATTEMPTS + 1):
        ports = Ports(*free_ports(3))
        server = f"https://127.0.0.1:{ports.apiserver}"
        text = kubeconfig_with_certificate(server, authority.certificate, admin)
        _write_private(layout.file("kubeconfig"), text.encode())
        async with AsyncExitStack() as attempted:
            etcd = await attempted.enter_async_context(
                running("etcd", etcd_command(assets, layout, ports), layout.file("etcd.log"))
            )
            apiserver = await attempted.enter_async_context(
                running(
                    "kube-apiserver",
                    command(assets, layout, ports),
                    layout.file("kube-apiserver.log"),
                )
            )
            try:
                await _ready(layout.file("kubeconfig"), (etcd, apiserver))
            except ComponentFailed:
                if attempt == _ATTEMPTS or not (etcd.lost_its_port or apiserver.lost_its_port):
                    raise
                continue
            manager = await attempted.enter_async_context(
                running(
                    "kube-controller-manager",
                    controller_manager_command(assets, layout, controllers),
                    layout.file("kube-controller-manager.log"),
                )
            )
            stack.push_async_exit(attempted.pop_all())
            return ControlPlane(
                folder,
                server,
                layout.file("kubeconfig"),
                assets,
                authority,
                (etcd, apiserver, manager),
            )
    raise AssertionError("unreachable: the last attempt raises or returns")


async def _ready(kubeconfig: Path, components: Sequence[ServerProcess]) -> None:
    client = connect(kubeconfig=kubeconfig)
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while not await _is_ready(client):
                for component in components:
                    if component.has_ended:
                        raise component.failure("ended while starting")
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise components[-1].failure(f"was not ready after {_READY_SECONDS} s") from None
    finally:
        await client.close()


async def _is_ready(client: Client) -> bool:
    try:  # past the client's retries: here a refused connection is the normal case
        answer = await client.transport.send(Request("get", "GET", "/readyz"))
    except TransportError:
        return False
    return answer.status == 200


def _write_pair(layout: Layout, name: str, pair: KeyPair) -> None:
    _write_private(layout.file(f"{name}.crt"), pair.certificate)
    _write_private(layout.file(f"{name}.key"), pair.key)


def _write_private(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)
