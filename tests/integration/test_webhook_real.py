"""Webhooks that the real API server calls: it patches, denies, and says what is wrong."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.waits import until
from tests.support.webhook import Ca, as_files, config_map, write_projected

from certwright.clock import SYSTEM
from certwright.kube import Forbidden, InternalError, JsonObject
from certwright.kube.kinds import ConfigMap, MutatingWebhookConfiguration
from certwright.runtime import ListenAddress, Manager
from certwright.testkit import RealCluster
from certwright.testkit.controlplane.component import free_ports
from certwright.webhook import (
    AdmissionHandler,
    AdmissionReview,
    CertificateDirectory,
    Decision,
    Registration,
    intercept,
    webhook_operator,
)
from webhook import LABEL, default_team, known_team

pytestmark = pytest.mark.real


def crash(_review: AdmissionReview) -> Decision:
    raise RuntimeError("with a secret in it")


class Operated:
    """The webhooks of the example and one that crashes, in a manager, for one namespace."""

    def __init__(self, cluster: RealCluster, folder: Path, authority: bytes = b"") -> None:
        [port] = free_ports(1)
        here = {"matchLabels": {"kubernetes.io/metadata.name": cluster.namespace}}
        crashing = {"matchLabels": {"crash": "yes"}}
        rules = [intercept(ConfigMap, "CREATE")]
        both = [
            AdmissionHandler(
                "default.test.dev", default_team, rules, True, namespace_selector=here
            ),
            AdmissionHandler("known.test.dev", known_team, rules, namespace_selector=here),
            AdmissionHandler(
                "crash.test.dev",
                crash,
                rules,
                namespace_selector=here,
                object_selector=crashing,
            ),
        ]
        registration = Registration(
            cluster.namespace,
            url=f"https://127.0.0.1:{port}",
            authority=authority,
            self_check=cluster.namespace,
        )
        self.cluster = cluster
        self.manager = Manager(
            cluster.client,
            [
                webhook_operator(
                    both,
                    CertificateDirectory(folder),
                    ListenAddress(port),
                    registration=registration,
                )
            ],
        )

    @property
    def check(self) -> str:
        """What the self-check found wrong; empty when it passed."""
        checks = [one for one in self.manager.readiness() if one.name == "webhook self-check"]
        return checks[0].problem

    async def until(self, text: str) -> None:
        """Wait until the self-check says so; empty text means that it passed."""

        async def told() -> bool:
            return self.check == "" if not text else text in self.check

        await until(f"the self-check says {text!r}, and not {self.check!r}", told)

    async def until_patched(self) -> None:
        """Wait until the API server asks the webhook that mutates: each has a cache of its own."""

        async def patched() -> bool:
            obj = config_map("probe", namespace=self.cluster.namespace, labels={})
            try:
                await self.cluster.client.create(obj, dry_run=True)
            except Forbidden as denied:
                return repr(self.cluster.namespace) in str(denied)
            return False

        await until("the API server asks for the default team", patched)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.manager.run())
            try:
                yield
            finally:
                self.manager.stop()

    async def create(self, name: str, **labels: str) -> JsonObject:
        obj = config_map(name, namespace=self.cluster.namespace, labels=labels)
        return await self.cluster.client.create(obj)


async def test_the_api_server_is_patched_and_denied_by_the_example(
    real_cluster: RealCluster, tmp_path: Path
) -> None:
    write_projected(tmp_path, "1", as_files(Ca(now=SYSTEM.now()).serving()))
    operated = Operated(real_cluster, tmp_path)
    async with operated.running():
        await operated.until("")
        await operated.until_patched()
        with pytest.raises(Forbidden) as raised:
            await operated.create("a")
        assert str(raised.value) == (
            'admission webhook "known.test.dev" denied the request:'
            f" there is no team '{real_cluster.namespace}'"
        )
        made = await operated.create("b", **{LABEL: "search"})
        assert made["metadata"]["labels"] == {LABEL: "search"}
        with pytest.raises(InternalError) as failed:
            await operated.create("c", crash="yes", **{LABEL: "search"})
        assert 'failed calling webhook "crash.test.dev"' in str(failed.value)
        assert "RuntimeError; see its log" in str(failed.value)
        assert "secret" not in str(failed.value)
        exposition = (await operated.manager.exposition()).decode()
    assert 'reviews_total{result="patched",webhook="/default.test.dev"} ' in exposition
    assert 'reviews_total{result="denied",webhook="/known.test.dev"} ' in exposition
    assert 'reviews_total{result="failed",webhook="/crash.test.dev"} 1.0' in exposition


async def test_the_self_check_sees_what_the_api_server_sees(
    real_cluster: RealCluster, tmp_path: Path
) -> None:
    """It fails with the API server's own words, and passes once a certificate is trusted."""
    trusted, other = Ca("trusted", SYSTEM.now()), Ca("other", SYSTEM.now())
    write_projected(tmp_path, "1", as_files(other.serving()))
    operated = Operated(real_cluster, tmp_path, authority=trusted.pem)
    async with operated.running():
        await operated.until("x509: certificate signed by unknown authority")
        write_projected(tmp_path, "2", as_files(trusted.serving()))
        await operated.until("")
        write_projected(tmp_path, "3", as_files(other.serving()))
        await operated.until("x509")
    names = await real_cluster.names(ConfigMap)
    assert not {name for name in names if "self-check" in name}


async def test_certificates_are_swapped_while_the_api_server_asks(
    real_cluster: RealCluster, tmp_path: Path
) -> None:
    ca = Ca(now=SYSTEM.now())
    write_projected(tmp_path, "0", as_files(ca.serving()))
    operated = Operated(real_cluster, tmp_path)
    done = False
    created = 0

    async def load(worker: int) -> None:
        nonlocal created
        while not done:
            created += 1
            await operated.create(f"w{worker}-{created}", **{LABEL: "search"})

    async with operated.running():
        await operated.until("")
        certificate = _certificate_of(operated)
        async with asyncio.TaskGroup() as group:
            for worker in range(4):
                group.create_task(load(worker))
            for _ in range(20):
                certificate.offer(ca.serving())
                seen = created
                while created < seen + 5:
                    await asyncio.sleep(0.001)
            done = True
    assert created >= 100
    kept = await real_cluster.find(MutatingWebhookConfiguration, real_cluster.namespace)
    assert kept is not None


async def test_the_api_server_keeps_its_connections(
    real_cluster: RealCluster, tmp_path: Path
) -> None:
    """A thousand reviews, and few handshakes: its client keeps 25 connections."""
    write_projected(tmp_path, "1", as_files(Ca(now=SYSTEM.now()).serving()))
    operated = Operated(real_cluster, tmp_path)

    async def load(worker: int) -> None:
        for number in range(500 // 8):
            obj = config_map(
                f"w{worker}-{number}",
                namespace=real_cluster.namespace,
                labels={LABEL: "search"},
            )
            await real_cluster.client.create(obj, dry_run=True)

    async with operated.running():
        await operated.until("")
        await operated.until_patched()
        async with asyncio.TaskGroup() as group:
            for worker in range(8):
                group.create_task(load(worker))
        samples = (await operated.manager.exposition()).decode().splitlines()
    reviews = sum(_value(line) for line in samples if "_webhook_reviews_total{" in line)
    [handshakes] = [
        _value(line) for line in samples if line.startswith("certwright_webhook_connections_total")
    ]
    assert reviews >= 2 * 8 * (500 // 8)
    assert handshakes <= 25


def _value(line: str) -> float:
    return float(line.rpartition(" ")[2])


def _certificate_of(operated: Operated) -> Any:
    [server] = [part for part in operated.manager._runnables if hasattr(part, "listening")]
    return server._certificate  # type: ignore[attr-defined]
