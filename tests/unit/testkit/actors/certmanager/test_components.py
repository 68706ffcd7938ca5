"""Which pods are cert-manager's, and what their arguments say."""

import pytest

from certwright.kube import JsonObject
from certwright.testkit.actors.certmanager.components import component_pod
from certwright.testkit.actors.certmanager.smallrelease import small_release


def pod(image: str, *args: str, **spec: object) -> JsonObject:
    variables = [
        {"name": "POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}},
        {"name": "LEVEL", "value": "4"},
    ]
    container = {"name": "main", "image": image, "args": list(args), "env": variables}
    metadata = {"name": "p", "namespace": "there", "uid": "1"}
    return {"metadata": metadata, "spec": {"containers": [container], **spec}}


@pytest.mark.parametrize(
    ("image", "component", "tag"),
    [
        ("quay.io/jetstack/cert-manager-controller:v1.21.2", "controller", "v1.21.2"),
        ("mirror:5000/a/b/cert-manager-webhook:v1.0.4", "webhook", "v1.0.4"),
        ("cert-manager-cainjector:latest", "cainjector", "latest"),
        ("x/cert-manager-webhook@sha256:" + "0" * 64, "webhook", ""),
        ("x/cert-manager-webhook:v1.2.0@sha256:" + "0" * 64, "webhook", "v1.2.0"),
    ],
)
def test_images_name_the_component(image: str, component: str, tag: str) -> None:
    found = component_pod(pod(image))
    assert found is not None
    assert (found.component, found.tag) == (component, tag)


@pytest.mark.parametrize(
    "image", ["cert-manager-acmesolver:v1.21.2", "x/trust-manager:v1", "cert-manager-webhookx:v1"]
)
def test_other_images_are_not_played(image: str) -> None:
    assert component_pod(pod(image)) is None


def test_versions_are_compared_by_minor() -> None:
    versions = {"v1.2.9": (1, 2), "v0.10.1": (0, 10), "latest": (99, 0)}
    for tag, minor in versions.items():
        found = component_pod(pod(f"cert-manager-controller:{tag}"))
        assert found is not None
        assert found.minor == minor


def test_arguments_are_expanded_and_collected() -> None:
    args = ("--a=$(POD_NAMESPACE)", "--b=x,y", "--b=z", "--c", "-v=$(LEVEL)", "--d=$(NONE)")
    found = component_pod(pod("cert-manager-webhook:v1", *args))
    assert found is not None
    assert [found.flag(name) for name in "acvd"] == ["there", "true", "4", "$(NONE)"]
    assert found.listed("b") == ["x", "y", "z"]
    assert found.flag("e", "default") == "default"


def test_pods_act_as_their_service_account() -> None:
    found = component_pod(pod("cert-manager-webhook:v1", serviceAccountName="hook"))
    unnamed = component_pod(pod("cert-manager-webhook:v1"))
    assert found is not None
    assert unnamed is not None
    assert found.user == "system:serviceaccount:there:hook"
    assert unnamed.user == "system:serviceaccount:there:default"


@pytest.mark.parametrize(("version", "tokens"), [("v1.20.3", 2), ("v1.21.2", 0)])
def test_small_releases_differ_as_releases_do(version: str, tokens: int) -> None:
    objects = small_release(version, "elsewhere")
    names = [obj["metadata"]["name"] for obj in objects]
    assert names.count("cert-manager-tokenrequest") == tokens
    spaces = {obj["metadata"].get("namespace") for obj in objects}
    assert spaces == {None, "elsewhere", "kube-system"}
    images = [
        container["image"]
        for obj in objects
        if obj["kind"] == "Deployment"
        for container in obj["spec"]["template"]["spec"]["containers"]
    ]
    assert all(image.endswith(f":{version}") for image in images)
