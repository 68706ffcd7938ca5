"""`certwright discovery-service` as a process: what the pods of a control plane run."""

import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from tests.support.envoy.smallschema import small_descriptors
from tests.support.webhook import Ca, admission_body, as_files, trusting, write_projected

from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.apiserver import ApiServer
from certwright.client import Client, until_served
from certwright.clock import SYSTEM
from certwright.kube import JsonObject, Key, crd_manifest
from certwright.kube.kinds import Lease

POD: JsonObject = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "app", "annotations": {"marin3r.3scale.net/node-id": "web"}},
    "spec": {"containers": [{"name": "app", "image": "app:1"}]},
}


@pytest.fixture
def ports(unused_tcp_port_factory: Callable[[], int]) -> tuple[int, int, int]:
    return unused_tcp_port_factory(), unused_tcp_port_factory(), unused_tcp_port_factory()


async def test_it_serves_envoys_and_reviews(
    start: Callable[..., Awaitable[Any]],
    until: Callable[..., Awaitable[Any]],
    tmp_path: Path,
    ports: tuple[int, int, int],
) -> None:
    ca, (xds, webhook, probes) = Ca(now=SYSTEM.now()), ports
    for folder in ("server", "ca"):
        (tmp_path / folder).mkdir()
    write_projected(tmp_path / "server", "1", as_files(ca.serving()))
    write_projected(tmp_path / "ca", "1", {"tls.crt": ca.pem})
    (tmp_path / "envoy.pb").write_bytes(small_descriptors().SerializeToString())
    api = ApiServer()
    async with api.serve() as endpoint, Client(api.transport()) as client:
        endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        for kind in (EnvoyConfig, EnvoyConfigRevision):
            await client.apply(crd_manifest(kind))
            await until_served(client, crd_manifest(kind))
        run = await start(
            "discovery-service", "--name=instance", "--kubeconfig=kubeconfig",
            "--server-certificate-path=server", "--ca-certificate-path=ca",
            f"--xdss-port={xds}", f"--webhook-port={webhook}", "--metrics-bind-address=:0",
            f"--health-probe-bind-address=127.0.0.1:{probes}", "--schema=envoy.pb", "--debug",
        )  # fmt: skip
        connector = aiohttp.TCPConnector(ssl=trusting(ca.pem))
        async with aiohttp.ClientSession(connector=connector) as session:

            async def is_ready() -> bool:
                try:
                    async with session.get(f"http://127.0.0.1:{probes}/readyz") as answer:
                        return answer.status == 200
                except aiohttp.ClientConnectionError:
                    return False

            await run.line("this replica leads")
            await until(is_ready)
            headers = {"Content-Type": "application/json"}
            url = f"https://localhost:{webhook}/pod-v1-mutate"
            async with session.post(url, data=admission_body(POD), headers=headers) as answer:
                response = (await answer.json())["response"]
            assert response["allowed"]
            assert response["patchType"] == "JSONPatch"
            with pytest.raises(aiohttp.ClientError):
                # Envoys have to show a certificate.
                async with session.get(f"https://localhost:{xds}/") as answer:
                    await answer.read()
        lease = await client.get(Lease, Key("default", "marin3r-instance"))
        assert lease["spec"]["holderIdentity"]
        assert await run.end(signal.SIGTERM) == 0


async def test_the_webhook_of_the_later_era_answers(
    start: Callable[..., Awaitable[Any]],
    until: Callable[..., Awaitable[Any]],
    tmp_path: Path,
    ports: tuple[int, int, int],
) -> None:
    """Its Deployment runs on with its arguments; without answers, no labelled Pod would start."""
    ca, (_, webhook, probes) = Ca(now=SYSTEM.now()), ports
    files = as_files(ca.serving())
    (tmp_path / "certificates").mkdir()
    (tmp_path / "certificates" / "apiserver.crt").write_bytes(files["tls.crt"])
    (tmp_path / "certificates" / "apiserver.key").write_bytes(files["tls.key"])
    (tmp_path / "envoy.pb").write_bytes(small_descriptors().SerializeToString())
    api = ApiServer()
    async with api.serve() as endpoint:
        endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        run = await start(
            "marin3r", "webhook", "--tls-dir=certificates", f"--webhook-port={webhook}",
            "--metrics-bind-address=:0", f"--health-probe-bind-address=127.0.0.1:{probes}",
            "--schema=envoy.pb", "--kubeconfig=kubeconfig",
        )  # fmt: skip
        connector = aiohttp.TCPConnector(ssl=trusting(ca.pem))
        async with aiohttp.ClientSession(connector=connector) as session:

            async def is_ready() -> bool:
                try:
                    async with session.get(f"http://127.0.0.1:{probes}/readyz") as answer:
                        return answer.status == 200
                except aiohttp.ClientConnectionError:
                    return False

            async def review(path: str, obj: JsonObject) -> JsonObject:
                headers = {"Content-Type": "application/json"}
                url = f"https://localhost:{webhook}{path}"
                async with session.post(url, data=admission_body(obj), headers=headers) as answer:
                    response: JsonObject = (await answer.json())["response"]
                return response

            await until(is_ready)
            admitted = await review("/pod-v1-mutate", POD)
            assert admitted["allowed"]
            assert "patch" not in admitted
            config: JsonObject = {
                "apiVersion": "marin3r.3scale.net/v1alpha1",
                "kind": "EnvoyConfig",
                "metadata": {"name": "gateway"},
                "spec": {
                    "nodeID": "gateway",
                    "resources": [{"type": "cluster", "value": {"nme": "a"}}],
                },
            }
            refused = await review("/validate-marin3r-3scale-net-v1alpha1-envoyconfig", config)
            assert not refused["allowed"]
            assert "nme" in refused["status"]["message"]
        assert await run.end(signal.SIGTERM) == 0


def test_a_missing_schema_is_named(
    cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CERTWRIGHT_XDS_SCHEMA", "nowhere.pb")
    done = cli("discovery-service", "--name", "instance")
    assert done.code == 2
    assert "nowhere.pb" in done.err
