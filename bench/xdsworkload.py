"""Discovery servers, what they serve, and the Envoys that one process plays before them."""

import asyncio
import base64
import json
import os
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.apimetrics import usage
from bench.peers.gocontrolplane import go_control_plane
from bench.peers.marin3r import definitions, marin3r
from bench.processes import Child, Program
from bench.xdsload import NAME, NODE
from certwright import pki
from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.client import Client, connect, until_served
from certwright.kube import JsonObject, Key, crd_manifest
from certwright.kube.kinds import Secret
from certwright.testkit.controlplane import control_plane
from certwright.testkit.controlplane.component import free_ports
from certwright.xds.access import client_uri
from certwright.xds.typeurls import CLUSTER, LISTENER, SECRET
from certwright.xds.wire import text_field, varint, wrapped

NAMESPACE = "bench"
RSA = pki.KeySpec(pki.KeyAlgorithm.RSA, 2048)
DAY = timedelta(days=1)
READY_SECONDS = 120
SETTLED_SECONDS = 30
"""After a new version, until statuses that are written with a delay are written."""
OTHERS = ("leases", "events")
"""What is not counted among the writes: leases are renewed all the time."""


@dataclass(frozen=True)
class Pair:
    """What a Secret holds, and a piece of its certificate by which it is recognised."""

    certificate: bytes
    key: bytes

    @property
    def piece(self) -> str:
        """A line in the middle of the first certificate, which no other has."""
        return self.certificate.decode().splitlines()[8]


class XdsFiles:
    """A folder with all certificates, and the pairs that are pushed one after the other."""

    def __init__(self, folder: Path, pushes: int) -> None:
        self.folder = folder
        self._now = datetime.now(UTC)
        root = pki.generate_key(RSA)
        self._authority = pki.create_root(
            pki.distinguished_name("bench"), root, 30 * DAY, self._now - DAY
        )
        server = pki.AlternativeNames.of_hosts("localhost", "127.0.0.1")
        client = pki.AlternativeNames(uris=(client_uri("bench", NAMESPACE),))
        self._write("server", self._issue(pki.server_template, server))
        self._write("client", self._issue(pki.client_template, client))
        self._write("ca", Pair(pki.write_certificates(self._authority.certificate), b""))
        served = pki.AlternativeNames.of_hosts("shop.example.com")
        self.pairs = [self._issue(pki.server_template, served) for _ in range(pushes + 1)]

    def _issue(self, template, names: pki.AlternativeNames) -> Pair:
        key = pki.generate_key(RSA)
        wanted = template(pki.distinguished_name("bench"), key.public_key(), 20 * DAY, names)
        certificate = self._authority.issue(wanted, self._now)
        chain = pki.write_certificates(certificate, self._authority.certificate)
        return Pair(chain, pki.write_key(key))

    def _write(self, name: str, pair: Pair) -> None:
        (self.folder / name).mkdir()
        (self.folder / name / "tls.crt").write_bytes(pair.certificate)
        (self.folder / name / "tls.key").write_bytes(pair.key)


# What is served


def snapshot_line(pair: Pair, number: int) -> str:
    """Return a snapshot whose Secret is this pair, for servers that read such lines."""
    address = wrapped(1, text_field(2, "0.0.0.0") + b"\x18" + varint(8080))
    tls = wrapped(1, _inline(pair.certificate)) + wrapped(2, _inline(pair.key))
    groups = {
        CLUSTER: ("1", {"backend": text_field(1, "backend") + wrapped(4, b"\x08\x01")}),
        LISTENER: ("1", {"http": text_field(1, "http") + wrapped(2, address)}),
        SECRET: (str(number), {NAME: text_field(1, NAME) + wrapped(2, tls)}),
    }
    return json.dumps(
        {
            "node": NODE,
            "types": {
                url: {
                    "version": version,
                    "resources": {n: base64.b64encode(m).decode() for n, m in found.items()},
                }
                for url, (version, found) in groups.items()
            },
        }
    )


def _inline(value: bytes) -> bytes:
    return wrapped(2, value)


def envoy_config(port: int = 8080) -> JsonObject:
    """Return the same as an EnvoyConfig; another port makes another version of it."""
    address = {"socket_address": {"address": "0.0.0.0", "port_value": port}}
    return {
        "apiVersion": "marin3r.3scale.net/v1alpha1",
        "kind": "EnvoyConfig",
        "metadata": {"name": NODE, "namespace": NAMESPACE},
        "spec": {
            "nodeID": NODE,
            "resources": [
                {"type": "cluster", "value": {"name": "backend", "connect_timeout": "1s"}},
                {"type": "listener", "value": {"name": "http", "address": address}},
                {"type": "secret", "generateFromTlsSecret": NAME},
            ],
        },
    }


def secret(pair: Pair) -> JsonObject:
    """Return the Secret that holds a pair."""
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": NAME, "namespace": NAMESPACE},
        "data": {name: base64.b64encode(value).decode() for name, value in data.items()},
    }


# Who serves it


@dataclass
class XdsSubject:
    """A server that runs: its process, where it listens, and how a pair is pushed."""

    child: Child
    port: int
    push: Callable[[Pair, int], Awaitable[object]]
    writes: Callable[[], Awaitable[int]] | None = None
    change: Callable[[int], Awaitable[object]] | None = None
    """Makes another version of the configuration."""
    rests: bool = True
    """Whether it does nothing when there is nothing to do: not while stalls are watched."""


@asynccontextmanager
async def bare_server(
    name: str, files: XdsFiles, *, stalls: bool = False
) -> AsyncIterator[XdsSubject]:
    """Run a server that is told what to serve: ours, or go-control-plane."""
    if name == "certwright":
        mode = "stalls" if stalls else "rest"
        child: Child = Program("subjects.xds_server", str(files.folder), mode)
    else:
        binary = await asyncio.to_thread(go_control_plane)
        child = Child([binary, "0", files.folder])
    with child:
        port = (await asyncio.to_thread(child.line))["port"]

        async def push(pair: Pair, number: int) -> object:
            child.go_on(snapshot_line(pair, number))
            return await asyncio.to_thread(child.line)

        await push(files.pairs[0], 0)
        yield XdsSubject(child, port, push, rests=not stalls)


@asynccontextmanager
async def whole_server(name: str, files: XdsFiles) -> AsyncIterator[XdsSubject]:
    """Run a discovery service on a real API server: ours, or marin3r's."""
    async with (
        control_plane(controllers=()) as plane,
        connect(plane.kubeconfig) as client,
        _prepared(name, client, files),
    ):
        port, reviews = free_ports(2)
        environment = {
            **os.environ,
            "KUBECONFIG": str(plane.kubeconfig),
            "WATCH_NAMESPACE": NAMESPACE,
            "POD_NAMESPACE": NAMESPACE,
        }
        with (
            tempfile.TemporaryFile() as log,
            Child(
                await _command(name, files, port, reviews), environment=environment, log=log
            ) as child,
        ):
            await _listens(port)

            async def push(pair: Pair, _number: int) -> object:
                data = {"data": secret(pair)["data"]}
                return await client.patch(Secret, Key(NAMESPACE, NAME), data)

            async def writes() -> int:
                return (await usage(client, but=OTHERS)).writes

            async def change(number: int) -> object:
                spec = {"spec": envoy_config(8080 + number)["spec"]}
                return await client.patch(EnvoyConfig.resource, Key(NAMESPACE, NODE), spec)

            yield XdsSubject(child, port, push, writes, change)


@asynccontextmanager
async def _prepared(name: str, client: Client, files: XdsFiles) -> AsyncIterator[None]:
    if name == "certwright":
        kinds = [crd_manifest(EnvoyConfig), crd_manifest(EnvoyConfigRevision)]
    else:
        await asyncio.to_thread(marin3r)
        kinds = await asyncio.to_thread(definitions, dict(os.environ))
    for kind in kinds:
        await until_served(client, await client.create(kind))
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    for obj in (space, secret(files.pairs[0]), envoy_config()):
        await client.create(obj)
    yield


async def _command(name: str, files: XdsFiles, port: int, reviews: int) -> list[str]:
    """Return a command line; the flags of ours are those of marin3r, and two more."""
    flags = [
        "discovery-service",
        f"--xdss-port={port}",
        f"--server-certificate-path={files.folder / 'server'}",
        f"--ca-certificate-path={files.folder / 'ca'}",
        f"--client-certificate-path={files.folder / 'client'}",
    ]
    if name == "certwright":
        program = Path(sys.executable).with_name("certwright")
        flags += ["--metrics-bind-address=:0", "--health-probe-bind-address=:0"]
        return [str(program), *flags, "--name=bench", f"--webhook-port={reviews}"]
    flags += ["--metrics-bind-address=0", "--health-probe-bind-address=0"]
    return [str(await asyncio.to_thread(marin3r)), *flags]


async def _listens(port: int) -> None:
    async with asyncio.timeout(READY_SECONDS):
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return
            await asyncio.sleep(0.1)


# What is measured


@dataclass
class XdsRun:
    """What one server needed for so many streams."""

    streams: int
    connect: float
    rss_before: int
    rss: int
    cpu: float
    """Of all pushes."""
    latencies: list[float] = field(default_factory=list)
    """From each write to the last Envoy that has it."""
    stall: float = 0.0
    """The longest of the event loop in a push, in milliseconds of processor time."""
    writes: int | None = None
    """Of a new version that all Envoys take."""

    @property
    def cpu_per_push(self) -> float:
        """Milliseconds for one stream."""
        return 1000 * self.cpu / (self.streams * len(self.latencies))

    @property
    def kib_per_stream(self) -> float:
        return (self.rss - self.rss_before) / 1024 / self.streams


async def measured(subject: XdsSubject, files: XdsFiles, streams: int) -> XdsRun:
    """Connect so many Envoys, and push each pair to all of them."""
    child = subject.child
    await quiet(subject)
    before = child.rss()
    with Program("xdsload", str(files.folder), str(subject.port), str(streams)) as load:
        took = (await asyncio.to_thread(load.line))["seconds"]
        await quiet(subject)
        run = XdsRun(streams, took, before, child.rss(), 0.0)
        cpu = child.cpu()
        for number, pair in enumerate(files.pairs[1:], 1):
            load.go_on(pair.piece)
            await asyncio.to_thread(load.line)
            began = time.monotonic()
            answer = await subject.push(pair, number)
            run.latencies.append((await asyncio.to_thread(load.line))["last"] - began)
            if number > 1 and isinstance(answer, dict):  # what is said is about the push before
                run.stall = max(run.stall, answer.get("cpu_ms", 0.0))
        await quiet(subject)
        run.cpu = child.cpu() - cpu
        run.rss = max(run.rss, child.rss())
        if subject.change and subject.writes:
            already = await subject.writes()
            await subject.change(1)
            await asyncio.sleep(SETTLED_SECONDS)
            run.writes = await subject.writes() - already - 1  # one is ours
    return run


async def quiet(subject: XdsSubject) -> None:
    """Return when a process has done nearly nothing for two seconds."""
    cpu = subject.child.cpu()
    while True:
        await asyncio.sleep(2.0)
        if (now := subject.child.cpu()) - cpu <= 0.05 or not subject.rests:
            return
        cpu = now


def median_of(runs: Sequence[XdsRun], figure: Callable[[XdsRun], float]) -> float:
    """Return the median of a figure."""
    return sorted(map(figure, runs))[len(runs) // 2]
