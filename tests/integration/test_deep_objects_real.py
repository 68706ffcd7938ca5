"""Every kind of process beside objects nested as deeply as the real API server stores them."""

import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from tests.component.operators.managedresource.conftest import Keeping
from tests.support.issuer.issuer_world import World

from certwright.client import BadResponse, Request, request
from certwright.kube import BadRequest, JsonObject, Key, Resource
from certwright.kube.kinds import ConfigMap, ControllerRevision, Secret, ServiceAccount
from certwright.managed.unique import COLLECTABLE
from certwright.operators.garbagecollector import CollectorSettings, garbage_collector
from certwright.operators.tokenrequestor import token_requestor
from certwright.operators.tokenrequestor.request import ACCOUNT_NAME, ACCOUNT_NAMESPACE, PURPOSE
from certwright.runtime import DONE, Context, Controller, Operator, Outcome, select
from certwright.testkit import RealCluster
from certwright.testkit.builders import config_map, secret

pytestmark = pytest.mark.real

LEVELS = [1_200, 9_990]
"""The server takes bodies of 10,000 levels, of which some are around the tower."""


def tower(levels: int) -> bytes:
    return b'{"f:x":' * (levels - 1) + b"{}" + b"}" * (levels - 1)


async def deepen(cluster: RealCluster, kind: Resource, name: str, levels: int) -> None:
    """Let an object have deep managedFields."""
    obj = await cluster.get(kind, name)
    fields = {
        "manager": "deep",
        "operation": "Update",
        "apiVersion": kind.api_version,
        "time": "2026-01-01T00:00:00Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": "@",
    }
    obj["metadata"]["managedFields"] = [fields]
    asked = request.update(kind, obj, request.WriteOptions("deep"))
    assert asked.body is not None
    await cluster.client.send(replace(asked, body=asked.body.replace(b'"@"', tower(levels))))
    raw = await raw_of(cluster, kind, name)
    assert raw.count(b'"f:x"') >= levels - 1, "the server did not store it"


async def raw_of(cluster: RealCluster, kind: Resource, name: str) -> bytes:
    response = await cluster.client.transport.send(request.get(kind, cluster.key(kind, name)))
    return response.body


async def create_raw(cluster: RealCluster, kind: Resource, body: bytes) -> None:
    """Create an object that only the server can read."""
    headers = (("content-type", "application/json"), ("accept", "application/json"))
    path = f"{kind.path(cluster.namespace)}"
    asked = Request("create", "POST", path, (), headers, body, kind)
    inner: Any = cluster.client.transport
    response = await inner._inner.send(asked)  # not noted: its answer cannot be decoded
    assert response.status == 201, response.body[:500]


async def deep_neighbours(cluster: RealCluster, levels: int) -> None:
    """Create objects that every process meets: deep in managedFields, and deep all over."""
    for kind in (Secret, ConfigMap):
        make = secret if kind == Secret else config_map
        await cluster.create(make("deep", {"k": "v"}, labels={COLLECTABLE: "true"}))
        await deepen(cluster, kind, "deep", levels)


@pytest.mark.parametrize("levels", LEVELS)
async def test_the_client_reads_what_can_be_read(real_cluster: RealCluster, levels: int) -> None:
    await deep_neighbours(real_cluster, levels)
    assert (await real_cluster.get(Secret, "deep"))["data"] == {"k": "dg=="}
    assert await real_cluster.names(Secret) == {"deep"}
    deep = b'{"metadata":{"name":"r"},"revision":1,"data":%b}' % tower(levels)
    await create_raw(real_cluster, ControllerRevision, deep)
    with pytest.raises(BadResponse, match="nested more than 200 levels deep"):
        await real_cluster.get(ControllerRevision, "r")
    with pytest.raises(BadResponse, match=f"{real_cluster.namespace}/r is nested more than 200"):
        await real_cluster.list(ControllerRevision)


async def test_deeper_bodies_are_refused_as_by_the_embedded_server(
    real_cluster: RealCluster,
) -> None:
    deep = b'{"metadata":{"name":"r"},"revision":1,"data":%b}' % tower(10_001)
    headers = (("content-type", "application/json"), ("accept", "application/json"))
    path = ControllerRevision.path(real_cluster.namespace)
    asked = Request("create", "POST", path, (), headers, deep, ControllerRevision)
    with pytest.raises(BadRequest, match="exceeded max depth"):
        await real_cluster.client.send(asked)


@pytest.mark.parametrize("levels", LEVELS)
async def test_a_plain_operator(real_cluster: RealCluster, levels: int) -> None:
    seen: dict[str, JsonObject] = {}

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        found = ctx.get(ConfigMap, key)
        if found is not None:
            seen[key.name] = found
        return DONE

    here = real_cluster.namespace
    controller = Controller(select(ConfigMap, namespace=here), reconcile, name="plain")
    revisions = Controller(
        select(ControllerRevision, namespace=here), _needs_data, name="revisions"
    )
    await deep_neighbours(real_cluster, levels)
    deep = b'{"metadata":{"name":"r"},"revision":1,"data":%b}' % tower(levels)
    await create_raw(real_cluster, ControllerRevision, deep)
    await real_cluster.settle(controller, revisions)
    assert seen["deep"]["data"] == {"k": "v"}
    await real_cluster.create(config_map("late", {"k": "1"}))
    await real_cluster.settle()
    await deepen(real_cluster, ConfigMap, "late", levels)
    await real_cluster.patch(ConfigMap, "late", {"data": {"k": "2"}})
    await real_cluster.settle()
    assert seen["late"]["data"] == {"k": "2"}


async def _needs_data(ctx: Context, key: Key) -> Outcome:
    assert ctx.get(ControllerRevision, key) is not None
    return DONE


@pytest.mark.parametrize("levels", LEVELS)
async def test_the_resource_operator(real_cluster: RealCluster, levels: int) -> None:
    keeping = Keeping(real_cluster)
    await deep_neighbours(real_cluster, levels)
    await keeping.declare("app", config_map("kept", {"k": "v"}), secret("hidden", {"p": "x"}))
    await deepen(real_cluster, Secret, "app", levels)
    await deepen(real_cluster, keeping.kind, "app", levels)
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "kept") == {"kept"}
    await deepen(real_cluster, ConfigMap, "kept", levels)
    await real_cluster.patch(ConfigMap, "kept", {"data": {"k": "changed"}})
    await keeping.settle()
    assert (await real_cluster.get(ConfigMap, "kept"))["data"] == {"k": "v"}
    await keeping.restart()
    assert await keeping.conditions("app") == await keeping.conditions("app")
    await real_cluster.delete(keeping.kind, "app")
    await keeping.settle()
    assert await keeping.exists(ConfigMap, "kept") == set()


@pytest.mark.parametrize("levels", LEVELS)
async def test_the_garbage_collector(real_cluster: RealCluster, levels: int) -> None:
    await deep_neighbours(real_cluster, levels)
    settings = CollectorSettings(
        enabled=True,
        minimum_lifetime=timedelta(),
        namespaces=(real_cluster.namespace,),
        home=Key(real_cluster.namespace, "gc"),
    )
    await real_cluster.settle(garbage_collector(settings))
    assert "deep" not in await real_cluster.names(Secret)
    # What cannot be read may use anything in its namespace.
    await real_cluster.create(secret("used", {"k": "v"}, labels={COLLECTABLE: "true"}))
    deep = b'{"metadata":{"name":"r"},"revision":1,"data":%b}' % tower(levels)
    await create_raw(real_cluster, ControllerRevision, deep)
    await real_cluster.stop()
    again = replace(settings, home=Key(real_cluster.namespace, "gc2"))
    await real_cluster.settle(garbage_collector(again))
    assert "used" in await real_cluster.names(Secret)


@pytest.mark.parametrize("levels", LEVELS)
async def test_the_token_requestor(real_cluster: RealCluster, levels: int) -> None:
    here = real_cluster.namespace
    await deep_neighbours(real_cluster, levels)
    asks = {ACCOUNT_NAME: "web", ACCOUNT_NAMESPACE: here}
    labels = {PURPOSE: "token-requestor"}
    await real_cluster.create(secret("s", labels=labels, annotations=asks))
    await deepen(real_cluster, Secret, "s", levels)
    operator: Operator = token_requestor(ca_bundle=lambda: b"THE CA", namespaces=(here,))
    await real_cluster.settle(operator)
    assert "token" in (await real_cluster.get(Secret, "s"))["data"]
    await deepen(real_cluster, ServiceAccount, "web", levels)
    await real_cluster.restart()
    assert "token" in (await real_cluster.get(Secret, "s"))["data"]


@pytest.mark.parametrize("levels", LEVELS)
async def test_an_issuer_app(real_cluster: RealCluster, levels: int) -> None:
    world = World(real_cluster)
    await deep_neighbours(real_cluster, levels)
    await world.issuer()
    await deepen(real_cluster, world.namespaced_kind.resource, "issuer-1", levels)
    await world.settle()
    assert (await world.issuer_ready()).status == "True"
    await world.request()
    await world.settle()
    assert (await world.ready()).status == "True"


@pytest.mark.parametrize("levels", LEVELS)
async def test_commands(
    real_cluster: RealCluster,
    control_plane_kubeconfig: Path,
    tmp_path: Path,
    levels: int,
) -> None:
    await deep_neighbours(real_cluster, levels)
    file = tmp_path / "app.yaml"
    wanted = [config_map("deep", {"k": "2"}), secret("deep", {"k": "2"})]
    file.write_text(yaml.safe_dump_all(wanted), "utf-8")
    for words in (["diff"], ["apply", "--yes"], ["diff"]):
        await run(
            control_plane_kubeconfig, *words[:1], "-f", str(file), "-n", real_cluster.namespace
        )
    assert (await real_cluster.get(ConfigMap, "deep"))["data"] == {"k": "2"}


async def run(kubeconfig: Path, *words: str) -> str:
    import asyncio  # noqa: PLC0415 - a process of its own

    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "from certwright.cli.main import main; main()", words[0], "-i", "app", *words[1:],
        env={"KUBECONFIG": str(kubeconfig), "PATH": "/usr/bin:/bin"},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    out, _ = await process.communicate()
    assert process.returncode in {0, 1}, out.decode()
    assert b"Traceback" not in out, out.decode()
    return out.decode()


def test_the_tower_is_as_deep_as_it_says() -> None:
    assert orjson.loads(tower(3)) == {"f:x": {"f:x": {}}}
