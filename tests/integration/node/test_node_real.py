"""A real control plane whose pods run: workloads, Services, logs and identities."""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from certwright.kube import JsonObject, Key
from certwright.kube.kinds import Deployment, Pod
from certwright.testkit.controlplane import find_assets
from certwright.testkit.node import NodeSettings, Program
from certwright.testkit.node.plane import PlaneWithNode, control_plane_with_node

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

SECONDS = 60


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cluster_with_node() -> AsyncIterator[PlaneWithNode]:
    """Give a control plane of its own, with a node and a kubectl image."""
    assets = find_assets()
    assert assets is not None
    images = {"kubectl:*": Program((str(assets.kubectl),))}
    settings = NodeSettings(probe_scale=0.1)
    async with control_plane_with_node(images=images, settings=settings) as running:
        yield running


async def kubectl(running: PlaneWithNode, *words: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        str(running.plane.assets.kubectl), "--kubeconfig", str(running.plane.kubeconfig), *words,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        env={"HOME": str(running.plane.folder), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


async def until_printed(running: PlaneWithNode, part: str, *words: str) -> str:
    """Return what kubectl prints, as soon as it succeeds and that contains a text."""
    output = ""
    try:
        async with asyncio.timeout(SECONDS):
            while True:
                code, output = await kubectl(running, *words)
                if code == 0 and part in output:
                    return output
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise AssertionError(f"kubectl {' '.join(words)}: {output}") from None


def deployment(name: str, container: JsonObject, replicas: int = 1) -> JsonObject:
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def service(name: str, port: int, target: str) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"app": name}, "ports": [{"port": port, "targetPort": target}]},
    }


WEB = {
    "name": "web",
    "image": "stub:1",
    "ports": [{"name": "http", "containerPort": 8080}],
    "readinessProbe": {"httpGet": {"port": "http", "path": "/"}, "periodSeconds": 1},
}


async def test_a_deployment_rolls_out_and_its_service_is_reached(
    cluster_with_node: PlaneWithNode,
) -> None:
    client = cluster_with_node.client
    await client.create(deployment("web", WEB, replicas=2))
    await client.create(service("web", 80, "http"))
    code, output = await kubectl(
        cluster_with_node, "rollout", "status", "deployment/web", f"--timeout={SECONDS}s"
    )
    assert code == 0, output
    path = "/api/v1/namespaces/default/services/web:80/proxy/"
    assert await until_printed(cluster_with_node, "ok", "get", "--raw", path) == "ok\n"
    changed = {**WEB, "env": [{"name": "VERSION", "value": "2"}]}
    await client.apply(deployment("web", changed, replicas=2))
    code, output = await kubectl(
        cluster_with_node, "rollout", "status", "deployment/web", f"--timeout={SECONDS}s"
    )
    assert code == 0, output
    listed = await until_printed(cluster_with_node, "web-", "get", "pods", "-l", "app=web")
    assert listed.count("1/1     Running") == 2
    await client.delete(Deployment, Key("default", "web"))


async def test_logs_are_shown(cluster_with_node: PlaneWithNode) -> None:
    script = "echo one; echo two; echo three; sleep 1000"
    container = {"name": "main", "image": "busybox:1", "command": ["sh", "-c", script]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "talker", "namespace": "default"},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1},
    }
    await cluster_with_node.client.create(pod)
    assert await until_printed(cluster_with_node, "three", "logs", "talker") == "one\ntwo\nthree\n"
    assert await kubectl(cluster_with_node, "logs", "talker", "--tail=1") == (0, "three\n")
    code, output = await kubectl(cluster_with_node, "logs", "talker", "--previous")
    assert code == 1
    assert 'previous terminated container "main" in pod "talker" not found' in output
    await cluster_with_node.client.delete(Pod, Key("default", "talker"))


async def test_a_program_is_the_serviceaccount_of_its_pod(
    cluster_with_node: PlaneWithNode,
) -> None:
    container = {"name": "main", "image": "kubectl:1", "args": ["auth", "whoami", "-o", "yaml"]}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "who", "namespace": "default"},
        "spec": {"containers": [container], "restartPolicy": "Never"},
    }
    created = await cluster_with_node.client.create(pod)
    output = await until_printed(cluster_with_node, "username", "logs", "who")
    assert "username: system:serviceaccount:default:default" in output
    assert "authentication.kubernetes.io/pod-name" in output
    assert created["metadata"]["uid"] in output
    await cluster_with_node.client.delete(Pod, Key("default", "who"))
