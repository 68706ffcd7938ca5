"""The real kubectl against the embedded server."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from certwright.testkit.apiserver import ApiServer

KUBECTL = shutil.which("kubectl")

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed"),
]

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: "nginx:1", ports: [{containerPort: 80}]}]}
"""


class Kubectl:
    """Runs kubectl; *ok* says whether it must succeed."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment

    async def __call__(self, *words: str, ok: bool = True, stdin: str = "", **env: str) -> str:
        process = await asyncio.create_subprocess_exec(
            KUBECTL, *words,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT, env=self.environment | env, cwd=self.folder,
        )  # fmt: skip
        output, _ = await process.communicate(stdin.encode())
        assert (process.returncode == 0) is ok, output.decode()
        return output.decode()


@pytest.fixture
async def kubectl(tmp_path):
    async with ApiServer(furnish_namespaces=True).serve() as endpoint:
        config = tmp_path / "kubeconfig"
        endpoint.write_kubeconfig(config)
        home = tmp_path / "home"
        environment = {"PATH": os.environ["PATH"], "HOME": str(home), "KUBECONFIG": str(config)}
        yield Kubectl(tmp_path, environment)


async def test_applying_on_the_client(kubectl):
    assert await kubectl("apply", "-f", "-", stdin=DEPLOYMENT) == "deployment.apps/web created\n"
    assert await kubectl("apply", "-f", "-", stdin=DEPLOYMENT) == "deployment.apps/web unchanged\n"
    changed = DEPLOYMENT.replace("replicas: 2", "replicas: 3")
    assert "+  replicas: 3" in await kubectl("diff", "-f", "-", stdin=changed, ok=False)
    assert await kubectl("apply", "-f", "-", stdin=changed) == "deployment.apps/web configured\n"
    assert "web    0/3     0            0" in await kubectl("get", "deploy")


async def test_applying_on_the_server(kubectl):
    apply = ("apply", "--server-side", "-f", "-")
    await kubectl(*apply, stdin=DEPLOYMENT)
    changed = DEPLOYMENT.replace("replicas: 2", "replicas: 3")

    refused = await kubectl(*apply, "--field-manager=other", stdin=changed, ok=False)
    assert 'conflict with "kubectl": .spec.replicas' in refused
    await kubectl(*apply, "--field-manager=other", "--force-conflicts", stdin=changed)

    assert await kubectl("get", "deploy", "web", "-o", "jsonpath={.spec.replicas}") == "3"


async def test_changing_what_exists(kubectl):
    await kubectl("apply", "-f", "-", stdin=DEPLOYMENT)

    await kubectl("label", "deploy", "web", "tier=front")
    await kubectl("annotate", "deploy", "web", "note=x")
    await kubectl("scale", "deploy", "web", "--replicas=5")
    await kubectl("set", "image", "deploy/web", "c=nginx:2")
    await kubectl("patch", "deploy", "web", "-p", '{"spec":{"paused":true}}')
    patch = '[{"op":"remove","path":"/spec/paused"}]'
    await kubectl("patch", "deploy", "web", "--type=json", "-p", patch)
    await kubectl("rollout", "restart", "deploy", "web")
    await kubectl("edit", "deploy", "web", EDITOR="sed -i s/nginx:2/nginx:3/")

    template = "{.metadata.labels.tier} {.metadata.annotations.note} {.spec.replicas} {.spec.template.spec.containers[0].image}"
    assert (
        await kubectl("get", "deploy", "web", "-o", f"jsonpath={template}") == "front x 5 nginx:3"
    )
    assert "timed out" in await kubectl("rollout", "status", "deploy/web", "--timeout=1s", ok=False)


async def test_looking(kubectl):
    await kubectl("apply", "-f", "-", stdin=DEPLOYMENT)

    assert "deployments                       deploy       apps/v1" in await kubectl(
        "api-resources"
    )
    described = await kubectl("describe", "deploy", "web")
    assert "Image:         nginx:1" in described
    assert "FIELD: strategy <DeploymentStrategy>" in await kubectl(
        "explain", "deploy.spec.strategy"
    )
    assert "deployment.apps/web" in await kubectl("get", "all")
    assert "No resources found" in await kubectl("get", "events")
    assert "Username    kubernetes-admin" in await kubectl("auth", "whoami")
    assert "yes" in await kubectl("auth", "can-i", "get", "pods")


async def test_creating_without_manifests(kubectl):
    """These commands send protobuf."""
    await kubectl("create", "secret", "generic", "s", "--from-literal=password=x")
    await kubectl("create", "namespace", "n")
    await kubectl("create", "deployment", "d", "--image=nginx", "--replicas=2", "--port=80")
    await kubectl("create", "ingress", "i", "--rule=a.b/c=svc:80")
    await kubectl("create", "pdb", "p", "--selector=a=b", "--min-available=50%")
    await kubectl("create", "quota", "q", "--hard=cpu=1,pods=2")
    await kubectl("create", "rolebinding", "rb", "--clusterrole=view", "--serviceaccount=n:default")

    assert (
        await kubectl("get", "secret", "s", "-o", "jsonpath={.data.password} {.type}")
        == "eA== Opaque"
    )
    assert await kubectl("get", "deploy", "d", "-o", "jsonpath={.spec.replicas}") == "2"
    assert await kubectl("get", "pdb", "p", "-o", "jsonpath={.spec.minAvailable}") == "50%"
    assert (
        await kubectl("get", "quota", "q", "-o", "jsonpath={.spec.hard}")
        == '{"cpu":"1","pods":"2"}'
    )
    assert (await kubectl("create", "token", "default")).startswith("certwright-")


async def test_waiting_and_deleting(kubectl):
    await kubectl("create", "configmap", "c", "--from-literal=a=b")

    await kubectl("wait", "configmap/c", "--for=jsonpath={.data.a}=b", "--timeout=5s")
    await kubectl("delete", "configmap", "c")
    await kubectl("create", "namespace", "n")
    await kubectl("delete", "namespace", "n")

    assert "NotFound" in await kubectl("get", "configmap", "c", ok=False)
    assert "NotFound" in await kubectl("get", "namespace", "n", ok=False)


async def test_custom_resources(kubectl, crd, widget):
    await kubectl("apply", "-f", "-", stdin=json.dumps(crd()))
    await kubectl("wait", "crd/widgets.example.com", "--for=condition=established", "--timeout=5s")
    await kubectl("apply", "-f", "-", stdin=json.dumps(widget("a", size=3)))

    assert (await kubectl("get", "wd")).splitlines()[0].split() == ["NAME", "SIZE", "AGE"]
    await kubectl("scale", "widget/a", "--replicas=4")
    assert await kubectl("get", "widget", "a", "-o", "jsonpath={.spec.size}") == "4"
    assert "size\t<integer> -required-" in await kubectl("explain", "widget.spec")
    bad = {**widget("b"), "spec": {"size": 1, "bogus": 1}}
    refused = await kubectl("apply", "-f", "-", stdin=json.dumps(bad), ok=False)
    assert 'unknown field "spec.bogus"' in refused
