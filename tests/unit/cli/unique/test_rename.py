"""ConfigMaps and Secrets get new names, and whatever refers to them follows."""

from typing import Any

import pytest

from certwright.cli.unique.rename import unique_manifests
from certwright.kube import JsonObject
from certwright.testkit.builders import config_map, deployment, secret


def using(**spec: Any) -> JsonObject:
    made = deployment("web")
    made["spec"]["template"]["spec"] |= spec
    return made


def test_names_hold_a_hash_and_references_follow() -> None:
    pod = {
        "volumes": [
            {"name": "a", "configMap": {"name": "settings"}},
            {"name": "b", "secret": {"secretName": "keys"}},
            {"name": "c", "projected": {"sources": [{"secret": {"name": "keys"}}]}},
            {"name": "d", "configMap": {"name": "other"}},
        ],
        "imagePullSecrets": [{"name": "keys"}],
        "initContainers": [
            {"name": "i", "env": [{"name": "E", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "k"}}}]}
        ],
        "containers": [{"name": "c", "envFrom": [{"secretRef": {"name": "keys"}}]}],
    }  # fmt: skip
    made = unique_manifests(
        [using(**pod), config_map("settings", {"k": "v"}), secret("keys", {"k": "v"})]
    )
    web, settings, keys = made.objects
    new = settings["metadata"]["name"], keys["metadata"]["name"]
    assert settings["immutable"] is keys["immutable"] is True
    text = str(web["spec"])
    assert "'settings'" not in text
    assert "'keys'" not in text
    assert text.count(new[0]) >= 2
    assert text.count(new[1]) >= 4
    assert "other" in text
    assert set(new) <= set(web["metadata"]["annotations"].values())
    assert made.remarks == []


def test_other_namespaces_have_other_objects() -> None:
    here = config_map("settings", {"k": "v"}, namespace="a")
    there = using(volumes=[{"name": "v", "configMap": {"name": "settings"}}])
    there["metadata"]["namespace"] = "b"
    assert unique_manifests([here, there]).objects[1] == there


def test_managed_resources_follow_their_secrets() -> None:
    keeper = {
        "apiVersion": "resources.gardener.cloud/v1alpha1",
        "kind": "ManagedResource",
        "metadata": {"name": "m"},
        "spec": {"secretRefs": [{"name": "keys"}, {"name": "other"}]},
    }
    made, keys = unique_manifests([keeper, secret("keys", {"k": "v"})]).objects
    assert made["spec"]["secretRefs"] == [{"name": keys["metadata"]["name"]}, {"name": "other"}]


def test_what_cannot_be_rewritten_is_told() -> None:
    odd = {
        "apiVersion": "example.com/v1",
        "kind": "Odd",
        "metadata": {"name": "o"},
        "spec": {"credentials": {"fooSecretName": "keys"}},
    }
    made = unique_manifests([odd, secret("keys", {"k": "v"})])
    assert made.remarks == ["Odd o still refers to Secret keys; change that by hand"]


def test_what_uses_nothing_stays_as_it_is() -> None:
    plain = deployment("web")
    assert unique_manifests([plain]).objects == [plain]


def test_a_config_map_without_a_name_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a name"):
        unique_manifests([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}])
