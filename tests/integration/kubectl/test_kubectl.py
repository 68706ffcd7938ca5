"""What people do with kubectl, on any kubectl of this machine; the transcripts hold the details."""

import json
import subprocess
from typing import Any, cast

import pytest
import yaml
from tests.integration.kubectl.conftest import Kubectl

from certwright.kube import JsonObject

pytestmark = pytest.mark.kubectl


def manifest(kubectl: Kubectl, name: str) -> JsonObject:
    found: JsonObject = yaml.safe_load((kubectl.manifests / name).read_text("utf-8"))
    return found


def test_applying_on_the_client_changes_what_differs(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "web.yaml")
    assert kubectl("diff", "-f", "web.yaml") == ""
    assert "+  replicas: 3" in kubectl.ask("diff", "-f", "web-changed.yaml").out
    assert "deployment.apps/web configured" in kubectl("apply", "-f", "web-changed.yaml")
    kubectl("rollout", "status", "deployment/web", "--timeout=50s")
    assert kubectl("get", "deploy", "web", "-o", "jsonpath={.status.readyReplicas}") == "3"


def test_applying_on_the_server_tells_whose_fields_they_are(kubectl: Kubectl) -> None:
    kubectl("apply", "--server-side", "-f", "config.yaml")
    other = ("apply", "--server-side", "-f", "config-changed.yaml", "--field-manager=other")
    assert 'conflict with "kubectl": .data.colour' in kubectl.refused(*other)
    kubectl(*other, "--force-conflicts")
    assert kubectl("get", "cm", "settings", "-o", "jsonpath={.data.colour}") == "red"


def test_moving_from_client_side_to_server_side_loses_nothing(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "config.yaml")
    kubectl("apply", "--server-side", "-f", "config-changed.yaml", "--force-conflicts")
    assert json.loads(kubectl("get", "cm", "settings", "-o", "jsonpath={.data}")) == {
        "colour": "red",
        "size": "3",
    }


def test_pruning_what_is_no_longer_in_the_set(kubectl: Kubectl) -> None:
    words = ("apply", "-f", "-", "--prune", "-l", "set=mine", "--prune-allowlist=core/v1/ConfigMap")
    maps = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": n, "labels": {"set": "mine"}},
        }
        for n in ("keep", "drop")
    ]
    kubectl(*words, stdin=yaml.safe_dump_all(maps))
    kubectl(*words, stdin=yaml.safe_dump_all(maps[:1]))
    assert kubectl("get", "cm", "-l", "set=mine", "-o", "name") == "configmap/keep\n"


def test_an_editor_that_does_not_save_changes_nothing(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "a", "--from-literal=text=old")
    assert "no changes made" in kubectl.ask("edit", "cm", "a", EDITOR="true").err
    kubectl("edit", "cm", "a", EDITOR="sed -i s/old/new/")
    assert kubectl("get", "cm", "a", "-o", "jsonpath={.data.text}") == "new"


def test_a_watch_shows_what_changes(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "watched")
    command = [kubectl.binary, "-n", kubectl.namespace, "get", "cm", "watched", "-w", "-o", "name"]
    with subprocess.Popen(command, env=kubectl.environment, stdout=subprocess.PIPE) as watching:
        assert cast("Any", watching.stdout).readline() == b"configmap/watched\n"
        kubectl("label", "cm", "watched", "seen=yes")
        assert cast("Any", watching.stdout).readline() == b"configmap/watched\n"
        watching.terminate()


def test_waiting_ends_when_it_happens(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "web", "--image=nginx", "--replicas=2")
    kubectl("wait", "deploy/web", "--for=condition=Available", "--timeout=50s")
    command = [kubectl.binary, "-n", kubectl.namespace, "wait", "deploy/web", "--for=delete"]
    with subprocess.Popen(command, env=kubectl.environment, stdout=subprocess.PIPE) as waiting:
        kubectl("delete", "deploy", "web")
        assert waiting.wait(50) == 0


def test_what_was_deleted_in_the_foreground_takes_its_dependents_along(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "owner")
    uid = kubectl("get", "cm", "owner", "-o", "jsonpath={.metadata.uid}")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    metadata = {"name": "owned", "ownerReferences": [{**owner, "blockOwnerDeletion": True}]}
    owned = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    kubectl("create", "-f", "-", stdin=json.dumps(owned))
    kubectl("delete", "cm", "owner", "--cascade=foreground")
    assert kubectl("get", "cm", "owned", "--ignore-not-found") == ""


def test_events_are_listed_and_described(kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "subject")
    uid = kubectl("get", "cm", "subject", "-o", "jsonpath={.metadata.uid}")
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "subject.1", "namespace": kubectl.namespace},
        "eventTime": "2020-01-01T00:00:00.000000Z",
        "action": "Look",
        "reason": "Seen",
        "note": "somebody looked",
        "type": "Normal",
        "reportingController": "certwright.dev/test",
        "reportingInstance": "test",
        "regarding": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": "subject",
            "namespace": kubectl.namespace,
            "uid": uid,
        },
    }
    kubectl("create", "-f", "-", stdin=json.dumps(event))
    row = kubectl("get", "events").splitlines()[1].split(maxsplit=4)
    assert row[1:] == ["Normal", "Seen", "configmap/subject", "somebody looked"]
    assert "somebody looked" in kubectl("events", "--for=configmap/subject")
    assert "somebody looked" in kubectl("describe", "cm", "subject")


def test_everything_served_is_listed_and_explained(kubectl: Kubectl) -> None:
    assert "deployments.apps\n" in kubectl("api-resources", "-o", "name")
    assert "apps/v1\n" in kubectl("api-versions")
    assert "FIELD: strategy <DeploymentStrategy>" in kubectl("explain", "deploy.spec.strategy")
    assert "maxSurge" in kubectl("explain", "deploy.spec.strategy", "--recursive")
    assert "Server Version: v1." in kubectl("version")
    assert "is running at" in kubectl("cluster-info")


def test_who_may_do_what(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "create", "pods") == "yes\n"
    assert "system:masters" in kubectl("auth", "whoami")
    kubectl("create", "serviceaccount", "robot")
    assert kubectl("create", "token", "robot").strip()


def test_custom_resources_are_resources(kubectl: Kubectl) -> None:
    group = f"{kubectl.namespace}.example.com"
    definition = manifest(kubectl, "crd.yaml")
    definition["metadata"]["name"] = f"kites.{group}"
    definition["spec"]["group"] = group
    kite = manifest(kubectl, "kite.yaml") | {"apiVersion": f"{group}/v1"}
    kind = f"kites.{group}"
    kubectl("create", "-f", "-", stdin=json.dumps(definition))
    try:
        kubectl("wait", f"crd/{kind}", "--for=condition=Established", "--timeout=50s")
        kubectl.until("No resources found", "get", kind)
        kubectl("apply", "-f", "-", stdin=json.dumps(kite))
        rows = [line.split()[:3] for line in kubectl("get", kind).splitlines()]
        assert rows == [["NAME", "COLOUR", "TAILS"], ["dragon", "red", "1"]]
        kubectl("scale", f"{kind}/dragon", "--replicas=4")
        assert kubectl("get", kind, "dragon", "-o", "jsonpath={.spec.tails}") == "4"
        explained = kubectl.until("KIND:", "explain", f"{kind}.spec")
        assert "colour\t<string> -required-" in explained
        assert "Colour of the sail." in explained
        assert "A kite flies in the wind." in kubectl("explain", kind)
    finally:
        kubectl("delete", "crd", kind)
    kubectl.until("the server doesn't have a resource type", "get", kind)
