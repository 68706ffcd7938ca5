"""`certwright resource-manager` as a process: what it keeps, what it serves, what it refuses."""

import asyncio
import signal
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from certwright.api.managedresources import ManagedResource
from certwright.apiserver import ApiServer
from certwright.client import Client, connect, until_served
from certwright.kube import JsonObject, Key, NotFound, Resource, crd_manifest
from certwright.kube.kinds import ConfigMap, Lease, Namespace, Secret
from certwright.managed import delete as delete_managed
from certwright.managed import wait_until_healthy
from certwright.testkit.builders import config_map, secret

WORDS = ("resource-manager", "--kubeconfig", "kubeconfig", "--metrics-bind-address", "127.0.0.1:0")


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    api = ApiServer()
    async with api.serve() as endpoint, Client(api.transport()) as client:
        endpoint.write_kubeconfig(tmp_path / "kubeconfig")
        await client.apply(crd_manifest(ManagedResource))
        await until_served(client, crd_manifest(ManagedResource))
        yield client


def managed(name: str, *secrets: str) -> JsonObject:
    return {
        "apiVersion": "resources.gardener.cloud/v1alpha1",
        "kind": "ManagedResource",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"secretRefs": [{"name": secret} for secret in secrets]},
    }


async def exists(client: Client, kind: Resource, name: str) -> Any:
    try:
        return await client.get(kind, Key("default", name))
    except NotFound:
        return None


async def test_all_of_it_in_one_process(
    start: Callable[..., Awaitable[Any]],
    client: Client,
    until: Callable[..., Awaitable[Any]],
    unused_tcp_port: int,
) -> None:
    settings = config_map("kept", {"k": "v"}, namespace="default")
    await client.create(secret("s", {"o.yaml": yaml.safe_dump(settings)}, namespace="default"))
    await client.create(managed("m", "s"))
    asking = secret(
        "t",
        namespace="default",
        labels={"resources.gardener.cloud/purpose": "token-requestor"},
        annotations={
            "serviceaccount.resources.gardener.cloud/name": "web",
            "serviceaccount.resources.gardener.cloud/namespace": "default",
            "serviceaccount.resources.gardener.cloud/inject-ca-bundle": "true",
        },
    )
    await client.create(asking)
    collectable = {"resources.gardener.cloud/garbage-collectable-reference": "true"}
    await client.create(config_map("litter", labels=collectable, namespace="default"))
    run = await start(
        *WORDS, "--token-requestor", "--garbage-collector-sync-period", "1h",
        "--garbage-collector-minimum-lifetime", "0s",
        "--health-bind-address", f"127.0.0.1:{unused_tcp_port}",
    )  # fmt: skip
    await until(lambda: exists(client, ConfigMap, "kept"))
    await client.delete(ConfigMap, Key("default", "kept"))
    await until(lambda: exists(client, ConfigMap, "kept"))

    async def has_token() -> bool:
        return {"token", "bundle.crt"} <= (
            (await exists(client, Secret, "t")).get("data") or {}
        ).keys()

    async def is_collected() -> bool:
        return await exists(client, ConfigMap, "litter") is None

    await until(has_token)
    await until(is_collected)
    async with aiohttp.ClientSession() as session:
        where = f"http://127.0.0.1:{unused_tcp_port}"
        async with session.get(f"{where}/healthz") as answer:
            assert answer.status == 200
        async with session.get(f"{where}/metrics") as answer:
            assert "managedresource" in await answer.text()
    assert await exists(client, Lease, "gardener-resource-manager")
    assert await run.end(signal.SIGTERM) == 0
    assert "Traceback" not in run.text


async def test_what_is_switched_off_does_not_work(
    start: Callable[..., Awaitable[Any]],
    client: Client,
    until: Callable[..., Awaitable[Any]],
    tmp_path: Path,
) -> None:
    (tmp_path / "config.yaml").write_text(
        "apiVersion: resourcemanager.config.gardener.cloud/v1alpha1\n"
        "kind: ResourceManagerConfiguration\n"
        "sourceClientConnection: {kubeconfig: kubeconfig}\n"
        "leaderElection: {leaderElect: false}\n"
        "server: {healthProbes: {port: 0}, metrics: {port: 0}}\n"
        "controllers: {managedResource: {enabled: false}, tokenRequestor: {enabled: true}}\n",
        "utf-8",
    )
    await client.create(secret("s", {}, namespace="default"))
    await client.create(managed("m", "s"))
    run = await start("resource-manager", "--config", "config.yaml")
    await run.line("token-requestor")
    assert await run.end(signal.SIGTERM) == 0
    assert "status" not in await client.get(ManagedResource.resource, Key("default", "m"))


async def test_mistakes_are_told_one_per_line(
    start: Callable[..., Awaitable[Any]], tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text(
        "apiVersion: resourcemanager.config.gardener.cloud/v1alpha1\n"
        "kind: ResourceManagerConfiguration\n"
        "controllers: {managedResource: {syncPeriod: 1s, concurrentSyncs: 0}}\n",
        "utf-8",
    )
    run = await start("resource-manager", "--config", "config.yaml", "--health-sync-period", "2s")
    assert await run.end() == 2
    assert len(run.lines) == 3
    assert all(line.startswith("error: ") for line in run.lines)
    assert "--health-sync-period (controllers.health.syncPeriod)" in run.text


async def test_an_id_that_is_required_and_missing_ends_it(
    start: Callable[..., Awaitable[Any]], client: Client
) -> None:
    run = await start(*WORDS, "--cluster-id", "<cluster>")
    assert await run.end() == 2
    assert (
        "error: controllers.clusterID: the cluster id is <cluster>, but the ConfigMap" in run.text
    )


async def test_an_address_in_use_is_named(
    start: Callable[..., Awaitable[Any]], client: Client, unused_tcp_port: int
) -> None:
    async def nobody(_reader: Any, writer: Any) -> None:
        writer.close()

    taken = await asyncio.start_server(nobody, "127.0.0.1", unused_tcp_port)
    async with taken:
        address = f"127.0.0.1:{unused_tcp_port}"
        run = await start(*WORDS, "--health-bind-address", address)
        assert await run.end() == 2
    assert f"error: cannot listen on {address}: Address already in use; choose" in run.text


async def test_the_definition_is_printed(start: Callable[..., Awaitable[Any]]) -> None:
    run = await start("resource-manager", "--print-crds")
    assert await run.end() == 0
    crd = yaml.safe_load(run.text)
    assert crd["metadata"]["name"] == "managedresources.resources.gardener.cloud"


@pytest.mark.real
async def test_the_same_on_the_real_control_plane(
    start: Callable[..., Awaitable[Any]],
    until: Callable[..., Awaitable[Any]],
    control_plane_kubeconfig: Path,
) -> None:
    namespace = f"certwright-manager-{uuid.uuid4().hex[:8]}"
    async with connect(kubeconfig=control_plane_kubeconfig) as client:
        await client.create(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        )
        try:
            await client.apply(crd_manifest(ManagedResource))
            await until_served(client, crd_manifest(ManagedResource))
            kept = config_map("kept", {"k": "v"}, namespace=namespace)
            await client.create(secret("s", {"o.yaml": yaml.safe_dump(kept)}, namespace=namespace))
            wanted = managed("m", "s")
            wanted["metadata"]["namespace"] = namespace
            await client.create(wanted)
            run = await start(
                "resource-manager", "--kubeconfig", control_plane_kubeconfig,
                "--namespace", namespace, "--leader-election=false", "--token-requestor",
                "--metrics-bind-address", "127.0.0.1:0", "--health-bind-address", "127.0.0.1:0",
            )  # fmt: skip
            key = Key(namespace, "m")
            await wait_until_healthy(client, key, rolled_out=True)
            await delete_managed(client, key)
            with pytest.raises(NotFound):
                await client.get(ConfigMap, Key(namespace, "kept"))
            assert await run.end(signal.SIGTERM) == 0
        finally:
            await client.delete(Namespace, Key("", namespace))
