"""The three journeys: what is prepared, what sets an object off, and where it has arrived."""

import asyncio
import os
import subprocess
import tempfile
import threading
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from shutil import which
from typing import TypeAlias

import orjson
import yaml
from tests.walk.tracer import Tracer

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.api.managedresources import ManagedResource
from certwright.apiserver.server import ApiServer
from certwright.client import Client, connect
from certwright.clock import SYSTEM
from certwright.issuers.ca import app
from certwright.kube import JsonObject, Object, crd_manifest, format_time
from certwright.operators.managedresource import Configuration, resource_operator
from certwright.runtime import Declared, Manager

NAMESPACE = "default"
SECONDS = 30.0
_MOMENT = 0.3


class ServerThread:
    """An API server on a thread of its own."""

    def __init__(self, server: ApiServer, kubeconfig: Path, tracer: Tracer | None) -> None:
        self.server = server
        self.kubeconfig = kubeconfig
        self._tracer = tracer
        self._loop = asyncio.new_event_loop()
        self._client = Client(server.transport(), field_manager="walk")
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve()])
        self._end = asyncio.Event()

    def __enter__(self) -> "ServerThread":
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._loop.close()

    async def _serve(self) -> None:
        async with self.server.serve() as endpoint:
            endpoint.write_kubeconfig(self.kubeconfig)
            if self._tracer is not None:
                self._tracer.start(threads=False)
            self._ready.set()
            await self._end.wait()

    def define(self, kinds: Sequence[type[Object]]) -> None:
        """Serve custom kinds."""
        self.server.define([crd_manifest(kind) for kind in kinds], "walk")
        self.server.background.run()

    async def apply(self, *manifests: JsonObject, subresource: str = "") -> None:
        """Write objects in one go, without a socket and unseen by the traced side."""
        future = asyncio.run_coroutine_threadsafe(self._apply(manifests, subresource), self._loop)
        await asyncio.wrap_future(future)

    async def _apply(self, manifests: Sequence[JsonObject], subresource: str) -> None:
        for manifest in manifests:
            await self._client.apply(manifest, subresource=subresource)


@contextmanager
def api_server(tracer: Tracer | None = None) -> Iterator[ServerThread]:
    """Run a server whose kubeconfig lies in a folder that goes with it."""
    with (
        tempfile.TemporaryDirectory(prefix="certwright-walk-") as folder,
        ServerThread(ApiServer(), Path(folder) / "kubeconfig", tracer) as server,
    ):
        yield server


class Arrival:
    """Switches the tracer off as soon as the server stores an object that has arrived."""

    def __init__(
        self, server: ApiServer, tracer: Tracer, arrived: Callable[[JsonObject], bool]
    ) -> None:
        self._tracer = tracer
        self._arrived = arrived
        self._done = threading.Event()
        server.on_change(self._observe)

    def _observe(self, _: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None and self._arrived(new):
            self._tracer.on = False
            self._done.set()

    async def wait(self) -> None:
        """Wait until the object has arrived."""
        if not await asyncio.to_thread(self._done.wait, SECONDS):
            raise TimeoutError("the journey did not end; run it again, or look at its status")


@asynccontextmanager
async def running(server: ServerThread, *parts: Declared) -> AsyncIterator[None]:
    """Run operators over HTTP until the context is left."""
    async with connect(kubeconfig=server.kubeconfig) as client, asyncio.TaskGroup() as group:
        manager = Manager(client, parts)
        task = group.create_task(manager.run())
        await rest(manager)
        try:
            yield
        finally:
            manager.stop()
            await task


async def rest(manager: Manager) -> None:
    """Wait until a manager has had nothing to do for a moment."""
    quiet = 0
    async with asyncio.timeout(SECONDS):
        while quiet < 10:
            await asyncio.sleep(0.05)
            quiet = quiet + 1 if manager.idle() else 0


async def managed_resource(tracer: Tracer) -> None:
    """Follow a new ManagedResource of three objects from the watch to its first status."""
    with api_server() as server:
        server.define([ManagedResource])
        arrival = Arrival(server.server, tracer, _applied)
        tracer.start()
        async with running(server, resource_operator(Configuration())):
            secret, resource = _managed_objects()
            await server.apply(secret)
            await asyncio.sleep(_MOMENT)  # its event is no part of the journey
            tracer.on = True
            await server.apply(resource)
            await arrival.wait()
            tracer.stop()


def _managed_objects() -> list[JsonObject]:
    maps = [_config_map(f"walk-{number}") for number in range(3)]
    metadata = {"namespace": NAMESPACE, "name": "walk"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "stringData": {"objects.yaml": yaml.safe_dump_all(maps)},
        },
        {
            "apiVersion": ManagedResource.resource.api_version,
            "kind": ManagedResource.resource.kind,
            "metadata": metadata,
            "spec": {"secretRefs": [{"name": "walk"}]},
        },
    ]


def _applied(obj: JsonObject) -> bool:
    conditions = obj.get("status", {}).get("conditions", [])
    return obj["kind"] == "ManagedResource" and any(
        condition["type"] == "ResourcesApplied" and condition["status"] == "True"
        for condition in conditions
    )


async def certificate_request(tracer: Tracer) -> None:
    """Follow an approved CertificateRequest from the watch to its signed status."""
    with api_server() as server:
        server.define([CertificateRequest, *app.kinds])
        arrival = Arrival(server.server, tracer, lambda obj: "certificate" in obj.get("status", {}))
        *authority, request = _issuer_objects()
        await server.apply(*authority)
        tracer.start()
        async with running(server, app.operator):
            tracer.needle = request["spec"]["request"].encode()
            tracer.on = True
            await server.apply(request)
            await server.apply(_approval(), subresource="status")
            await arrival.wait()
            tracer.stop()


def _issuer_objects() -> list[JsonObject]:
    key, now = pki.generate_key(pki.KeySpec()), SYSTEM.now()
    root = pki.create_root(pki.parse_name("CN=Walk CA"), key, timedelta(days=30), now)
    request = pki.build_request(
        pki.generate_key(pki.KeySpec()),
        pki.parse_name("CN=walk"),
        pki.AlternativeNames.of_hosts("walk.example.com"),
    )
    assert app.namespaced_kind is not None
    kind = app.namespaced_kind.resource
    metadata = {"namespace": NAMESPACE, "name": "walk"}
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": metadata,
            "data": {
                "tls.crt": b64encode(pki.write_certificates(root.certificate)).decode(),
                "tls.key": b64encode(pki.write_key(key)).decode(),
            },
        },
        {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "metadata": metadata,
            "spec": {"authorities": [{"name": "walk"}]},
        },
        {
            **_request_head(),
            "spec": {
                "request": b64encode(pki.write_request(request)).decode(),
                "issuerRef": {"name": "walk", "kind": kind.kind, "group": kind.group},
                "usages": ["digital signature", "server auth"],
            },
        },
    ]


def _request_head() -> JsonObject:
    return {
        "apiVersion": CertificateRequest.resource.api_version,
        "kind": CertificateRequest.resource.kind,
        "metadata": {"namespace": NAMESPACE, "name": "walk"},
    }


def _approval() -> JsonObject:
    condition = {
        "type": "Approved",
        "status": "True",
        "reason": "Walked",
        "message": "approved for the walk",
        "lastTransitionTime": format_time(SYSTEM.now()),
    }
    return {**_request_head(), "status": {"conditions": [condition]}}


async def kubectl_apply(tracer: Tracer) -> None:
    """Follow a ConfigMap from ``kubectl apply`` through the embedded server to its answer."""
    with api_server(tracer) as server:
        arrival = Arrival(server.server, tracer, lambda obj: obj["metadata"]["name"] == "walk")
        tracer.on = True
        if which("kubectl"):
            await asyncio.to_thread(_kubectl, server.kubeconfig)
        else:
            async with connect(kubeconfig=server.kubeconfig) as client:
                await client.apply(_config_map("walk"))
        await arrival.wait()


def _kubectl(kubeconfig: Path) -> None:
    command = ["kubectl", "apply", "-f", "-"]
    environ = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(kubeconfig.parent)}
    manifest = orjson.dumps(_config_map("walk"))
    subprocess.run(command, input=manifest, env=environ, check=True, capture_output=True)


def _config_map(name: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"namespace": NAMESPACE, "name": name},
        "data": {"color": "blue"},
    }


Journey: TypeAlias = Callable[[Tracer], Coroutine[None, None, None]]

JOURNEYS: dict[str, tuple[str, Journey]] = {
    "managed-resource": (
        "A ManagedResource, from the watch to its first status",
        managed_resource,
    ),
    "certificate-request": (
        "A CertificateRequest, from the watch to its signed status",
        certificate_request,
    ),
    "kubectl-apply": (
        "kubectl apply, from the socket into the storage of the embedded server",
        kubectl_apply,
    ),
}
