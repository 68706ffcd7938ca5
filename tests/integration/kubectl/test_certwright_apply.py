"""`certwright apply` goes on where the real kubectl left off."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
import yaml
from tests.integration.kubectl.conftest import SECONDS, Answer, Kubectl

from certwright.apply.engine.declared import LAST_APPLIED
from certwright.kube import JsonObject

pytestmark = pytest.mark.kubectl

MAIN = "from certwright.cli.main import main; main()"


def certwright(kubectl: Kubectl, *words: str, stdin: JsonObject | None = None) -> Answer:
    """Run a command of ours in the namespace of a kubectl."""
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *words, "-i", "app", "-n", kubectl.namespace, "-o", "json"],
        input=yaml.safe_dump(stdin) if stdin else "",
        capture_output=True, text=True, check=False, timeout=SECONDS,
        env=os.environ | {"KUBECONFIG": str(kubectl.kubeconfig)},
    )  # fmt: skip
    return Answer(done.returncode, done.stdout, done.stderr)


def apply(kubectl: Kubectl, obj: JsonObject, *words: str) -> Answer:
    return certwright(kubectl, "apply", "-f", "-", *words, stdin=obj)


def manifest(kubectl: Kubectl, name: str) -> Any:
    """Return the first object of a file."""
    return next(yaml.safe_load_all((kubectl.manifests / name).read_text("utf-8")))


def live(kubectl: Kubectl, *what: str) -> Any:
    return json.loads(kubectl("get", *what, "-o", "json", "--show-managed-fields"))


def managers(obj: JsonObject) -> set[tuple[str, str]]:
    """Return who holds fields, controllers that write a status aside."""
    entries = obj["metadata"]["managedFields"]
    return {(e["manager"], e["operation"]) for e in entries if not e.get("subresource")}


@pytest.mark.parametrize(
    "words",
    [("apply",), ("create", "--save-config"), ("apply", "--field-manager=someone")],
    ids=["apply", "create", "other name"],
)
def test_what_kubectl_applied_is_taken_over(kubectl: Kubectl, words: tuple[str, ...]) -> None:
    kubectl(*words, "-f", "config.yaml")
    wanted = manifest(kubectl, "config.yaml")
    data = wanted["data"]
    data.pop("size")
    data["new"] = "1"
    done = apply(kubectl, wanted)
    assert done.code == 0, done.out + done.err
    found = live(kubectl, "configmap", wanted["metadata"]["name"])
    assert found["data"] == data
    assert LAST_APPLIED not in found["metadata"]["annotations"]
    assert managers(found) == {("certwright-cli", "Apply")}
    again = apply(kubectl, wanted)
    assert json.loads(again.out)["summary"] == "1 unchanged"


def test_what_was_scaled_is_a_conflict_until_it_is_forced(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "web.yaml")
    kubectl("scale", "deployment/web", "--replicas=4")
    wanted = manifest(kubectl, "web.yaml")
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "web:taken-over"
    done = apply(kubectl, wanted)
    assert done.code == 2
    (change,) = json.loads(done.out)["changes"]
    assert change["conflicts"] == [
        {"path": ".spec.replicas", "manager": "kubectl", "subresource": "scale"}
    ]
    before = live(kubectl, "deployment", "web")
    assert ("kubectl-client-side-apply", "Update") in managers(before)
    assert apply(kubectl, wanted, "--force-conflicts").code == 0
    after = live(kubectl, "deployment", "web")
    assert after["spec"]["replicas"] == wanted["spec"]["replicas"]
    assert ("kubectl-client-side-apply", "Update") not in managers(after)


def test_what_was_edited_is_a_conflict(kubectl: Kubectl) -> None:
    wanted = manifest(kubectl, "config.yaml")
    name = wanted["metadata"]["name"]
    assert apply(kubectl, wanted).code == 0
    kubectl("patch", "configmap", name, "-p", '{"data": {"colour": "edited"}}')
    (change,) = json.loads(apply(kubectl, wanted).out)["changes"]
    assert change["conflicts"] == [{"path": ".data.colour", "manager": "kubectl-patch"}]


def test_one_deletion_is_enough(kubectl: Kubectl) -> None:
    assert apply(kubectl, manifest(kubectl, "web.yaml")).code == 0
    kubectl("rollout", "status", "deployment/web", "--timeout=50s")
    done = certwright(kubectl, "delete")
    assert done.code == 0, done.out + done.err
    assert "NotFound" in kubectl.refused("get", "deployment", "web")
    assert json.loads(certwright(kubectl, "delete").out)["summary"] == "nothing to delete"
