"""kubectl and played pods: rollouts are watched, broken and undone as on a cluster."""

import json
import subprocess
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.integration.kubectl.conftest import Kubectl

pytestmark = [pytest.mark.kubectl, pytest.mark.timeout(120)]


@pytest.fixture
def kubectl(played: Kubectl, request: pytest.FixtureRequest) -> Kubectl:
    name = request.node.name.replace("_", "-").removeprefix("test-")[:50]
    played("create", "namespace", name)
    return replace(played, namespace=name)


def images(kubectl: Kubectl) -> str:
    return kubectl("get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}")


def test_a_rollout_is_undone(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx:1", "--replicas=2")
    done = kubectl("rollout", "status", "deploy/web", "--timeout=50s")
    assert done.endswith('deployment "web" successfully rolled out\n')
    kubectl("set", "image", "deploy/web", "nginx=nginx:2")
    kubectl("rollout", "status", "deploy/web", "--timeout=50s")
    kubectl("wait", "pods", "--for=jsonpath={.spec.containers[0].image}=nginx:2", "--all")
    assert images(kubectl) == "nginx:2 nginx:2"
    history = kubectl("rollout", "history", "deploy/web").splitlines()
    assert [line.split()[0] for line in history[2:4]] == ["1", "2"]
    kubectl("rollout", "undo", "deploy/web")
    kubectl("rollout", "status", "deploy/web", "--timeout=50s")
    assert "nginx:1" in images(kubectl)
    listed = kubectl("get", "replicasets", "--no-headers").splitlines()
    assert sorted(line.split()[1] for line in listed) == ["0", "2"]


def test_a_rollout_that_fails_says_so(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx")
    kubectl("rollout", "status", "deploy/web", "--timeout=50s")
    broken = {"annotations": {"testkit.certwright.dev/workload": "pull=error"}}
    spec = {"progressDeadlineSeconds": 1, "template": {"metadata": broken}}
    kubectl("patch", "deploy", "web", "--patch", json.dumps({"spec": spec}))
    complaint = kubectl.refused("rollout", "status", "deploy/web", "--timeout=50s")
    assert "exceeded its progress deadline" in complaint
    assert "ErrImagePull" in kubectl("get", "pods")


def test_a_watch_shows_pods_come_up(kubectl: Kubectl) -> None:
    where = ("-n", kubectl.namespace)
    command = [kubectl.binary, *where, "get", "pods", "-w", "--no-headers"]
    kubectl("run", "first", "--image=nginx")
    with subprocess.Popen(command, env=kubectl.environment, stdout=subprocess.PIPE) as watching:
        lines = cast("Any", watching.stdout)
        assert lines.readline().decode().split()[0] == "first"  # from here on nothing is missed
        kubectl("create", "deployment", "web", "--image=nginx")
        states: list[str] = []
        while not states or states[-1] != "Running":
            name, _, state, *_ = lines.readline().decode().split()
            states += [state] if name.startswith("web-") else []
        watching.terminate()
    assert states[0] == "Pending"


def test_other_workloads_and_endpoints_are_shown(kubectl: Kubectl) -> None:
    kubectl("create", "job", "once", "--image=busybox")
    kubectl("wait", "job/once", "--for=condition=Complete", "--timeout=50s")
    assert kubectl("get", "pods", "--no-headers").split()[1:3] == ["0/1", "Completed"]
    kubectl("create", "deployment", "web", "--image=nginx", "--port=80")
    kubectl("expose", "deployment", "web")
    kubectl("rollout", "status", "deploy/web", "--timeout=50s")
    kubectl("wait", "endpointslice", "-l", "kubernetes.io/service-name=web", "--for=create")
    address = kubectl("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[0].status.podIP}")
    assert kubectl("get", "nodes", "--no-headers").split()[:2] == ["played", "Ready"]
    described = kubectl("describe", "svc", "web")
    assert f"{address}:80" in described


def test_who_may_delete_pods(kubectl: Kubectl) -> None:
    answer = kubectl.ask("auth", "can-i", "delete", "pods", "--as", "jane")
    assert (answer.code, answer.out) == (1, "no\n")
    kubectl("create", "rolebinding", "jane", "--clusterrole=edit", "--user=jane")
    assert kubectl("auth", "can-i", "delete", "pods", "--as", "jane") == "yes\n"
