"""A certificate that the real cert-manager renews reaches a process that serves it, without a gap.

The process reads its certificate when it starts, so only a restart lets it serve the new one. The
API server, the workload controllers and cert-manager are real; pods run on a node of this machine.
"""

import asyncio
import socket
import ssl
import sys
import textwrap
from base64 import b64decode
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from tests.support.bundles.released import released
from tests.support.certmanager.releases import (
    Certificate,
    apply_release,
    plane_with_releases,
    request_certificate,
    until_ready,
)

from certwright.client import Client
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import Deployment, EndpointSlice, Secret, Service
from certwright.operators.rollout.dialects.redhat import ALLOW_RESTART, RedhatDialect
from certwright.operators.rollout.engine.settings import RolloutSettings
from certwright.operators.rollout.operator import rollout_operator
from certwright.pki.certificates import read_certificates
from certwright.runtime import Manager
from certwright.testkit.certmanager.assets import LATEST
from certwright.testkit.node.egress import find_local

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

SERVER = textwrap.dedent("""
    import signal, socket, ssl, sys, threading, time
    port, certificate, key = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    ended = []
    # As a server behind a Service should: it serves on while its endpoint is being removed.
    signal.signal(signal.SIGTERM, lambda *_: ended.append(time.monotonic() + 3))
    listener = socket.create_server(("127.0.0.1", port))
    listener.settimeout(0.2)
    def answer(connection):
        try:
            with context.wrap_socket(connection, server_side=True) as secure:
                secure.recv(1)
                secure.sendall(b"hello")
        except OSError:
            pass
    while not ended or time.monotonic() < ended[0]:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            continue
        threading.Thread(target=answer, args=(connection,), daemon=True).start()
""")
PORT = 8443


def server(secret: str) -> JsonObject:
    """Return a Deployment of two processes that serve a certificate."""
    app = {"app": "web"}
    command = [sys.executable, "-c", SERVER, str(PORT), "/tls/tls.crt", "/tls/tls.key"]
    container: JsonObject = {
        "name": "main",
        "image": "busybox:1",
        "command": command,
        "ports": [{"containerPort": PORT}],
        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "volumeMounts": [{"name": "tls", "mountPath": "/tls"}],
    }
    pod = {
        "containers": [container],
        "volumes": [{"name": "tls", "secret": {"secretName": secret}}],
    }
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "annotations": {ALLOW_RESTART: "true"},
        },
        "spec": {
            "replicas": 2,
            "strategy": strategy,
            "selector": {"matchLabels": app},
            "template": {"metadata": {"labels": app}, "spec": pod},
        },
    }


SERVICE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": {"app": "web"}, "ports": [{"port": 443, "targetPort": PORT}]},
}


class Visitor:
    """Asks the Service for its certificate, again and again."""

    def __init__(self, client: Client, addresses: dict[tuple[str, int], tuple[str, int]]) -> None:
        self._client = client
        self._addresses = addresses
        self.served: list[int] = []
        self.failures: list[str] = []

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            try:
                self.served.append(await self._ask())
            except (OSError, LookupError) as error:
                self.failures.append(f"{type(error).__name__}: {error}")
            await asyncio.sleep(0.05)

    async def _ask(self) -> int:
        """Return the serial number of the certificate that one ready endpoint serves."""
        service = await self._client.get(Service, Key("default", "web"))
        slices = (await self._client.list(EndpointSlice, "default")).items
        target = (service["spec"]["clusterIP"], 443)
        local = find_local(target, [service], list(slices), self._addresses)
        if local is None:
            raise LookupError("no endpoint is ready")
        return await asyncio.to_thread(_serial_at, local)


def _serial_at(address: tuple[str, int]) -> int:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection(address, timeout=5) as plain,
        context.wrap_socket(plain) as secure,
    ):
        secure.sendall(b"?")
        if secure.recv(5) != b"hello":
            raise ConnectionError("the answer is cut off")
        found = ssl.DER_cert_to_PEM_cert(secure.getpeercert(binary_form=True) or b"")
    return read_certificates(found)[0].serial_number


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.05)


async def stored(client: Client) -> int:
    secret = await client.get(Secret, Key("default", "web"))
    return read_certificates(b64decode(secret["data"]["tls.crt"]))[0].serial_number


async def renew(client: Client) -> None:
    """Have a certificate issued anew, as `cmctl renew` does."""
    condition = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered"}
    live = await client.get(Certificate, Key("default", "web"))
    conditions = [*live["status"]["conditions"], condition]
    patch = {"status": {"conditions": conditions}}
    await client.patch(Certificate, Key("default", "web"), patch, subresource="status")


async def test_a_renewed_certificate_is_served_without_a_failed_request() -> None:
    bundle = await asyncio.to_thread(released, f"v{LATEST}")
    settings = RolloutSettings(
        dialects=[RedhatDialect()],
        quiet=timedelta(seconds=1),
        home=Key("default", "certwright-rollout-key"),
    )
    async with plane_with_releases(LATEST) as running, asyncio.timeout(200):
        client = running.client
        await apply_release(client, bundle.objects)
        await request_certificate(client, "web")
        await until_ready(client, "web")
        first = await stored(client)
        await client.create(SERVICE)
        await client.create(server("web"))
        manager = Manager(client, [rollout_operator(settings)])
        visitor = Visitor(client, running.node.services.ports.addresses)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(manager.run())]
            await _available(client)
            tasks.append(group.create_task(visitor.run()))
            await until(lambda: len(visitor.served) >= 5)
            assert set(visitor.served) == {first}
            await renew(client)
            await until(lambda: visitor.served[-20:] != [first] * 20 and len(visitor.served) > 20)
            await _available(client)
            seen = len(visitor.served)
            await until(lambda: len(visitor.served) >= seen + 20)
            for task in tasks:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*tasks)
        second = await stored(client)
        assert second != first
        assert set(visitor.served[-20:]) == {second}
        assert visitor.failures == []
        revisions = (await client.get(Deployment, Key("default", "web")))["metadata"]["annotations"]
        assert revisions["deployment.kubernetes.io/revision"] == "2"


async def _available(client: Client) -> None:
    """Return when all pods are of the present template and available."""
    while True:
        live = await client.get(Deployment, Key("default", "web"))
        status = live.get("status") or {}
        counts = [status.get(name) for name in ("replicas", "updatedReplicas", "availableReplicas")]
        observed = status.get("observedGeneration") == live["metadata"]["generation"]
        if observed and counts == [2, 2, 2]:
            return
        await asyncio.sleep(0.1)
