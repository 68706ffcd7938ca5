"""The real cert-manager: its controllers and its admission webhook as local processes.

The controllers run as the ServiceAccount ``cert-manager/cert-manager`` under RBAC, so that
what they may approve is decided as in a cluster. Installed once per control plane: its
definitions and its webhook are for the whole cluster.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from certwright import pki
from certwright.client import Client, connect
from certwright.kube import ApiError, GroupVersionKind, InternalError, JsonObject, NotFound
from certwright.testkit.certmanager.assets import CertManagerAssets, obtain_cert_manager
from certwright.testkit.certmanager.definitions import official_definitions
from certwright.testkit.certmanager.manifests import (
    CONTROLLER,
    NAMESPACE,
    WEBHOOK,
    access_manifests,
    service_account,
    service_account_groups,
    webhook_manifests,
)
from certwright.testkit.controlplane import ControlPlane
from certwright.testkit.controlplane.component import ServerProcess, free_ports, running
from certwright.testkit.controlplane.errors import ComponentFailed

_READY_SECONDS = 60
_ATTEMPTS = 3
_BACKOFF = "certificate-request-minimum-backoff-duration"


@dataclass(frozen=True, slots=True)
class CertManager:
    """A running cert-manager."""

    plane: ControlPlane
    controller: ServerProcess
    webhook: ServerProcess
    namespace: str = NAMESPACE
    """Where ClusterIssuers find their Secrets."""


@asynccontextmanager
async def cert_manager(
    plane: ControlPlane,
    *,
    assets: CertManagerAssets | None = None,
    workers: int = 5,
    retry_after: timedelta = timedelta(hours=1),
) -> AsyncIterator[CertManager]:
    """Install cert-manager on a control plane and run it for the duration of the context.

    *workers* is the number of each controller; a Certificate that failed is requested again after
    *retry_after* at the earliest. Missing binaries are built first, which takes minutes once.
    """
    if assets is None:
        assets = await asyncio.to_thread(obtain_cert_manager)
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(connect(kubeconfig=plane.kubeconfig))
        definitions = await asyncio.to_thread(official_definitions)
        for manifest in (*definitions, *access_manifests()):
            await client.apply(manifest, field_manager="certwright-testkit")
        async with asyncio.timeout(_READY_SECONDS):
            while not await _is_served(client):
                await asyncio.sleep(0.05)
        webhook = await _start_webhook(stack, plane, client, assets)
        controller = await stack.enter_async_context(
            running(
                "cert-manager",
                [
                    assets.controller,
                    f"--kubeconfig={_kubeconfig(plane, CONTROLLER)}",
                    f"--cluster-resource-namespace={NAMESPACE}",
                    "--leader-elect=false",
                    f"--concurrent-workers={workers}",
                    f"--{_BACKOFF}={retry_after.total_seconds():g}s",
                ],
                plane.folder / "cert-manager.log",
            )
        )
        yield CertManager(plane, controller, webhook)


async def _is_served(client: Client) -> bool:
    client.discovery.invalidate()
    try:
        for kind in ("Certificate", "CertificateRequest", "Issuer", "ClusterIssuer"):
            await client.discovery.resource_for(GroupVersionKind("cert-manager.io", "v1", kind))
    except NotFound:
        return False
    return True


async def _start_webhook(
    stack: AsyncExitStack, plane: ControlPlane, client: Client, assets: CertManagerAssets
) -> ServerProcess:
    certificate, key = plane.folder / "webhook.crt", plane.folder / "webhook.key"
    pair = plane.authority.serving("127.0.0.1")
    certificate.write_bytes(pair.certificate)
    key.touch(mode=0o600)
    key.write_bytes(pair.key)
    kubeconfig = _kubeconfig(plane, WEBHOOK)
    for attempt in range(1, _ATTEMPTS + 1):
        port, health = free_ports(2)
        command: list[str | Path] = [
            assets.webhook,
            f"--kubeconfig={kubeconfig}",
            f"--secure-port={port}",
            f"--healthz-port={health}",
            "--metrics-listen-address=0",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
        ]
        async with AsyncExitStack() as attempted:
            webhook = await attempted.enter_async_context(
                running("cert-manager webhook", command, plane.folder / "webhook.log")
            )
            url = f"https://127.0.0.1:{port}"
            for manifest in webhook_manifests(url, plane.authority.certificate):
                await client.apply(manifest, field_manager="certwright-testkit")
            try:
                await _answers(client, webhook)
            except ComponentFailed:
                if attempt == _ATTEMPTS or not webhook.lost_its_port:
                    raise
                continue
            stack.push_async_exit(attempted.pop_all())
            return webhook
    raise AssertionError("unreachable: the last attempt raises or returns")


async def _answers(client: Client, webhook: ServerProcess) -> None:
    """Wait until the webhook judges: it listens before it has read its certificate."""
    try:
        async with asyncio.timeout(_READY_SECONDS):
            while not await _judges(client):
                if webhook.has_ended:
                    raise webhook.failure("ended while starting")
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise webhook.failure(f"did not answer after {_READY_SECONDS} s") from None


async def _judges(client: Client) -> bool:
    """Return whether both webhooks are in force: users are recorded, invalid requests refused."""
    key = pki.generate_key(pki.KeySpec())
    csr = pki.write_request(pki.build_request(key, pki.distinguished_name("probe")))
    good: JsonObject = {
        "request": base64.b64encode(csr).decode(),
        "issuerRef": {"name": "probe", "group": "certwright.dev", "kind": "Probe"},
    }
    bad = {**good, "issuerRef": {**good["issuerRef"], "name": ""}}
    try:
        made = await client.create(_probe(good), dry_run=True)
    except InternalError:  # the webhook cannot be reached yet
        return False
    try:
        await client.create(_probe(bad), dry_run=True)
    except ApiError as error:
        return "username" in made["spec"] and "denied the request" in error.message
    return False


def _probe(spec: JsonObject) -> JsonObject:
    return {
        "apiVersion": "cert-manager.io/v1",
        "kind": "CertificateRequest",
        "metadata": {"name": "probe", "namespace": NAMESPACE},
        "spec": spec,
    }


def _kubeconfig(plane: ControlPlane, name: str) -> Path:
    return plane.kubeconfig_for(service_account(name), service_account_groups())
