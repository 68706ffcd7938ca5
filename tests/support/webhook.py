"""What tests of webhooks share: certificates, reviews as an API server sends them, a client."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from certwright import pki
from certwright.client.http.tls import client_context, identify
from certwright.clock import SYSTEM
from certwright.kube import JsonObject
from certwright.pki.requests import Template
from certwright.runtime import ListenAddress, Metrics
from certwright.tls.certificates import TlsFiles
from certwright.tls.server import ServingCertificate
from certwright.webhook.endpoints import ReviewEndpoint
from certwright.webhook.metrics import WebhookMetrics
from certwright.webhook.server import WebhookServer, webhook_profile

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
RSA = pki.KeySpec(pki.KeyAlgorithm.RSA, 2048)


class Ca:
    """An authority that issues what tests need, also what is of no use."""

    def __init__(self, name: str = "test", now: datetime = NOW) -> None:
        self.now = now
        self.authority = pki.create_root(
            pki.distinguished_name(name),
            pki.generate_key(pki.KeySpec()),
            3650 * DAY,
            now - 100 * DAY,
        )

    @property
    def pem(self) -> bytes:
        return pki.write_certificates(self.authority.certificate)

    def serving(
        self,
        *,
        key: pki.PrivateKey | None = None,
        start: timedelta = timedelta(),
        lifetime: timedelta = 10 * DAY,
        client_authority: bytes | None = None,
    ) -> TlsFiles:
        key = key or pki.generate_key(pki.KeySpec())
        names = pki.AlternativeNames.of_hosts("localhost", "127.0.0.1")
        subject = pki.distinguished_name("webhook")
        template = pki.server_template(subject, key.public_key(), lifetime, names)
        return self._files(template, key, start, client_authority)

    def client(self, name: str) -> TlsFiles:
        key = pki.generate_key(pki.KeySpec())
        template = pki.client_template(pki.distinguished_name(name), key.public_key(), 10 * DAY)
        return self._files(template, key, timedelta(), None)

    def _files(
        self,
        template: Template,
        key: pki.PrivateKey,
        start: timedelta,
        client_authority: bytes | None,
    ) -> TlsFiles:
        certificate = pki.write_certificates(self.authority.issue(template, self.now + start))
        return TlsFiles(certificate, pki.write_key(key), self.pem, client_authority)


def write_projected(folder: Path, generation: str, files: dict[str, bytes]) -> None:
    """Write files as kubelet projects them: a folder of their own, and a link that is swapped."""
    real = folder / f"..{generation}"
    real.mkdir()
    for name, content in files.items():
        (real / name).write_bytes(content)
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"..data/{name}")
    swap = folder / "..data_tmp"
    swap.symlink_to(real.name)
    swap.rename(folder / "..data")


def as_files(files: TlsFiles) -> dict[str, bytes]:
    return {"tls.crt": files.certificate, "tls.key": files.key, "ca.crt": files.authority}


def config_map(name: str = "a", **metadata: Any) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default", **metadata},
    }


def admission(obj: JsonObject | None = None, **request: Any) -> JsonObject:
    """A review of the creation of an object, as kube-apiserver sends it."""
    obj = config_map() if obj is None else obj
    gvk = {"group": "", "version": "v1", "kind": obj.get("kind", "ConfigMap")}
    gvr = {"group": "", "version": "v1", "resource": f"{gvk['kind'].lower()}s"}
    return {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": gvk,
            "resource": gvr,
            "requestKind": gvk,
            "requestResource": gvr,
            "name": obj.get("metadata", {}).get("name", ""),
            "namespace": "default",
            "operation": "CREATE",
            "userInfo": {"username": "jane", "groups": ["system:authenticated"]},
            "object": obj,
            "oldObject": None,
            "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
            **request,
        },
    }


def admission_body(obj: JsonObject | None = None, **request: Any) -> bytes:
    return orjson.dumps(admission(obj, **request))


class Caller:
    """Sends reviews over TLS, as an API server would."""

    def __init__(self, session: aiohttp.ClientSession, server: WebhookServer) -> None:
        self.session = session
        self.server = server
        self.base = f"https://localhost:{server.port}"

    async def send(
        self, path: str, body: bytes, *, method: str = "POST", **headers: str
    ) -> tuple[int, Any]:
        sent = {"Content-Type": "application/json"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        async with self.session.request(
            method, self.base + path, data=body, headers=sent
        ) as response:
            text = await response.read()
            self.headers = response.headers
            is_json = response.content_type == "application/json"
            return response.status, orjson.loads(text) if is_json else text.decode()

    async def review(self, path: str, obj: JsonObject | None = None, **request: Any) -> Any:
        status, answer = await self.send(path, admission_body(obj, **request))
        assert status == 200, answer
        return answer["response"]


class Served:
    """A server that runs, and everything around it."""

    def __init__(
        self,
        endpoints: Sequence[ReviewEndpoint],
        *,
        client_authority: bool = False,
        files: TlsFiles | None = None,
        **options: Any,
    ) -> None:
        self.ca = Ca(now=SYSTEM.now())
        self.metrics = Metrics()
        numbers = WebhookMetrics(self.metrics)
        self.certificate = ServingCertificate(SYSTEM, numbers, webhook_profile(client_authority))
        self.certificate.offer(files or self.ca.serving())
        self.server = WebhookServer(
            endpoints,
            self.certificate,
            numbers,
            ListenAddress(0),
            authenticated=client_authority,
            **options,
        )

    def count(self, path: str, result: str) -> float:
        return self._sample("certwright_webhook_reviews_total", webhook=path, result=result)

    @property
    def connections(self) -> float:
        return self._sample("certwright_webhook_connections_total")

    def _sample(self, name: str, **labels: str) -> float:
        value = self.metrics.registry.get_sample_value(name, labels)
        assert value is not None
        return value

    @asynccontextmanager
    async def running(self) -> AsyncIterator["asyncio.Task[None]"]:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.server.run())
            try:
                async with asyncio.timeout(50):
                    await self.server.listening()
                yield task
            finally:
                if not task.cancelling():
                    task.cancel()

    @asynccontextmanager
    async def caller(
        self, client: TlsFiles | None = None, trusted: bytes = b""
    ) -> AsyncIterator[Caller]:
        context = trusting(trusted or self.ca.pem, client)
        connector = aiohttp.TCPConnector(ssl=context, limit=0)
        async with aiohttp.ClientSession(connector=connector) as session:
            yield Caller(session, self.server)


def trusting(authority: bytes, client: TlsFiles | None = None) -> ssl.SSLContext:
    context = client_context(authority)
    if client is not None:
        identify(context, client.certificate, client.key)
    return context
