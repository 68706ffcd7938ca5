"""Reviews for a webhook server: what they are, how they are sent, and certificates that change."""

import asyncio
import ssl
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import orjson

from certwright import pki
from certwright.apiserver.http.certs import KeyPair, TestAuthority
from certwright.apiserver.http.kubeconfig import kubeconfig_with_token
from certwright.client import HttpTransport, Limits, Request, TransportError, load_config
from certwright.client.http.tls import client_context
from certwright.pki.certificates import fingerprint

HEADERS = (("content-type", "application/json"), ("accept", "application/json"))
PATHS = ("/check", "/mutate")
DEPLOYMENT = Path(__file__).with_name("deployment.json")


def review_body() -> bytes:
    """Return a review of the creation of a Deployment of 3.4 kB."""
    gvk = {"group": "apps", "version": "v1", "kind": "Deployment"}
    gvr = {"group": "apps", "version": "v1", "resource": "deployments"}
    request = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": gvk,
        "resource": gvr,
        "requestKind": gvk,
        "requestResource": gvr,
        "name": "web",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "bench", "groups": ["system:masters", "system:authenticated"]},
        "object": orjson.loads(DEPLOYMENT.read_bytes()),
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return orjson.dumps(body)


@dataclass
class Outcomes:
    """How long each review took, from when it was due, and how many failed."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0

    def percentile(self, number: int) -> float:
        """Return how long that many of a hundred took at most, in milliseconds."""
        return statistics.quantiles(self.seconds, n=100)[number - 1] * 1000


async def saturate(send: Callable[[int], Awaitable[bool]], count: int, at_a_time: int) -> Outcomes:
    """Send that many, always so many at a time."""
    found, rest = Outcomes(), iter(range(count))

    async def worker() -> None:
        for number in rest:
            found.failed += not await send(number)

    async with asyncio.TaskGroup() as group:
        for _ in range(at_a_time):
            group.create_task(worker())
    return found


async def at_rate(
    send: Callable[[int], Awaitable[bool]], per_second: int, until: Callable[[int], bool]
) -> Outcomes:
    """Send so many per second, whether or not the earlier ones have been answered."""
    found, started = Outcomes(), time.perf_counter()

    async def one(number: int, due: float) -> None:
        ok = await send(number)
        found.failed += not ok
        found.seconds.append(time.perf_counter() - due)

    async with asyncio.TaskGroup() as group:
        number = 0
        while not until(number):
            due = started + number / per_second
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            group.create_task(one(number, due))
            number += 1
    return found


class Certificates:
    """A folder as kubelet projects it, whose certificate changes on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = TestAuthority("bench", datetime.now(UTC))
        self._generation = 0
        self.swap()

    def swap(self) -> str:
        """Put another pair in place; return its fingerprint."""
        pair: KeyPair = self.authority.serving("127.0.0.1", "localhost")
        self._generation += 1
        real = self.folder / f"..{self._generation}"
        real.mkdir()
        files = {"tls.crt": pair.certificate, "tls.key": pair.key}
        for name, content in (files | {"ca.crt": self.authority.certificate}).items():
            (real / name).write_bytes(content)
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        swap = self.folder / "..data_tmp"
        swap.symlink_to(real.name)
        swap.rename(self.folder / "..data")
        return fingerprint(pki.read_certificate(pair.certificate))

    async def presented(self, port: int) -> str:
        """Return the fingerprint that the server presents now."""
        context = client_context(self.authority.certificate)
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
        return fingerprint(pki.read_certificate(ssl.DER_cert_to_PEM_cert(der)))

    async def swap_often(self, port: int, times: int) -> None:
        """Swap that often, each time waiting until the server presents the new one."""
        for _ in range(times):
            wanted = self.swap()
            while await self.presented(port) != wanted:
                await asyncio.sleep(0.01)


class Direct:
    """Sends reviews straight to the server."""

    def __init__(self, certificates: Certificates, port: int, connections: int) -> None:
        kubeconfig = certificates.folder / "kubeconfig"
        url, authority = f"https://127.0.0.1:{port}", certificates.authority.certificate
        kubeconfig.write_text(kubeconfig_with_token(url, authority, "none"))
        limits = Limits(connections=connections)
        self._transport = HttpTransport(load_config(kubeconfig), limits=limits)
        self._body = review_body()

    async def send(self, number: int) -> bool:
        """Send one review; return whether it was answered as it should be."""
        query = (("timeout", "10s"),)
        request = Request("create", "POST", PATHS[number % 2], query, HEADERS, self._body)
        try:
            answer = await self._transport.send(request)
        except TransportError:
            return False
        return answer.status == 200 and b'"allowed":true' in answer.body

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()
