"""The embedded server with a node: identities, logs and Services of pods that run."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from tests.support.node.rig import QUICK, PodRig

from certwright.apiserver import ApiServer
from certwright.client import Request, connect
from certwright.kube import BadRequest, Key
from certwright.kube.kinds import Pod
from certwright.testkit.node import Program
from certwright.testkit.node.embedded import ServerWithNode, server_with_node

PYTHON = Program((sys.executable, "-c"))
WHO = """
import asyncio
from certwright.client import connect
async def main():
    async with connect() as client:
        review = await client.create({
            "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview", "metadata": {}})
        user = review["status"]["userInfo"]
        print(user["username"], user["extra"]["authentication.kubernetes.io/pod-name"])
asyncio.run(main())
"""


@pytest_asyncio.fixture
async def running() -> AsyncIterator[ServerWithNode]:
    server = ApiServer(namespace_defaults=True)
    images = {"python:*": PYTHON}
    async with server_with_node(server, images=images, settings=QUICK) as made:
        yield made


async def test_a_program_is_the_serviceaccount_of_its_pod(running: ServerWithNode) -> None:
    rig = PodRig(running.client, "default", running.node)
    metadata = {"name": "robot", "namespace": "default"}
    await rig.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    await rig.run(
        {"image": "python:3", "args": [WHO]}, serviceAccountName="robot", restartPolicy="Never"
    )
    await rig.prints("system:serviceaccount:default:robot ['p']")


async def test_the_token_of_a_pod_ends_with_it(running: ServerWithNode) -> None:
    rig = PodRig(running.client, "default", running.node)
    await rig.run({"command": ["sleep", "1000"]}, serviceAccountName="default")
    pod = await rig.ready()
    config = running.node.pods[pod["metadata"]["uid"]].folder / "kubeconfig"
    token = next(config.parent.glob("volumes/kube-api-access-*/token")).read_text("utf-8")
    assert await authenticated(rig, token)
    await rig.client.delete(Pod, rig.key("p"), grace_seconds=0)
    assert not await authenticated(rig, token)


async def authenticated(rig: PodRig, token: str) -> bool:
    review = await rig.create({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "metadata": {},
        "spec": {"token": token},
    })  # fmt: skip
    return bool(review["status"].get("authenticated"))


async def test_logs_are_read_and_followed(running: ServerWithNode, tmp_path: Path) -> None:
    rig = PodRig(running.client, "default", running.node)
    script = "echo one; echo two; until test -e /v/go; do sleep 0.05; done; echo three"
    await rig.run(
        {"command": ["sh", "-c", script], "volumeMounts": [{"name": "v", "mountPath": "/v"}]},
        volumes=[{"name": "v", "emptyDir": {}}],
        restartPolicy="Never",
    )
    await rig.prints("one", "two")
    path = "/api/v1/namespaces/default/pods/p/log"
    running.endpoint.write_kubeconfig(tmp_path / "kubeconfig")
    async with connect(kubeconfig=tmp_path / "kubeconfig") as client:
        assert (await client.send(Request("get", "GET", path))).body == b"one\ntwo\n"
        asked = Request("get", "GET", path, query=(("tailLines", "1"),))
        assert (await client.send(asked)).body == b"two\n"
        asked = Request("get", "GET", path, query=(("follow", "true"),))
        uid = (await rig.pod())["metadata"]["uid"]
        (running.node.pods[uid].folder / "volumes" / "v" / "go").touch()
        async with asyncio.timeout(10), client.transport.stream(asked) as stream:
            assert b"".join([chunk async for chunk in stream.chunks()]) == b"one\ntwo\nthree\n"
        with pytest.raises(BadRequest, match='previous terminated container "main"'):
            await client.send(Request("get", "GET", path, query=(("previous", "true"),)))
        with pytest.raises(BadRequest, match="container other is not valid for pod p"):
            await client.send(Request("get", "GET", path, query=(("container", "other"),)))


async def test_a_container_that_waits_has_no_log(running: ServerWithNode) -> None:
    rig = PodRig(running.client, "default", running.node)
    await rig.run({"image": "unknown:1"})
    await rig.event("Failed")
    path = "/api/v1/namespaces/default/pods/p/log"
    with pytest.raises(BadRequest, match='container "main" in pod "p" is waiting to start'):
        await rig.client.send(Request("get", "GET", path))


async def test_ports_of_pods_are_known_to_the_server(running: ServerWithNode) -> None:
    rig = PodRig(running.client, "default", running.node)
    probe = {"tcpSocket": {"port": 8080}, "periodSeconds": 1}
    ports = [{"containerPort": 8080}]
    await rig.run({"image": "stub:1", "ports": ports, "readinessProbe": probe})
    pod = await rig.ready()
    table = running.server.services.ports
    host, port = table[pod["status"]["podIP"], 8080]
    _, writer = await asyncio.open_connection(host, port)
    writer.close()
    await rig.client.delete(Pod, Key("default", "p"), grace_seconds=0)
    async with asyncio.timeout(10):
        while table:
            await asyncio.sleep(0.02)
