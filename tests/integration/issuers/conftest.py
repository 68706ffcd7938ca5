"""Certificate authorities as processes of their own, on ports that were free a moment ago."""

import asyncio
import contextlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
import urllib.request
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import pytest
from aiohttp import web

from certwright import pki
from certwright.api.certmanager import CertificateRequest
from certwright.apiserver import ApiServer
from certwright.client import Client, Transport
from certwright.clock import SYSTEM
from certwright.issuer import IssuerApp
from certwright.issuers.acme import Responder
from certwright.kube import Condition, JsonObject, Object, Resource, find_condition
from certwright.kube.kinds import Event
from certwright.listener import serve_web
from certwright.pki.keys import KeyEncoding
from certwright.testkit import Cluster
from certwright.testkit.controlplane import component

INSTALL = "`make test-tools` installs pebble, golang-cfssl and softhsm2"
PATIENCE = 50.0


def needed(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)} on this machine: {INSTALL}")


def free_ports(count: int) -> list[int]:
    """Return ports for TCP and UDP alike, which connections of others do not use up."""
    found: set[int] = set()
    while len(found) < count:
        [port] = component.free_ports(1)
        with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as udp:
            udp.bind(("127.0.0.1", port))
            found.add(port)
    return list(found)


@contextlib.contextmanager
def running(
    *command: str, log: Path, port: int, environment: Any = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the context ends; it counts as started when its port answers."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
        )
        try:
            deadline = time.monotonic() + PATIENCE
            while True:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                    break
                if process.poll() is not None or time.monotonic() > deadline:
                    pytest.fail(f"{command[0]} did not start:\n{log.read_text()[-2000:]}")
                time.sleep(0.02)
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE)


class Server(NamedTuple):
    """Files of a TLS server on localhost, and the PEM that its clients trust."""

    certificate: str
    key: str
    trusted: str


@pytest.fixture(scope="session")
def localhost(tmp_path_factory: pytest.TempPathFactory) -> Server:
    folder = tmp_path_factory.mktemp("tls")
    now, day = datetime.now(UTC), timedelta(days=1)
    root = pki.create_root(
        pki.parse_name("CN=test servers"), pki.generate_key(pki.KeySpec()), day, now
    )
    key = pki.generate_key(pki.KeySpec())
    names = pki.AlternativeNames.of_hosts("localhost", "127.0.0.1")
    leaf = root.issue(
        pki.server_template(pki.parse_name("CN=localhost"), key.public_key(), day, names), now
    )
    (folder / "tls.crt").write_bytes(root.write_chain(leaf))
    (folder / "tls.key").write_bytes(pki.write_key(key))
    trusted = pki.write_certificates(root.certificate).decode()
    return Server(str(folder / "tls.crt"), str(folder / "tls.key"), trusted)


@pytest.fixture
def trusted(localhost: Server) -> str:
    return localhost.trusted


@pytest.fixture
async def serve(localhost: Server) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """``await serve(handler)``: answer every HTTPS request with it; returns the URL."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(localhost.certificate, localhost.key)
    async with contextlib.AsyncExitStack() as stack:

        async def start(handler: Callable[..., Awaitable[Any]]) -> str:
            app = web.Application()
            app.router.add_route("*", "/{path:.*}", handler)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            served = serve_web(runner, "127.0.0.1", context=context)
            return f"https://localhost:{await stack.enter_async_context(served)}"

        yield start


class Pebble(NamedTuple):
    directory: str
    trusted: str
    http_port: int
    """Where HTTP-01 challenges are looked for."""
    challenges: str
    """The management URL of the challenge server."""
    external: tuple[str, str] | None
    manage: str

    def tell(self, what: Any, **values: Any) -> None:
        """Change what the challenge server answers."""
        body = json.dumps(values).encode()
        with urllib.request.urlopen(f"{self.challenges}/{what}", body, timeout=5) as answer:  # noqa: S310
            assert answer.status == 200


@contextlib.contextmanager
def pebble_running(folder: Any, localhost: Any, external: Any = None) -> Iterator[Any]:
    needed("pebble", "pebble-challtestsrv")
    acme, manage, challenges, dns, http, tls = free_ports(6)
    config = {
        "listenAddress": f"127.0.0.1:{acme}",
        "managementListenAddress": f"127.0.0.1:{manage}",
        "certificate": localhost.certificate,
        "privateKey": localhost.key,
        "httpPort": http,
        "tlsPort": tls,
        "ocspResponderURL": "",
        "externalAccountBindingRequired": external is not None,
    }
    if external is not None:
        config["externalAccountMACKeys"] = dict([external])
    (folder / "pebble.json").write_text(json.dumps({"pebble": config}))
    servers = [
        running(
            "pebble-challtestsrv", "-management", f"127.0.0.1:{challenges}",
            "-dns01", f"127.0.0.1:{dns}", "-http01", "", "-https01", "", "-tlsalpn01", "",
            "-defaultIPv6", "",
            log=folder / "challtestsrv.log", port=challenges,
        ),
        running(
            "pebble", "-config", str(folder / "pebble.json"), "-dnsserver", f"127.0.0.1:{dns}",
            log=folder / "pebble.log", port=acme,
            environment={"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "5"},
        ),
    ]  # fmt: skip
    with contextlib.ExitStack() as stack:
        for server in servers:
            stack.enter_context(server)
        yield Pebble(
            f"https://localhost:{acme}/dir", localhost.trusted, http,
            f"http://127.0.0.1:{challenges}", external, f"https://localhost:{manage}",
        )  # fmt: skip


class TxtRecords:
    """A solver that has Pebble's DNS server say it."""

    challenge = "dns-01"

    def __init__(self, pebble: Any, settling: Any = timedelta(0)) -> None:
        self.settling = settling
        self.held: list[Any] = []
        self._pebble = pebble

    async def present(self, proof: Any) -> None:
        if (proof.record, proof.value) not in self.held:  # asked again at every step
            self.held.append((proof.record, proof.value))
            self._pebble.tell("set-txt", host=f"{proof.record}.", value=proof.value)

    async def withdraw(self, proof: Any) -> None:
        if (proof.record, proof.value) in self.held:
            self.held.remove((proof.record, proof.value))
            self._pebble.tell("clear-txt", host=f"{proof.record}.")


@pytest.fixture
def txt_records(pebble: Any) -> Any:
    return lambda **options: TxtRecords(pebble, **options)


@pytest.fixture
async def responder(pebble: Any) -> AsyncIterator[Any]:
    """A responder where Pebble looks for it."""
    serving = Responder(pebble.http_port, "127.0.0.1")
    await serving.start()
    yield serving
    await serving.stop()


@pytest.fixture(scope="module")
def pebble(tmp_path_factory: pytest.TempPathFactory, localhost: Server) -> Iterator[Any]:
    with pebble_running(tmp_path_factory.mktemp("pebble"), localhost) as server:
        yield server


@pytest.fixture(scope="module")
def strict_pebble(tmp_path_factory: pytest.TempPathFactory, localhost: Server) -> Iterator[Any]:
    """One that serves only those who hold an account elsewhere."""
    external = ("kid-1", "zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W")
    with pebble_running(tmp_path_factory.mktemp("pebble"), localhost, external) as server:
        yield server


class Cfssl(NamedTuple):
    url: str
    root: Any
    key: str
    """The authentication key of the profile ``guarded``."""


@pytest.fixture(scope="module")
def cfssl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cfssl]:
    """A server with an open default profile, and others that are guarded, narrow or for authorities."""
    needed("cfssl")
    folder = tmp_path_factory.mktemp("cfssl")
    root = pki.create_root(
        pki.parse_name("CN=cfssl root"),
        pki.generate_key(pki.KeySpec()),
        timedelta(days=30),
        datetime.now(UTC),
    )
    (folder / "ca.pem").write_bytes(pki.write_certificates(root.certificate))
    (folder / "ca.key").write_bytes(pki.write_key(root.key, KeyEncoding.SEC1))
    key = "00112233445566778899aabbccddeeff"
    leaf = {"expiry": "24h", "usages": ["signing", "key encipherment", "server auth"]}
    config = {
        "signing": {
            "default": leaf,
            "profiles": {
                "guarded": {**leaf, "auth_key": "main"},
                "narrow": {**leaf, "name_whitelist": r"^ok\..*$"},
                "authority": {
                    "expiry": "24h",
                    "usages": ["cert sign"],
                    "ca_constraint": {"is_ca": True},
                },
            },
        },
        "auth_keys": {"main": {"type": "standard", "key": key}},
    }
    (folder / "config.json").write_text(json.dumps(config))
    (port,) = free_ports(1)
    with running(
        "cfssl", "serve", "-address", "127.0.0.1", "-port", str(port), "-ca", str(folder / "ca.pem"),
        "-ca-key", str(folder / "ca.key"), "-config", str(folder / "config.json"),
        log=folder / "cfssl.log", port=port,
    ):  # fmt: skip
        yield Cfssl(f"http://127.0.0.1:{port}", root, key)


class Hsm(NamedTuple):
    library: str
    token: str
    pin: str


@pytest.fixture(scope="session")
def hsm(tmp_path_factory: pytest.TempPathFactory) -> Hsm:
    """A SoftHSM with one empty token; the library lives as long as the process."""
    needed("softhsm2-util")
    pytest.importorskip("pkcs11", reason="pip install python-pkcs11")
    folder = tmp_path_factory.mktemp("softhsm")
    (folder / "tokens").mkdir()
    (folder / "softhsm2.conf").write_text(
        f"directories.tokendir = {folder}/tokens\nlog.level = ERROR\n"
    )
    os.environ["SOFTHSM2_CONF"] = str(folder / "softhsm2.conf")  # read when the library is loaded
    subprocess.run(
        ["softhsm2-util", "--init-token", "--free", "--label", "shop", "--pin", "4711", "--so-pin", "0815"],
        check=True, capture_output=True,
    )  # fmt: skip
    return Hsm("/usr/lib/softhsm/libsofthsm2.so", "shop", "4711")


class LiveCluster(Cluster):
    """The embedded API server in real time, because other processes have no other."""

    clock = SYSTEM
    namespace = "default"

    def __init__(self) -> None:
        super().__init__()
        self._server = ApiServer()
        self.client = Client(self._server.transport(), field_manager="test")

    def _transport(self) -> Transport:
        return self._server.transport()

    async def _rest(self) -> None:
        async with asyncio.timeout(PATIENCE):
            while await self._restless():
                await asyncio.sleep(0.005)


@pytest.fixture
async def live() -> AsyncIterator[LiveCluster]:
    """A cluster with cert-manager's requests, for issuers that speak to somebody outside."""
    async with LiveCluster() as cluster:
        await cluster.serve(CertificateRequest)
        yield cluster


class Outcome(NamedTuple):
    """What became of a request, and of its issuer."""

    ready: Any
    issuer_ready: Any
    certificate: bytes
    ca: bytes
    told: str
    """All that was said about both, events included."""


def _has_ended(outcome: Outcome) -> bool:
    """Whether a request has ended, or waits for an issuer that cannot sign."""
    if outcome.ready is None:
        return False
    return bool(outcome.ready.reason != "Pending" or outcome.issuer_ready.status == "False")


@pytest.fixture
def issued(live: LiveCluster) -> Callable[..., Awaitable[Any]]:
    """``await issued(app, spec)``: make an issuer and a request, and return what became of them.

    Waits until the request ends, or the issuer cannot sign; or for what *until* says.
    """

    async def issue(
        app: IssuerApp[Any],
        spec: JsonObject,
        name: str = "web.example.com",
        *,
        csr: bytes = b"",
        until: Callable[[Outcome], object] = _has_ended,
        **wanted: Any,
    ) -> Outcome:
        kind = cast("type[Object]", app.namespaced_kind).resource
        await live.serve(*app.kinds)
        group_version = f"{kind.group}/{kind.version}"
        await live.create(
            {
                "apiVersion": group_version,
                "kind": kind.kind,
                "metadata": {"name": "it"},
                "spec": spec,
            }
        )
        await live.settle(app.operator)
        await live.create(
            {
                "apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest", "metadata": {"name": "cr"},
                "spec": {
                    "request": b64encode(csr or _csr(name)).decode(),
                    "issuerRef": {"name": "it", "kind": kind.kind, "group": kind.group}, **wanted,
                },
            }
        )  # fmt: skip
        await _approve(live)
        outcome = await _outcome(live, kind)
        deadline = live.clock.monotonic() + PATIENCE
        while not until(outcome):
            assert live.clock.monotonic() < deadline, f"never came: {outcome}"
            await asyncio.sleep(0.02)
            outcome = await _outcome(live, kind)
        return outcome

    return issue


def _csr(name: str) -> bytes:
    key, names = pki.generate_key(pki.KeySpec()), pki.AlternativeNames.of_hosts(name)
    return pki.write_request(pki.build_request(key, pki.distinguished_name(name), names))


async def _approve(live: LiveCluster) -> None:
    condition = {
        "type": "Approved", "status": "True", "reason": "Tested", "message": "by a test",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    await live.client.apply(
        {
            "apiVersion": "cert-manager.io/v1", "kind": "CertificateRequest",
            "metadata": {"name": "cr", "namespace": live.namespace},
            "status": {"conditions": [condition]},
        },
        subresource="status", field_manager="approver",
    )  # fmt: skip


async def _outcome(live: LiveCluster, kind: Resource) -> Outcome:
    request = await live.get(CertificateRequest, "cr")
    issuer = await live.get(kind, "it")
    events = [one.get("note", "") for one in await live.list(Event)]
    conditions = (issuer.get("status") or {}).get("conditions") or []
    ready = msgspec.convert(next(one for one in conditions if one["type"] == "Ready"), Condition)
    own = find_condition(request.status.conditions, "Ready")
    said = [*events, ready.message, own.message if own else ""]
    return Outcome(own, ready, request.status.certificate, request.status.ca, "\n".join(said))


@pytest.fixture(scope="session")
def module(hsm: Any) -> Iterator[Any]:
    """The loaded library; there may be one in a process."""
    from certwright.issuers.pkcs11 import Module  # noqa: PLC0415 - needs the extra

    loaded = Module(hsm.library)
    yield loaded
    loaded.close()
