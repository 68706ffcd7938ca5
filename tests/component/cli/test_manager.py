"""`certwright manager` as a process: several operators, bundles of a folder and of the cluster."""

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.api.certmanagers import CertManagerInstallation
from certwright.api.managedresources import ManagedResource
from certwright.apiserver import ApiServer
from certwright.bundles.bundle import encode, make_bundle
from certwright.bundles.configmap import to_config_map
from certwright.bundles.sources import file_name
from certwright.client import Client, until_served
from certwright.kube import JsonObject, Key, NotFound, crd_manifest
from certwright.kube.kinds import ConfigMap, Deployment, Lease
from certwright.testkit.actors.certmanager import small_release
from certwright.testkit.builders import config_map, secret

OLD, NEW = "v1.20.3-small", "v1.21.2-small"
CMD = CertManagerDeployment.resource


def packed(version: str) -> bytes:
    return encode(make_bundle(version, small_release(version)))


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    (tmp_path / "bundles").mkdir()
    (tmp_path / "bundles" / file_name(OLD)).write_bytes(packed(OLD))
    api = ApiServer()
    async with api.serve() as endpoint, Client(api.transport()) as client:
        endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        for kind in (ManagedResource, CertManagerDeployment, CertManagerInstallation):
            await client.apply(crd_manifest(kind))
            await until_served(client, crd_manifest(kind))
        yield client


def installation(version: str) -> JsonObject:
    return {
        "apiVersion": CMD.api_version,
        "kind": CMD.kind,
        "metadata": {"name": "cluster"},
        "spec": {"version": version, "upgradePolicy": "Manual"},
    }


async def test_two_operators_in_one_process(
    start: Callable[..., Awaitable[Any]],
    client: Client,
    until: Callable[..., Awaitable[Any]],
    unused_tcp_port: int,
) -> None:
    kept = yaml.safe_dump(config_map("kept", {"k": "v"}, namespace="default"))
    await client.create(secret("s", {"o.yaml": kept}, namespace="default"))
    resource = ManagedResource.resource
    await client.create(
        {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {"name": "m", "namespace": "default"},
            "spec": {"secretRefs": [{"name": "s"}]},
        }
    )
    await client.create(installation(NEW))
    run = await start(
        "manager", "--operators", "managedresource,certmanager,ibm-certmanager", "--bundles",
        "bundles",
        "--kubeconfig", "kubeconfig", "--metrics-addr", "127.0.0.1:0",
        "--health-probe-addr", f"127.0.0.1:{unused_tcp_port}", "--enable-leader-election",
        "--enable-pod-refresher",
    )  # fmt: skip

    async def reason() -> str:
        status = (await client.get(CMD, Key("", "cluster"))).get("status") or {}
        found = {one["type"]: one["reason"] for one in status.get("conditions") or ()}
        return str(found.get("Degraded", ""))

    async def is_missing() -> bool:
        return await reason() in {"BundleMissing", "UnsupportedVersion"}

    async def is_installed() -> Any:
        try:
            return await client.get(Deployment, Key("cert-manager", "cert-manager"))
        except NotFound:
            return None

    async def is_kept() -> Any:
        try:
            return await client.get(ConfigMap, Key("default", "kept"))
        except NotFound:
            return None

    await until(is_kept)
    await until(is_missing)
    assert await is_installed() is None
    await client.create(to_config_map(packed(NEW), "default"))  # wakes the operator
    found = await until(is_installed)
    image = found["spec"]["template"]["spec"]["containers"][0]["image"]
    assert image.endswith(NEW)
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"http://127.0.0.1:{unused_tcp_port}/readyz") as answer,
    ):
        assert answer.status == 200
    assert await client.get(Lease, Key("default", "certwright-manager"))
    assert await run.end(signal.SIGTERM) == 0
    assert "Traceback" not in run.text
    assert "rollout-deployment" in run.text  # the pod refresher has begun


async def test_a_folder_that_is_not_there(start: Callable[..., Awaitable[Any]]) -> None:
    run = await start("manager", "--bundles", "nowhere", "--kubeconfig", "kubeconfig")
    assert await run.end() == 2
    told = "no such folder; make one with: certwright bundle build --folder nowhere"
    assert run.lines == [f"error: --bundles nowhere: {told}"]
