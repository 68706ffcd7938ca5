"""Which namespace objects of files end up in."""

import pytest

from certwright.apply import Manifest
from certwright.apply.manifests.read import ManifestOrigin
from certwright.cli.apply.namespaces import place
from certwright.kube import JsonObject

NAMESPACED = {"ConfigMap": True, "Namespace": False}


def manifest(kind: str, name: str = "a", api_version: str = "v1", **metadata: str) -> Manifest:
    obj = {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **metadata}}
    return Manifest(obj, ManifestOrigin("f.yaml"))


def placed(*manifests: Manifest) -> list[str | None]:
    objects = place(manifests, lambda gvk: NAMESPACED.get(gvk.kind), "here")
    return [obj["metadata"].get("namespace") for obj in objects]


def test_namespaced_objects_get_the_namespace_and_keep_their_own() -> None:
    assert placed(manifest("ConfigMap"), manifest("ConfigMap", namespace="there")) == [
        "here",
        "there",
    ]


def test_cluster_wide_objects_lose_theirs() -> None:
    assert placed(manifest("Namespace", namespace="there")) == [None]


def test_kinds_nobody_knows_stay_as_they_are() -> None:
    assert placed(manifest("Odd"), manifest("Odd", namespace="there")) == [None, "there"]


@pytest.mark.parametrize(("scope", "namespace"), [("Namespaced", "here"), ("Cluster", None)])
def test_kinds_are_known_from_definitions_beside_them(scope: str, namespace: str | None) -> None:
    crd = manifest("CustomResourceDefinition", api_version="apiextensions.k8s.io/v1")
    crd.obj["spec"] = {"group": "g", "scope": scope, "names": {"kind": "Toy"}}
    toy = manifest("Toy", api_version="g/v1")
    assert placed(toy, crd)[0] == namespace


@pytest.mark.parametrize("spec", [["a"], "a", {"names": "toys"}, None])
def test_definitions_that_are_none_define_nothing(
    spec: str | JsonObject | list[str] | None,
) -> None:
    crd = manifest("CustomResourceDefinition", api_version="apiextensions.k8s.io/v1")
    crd.obj["spec"] = spec
    assert placed(crd, manifest("ConfigMap")) == [None, "here"]
