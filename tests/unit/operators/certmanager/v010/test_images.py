"""Which images run, from a registry, a postfix and the environment."""

import pytest

from certwright.operators.certmanager.v010.images import Image, resolve

DIGEST = f"sha256:{'a' * 64}"


@pytest.mark.parametrize(
    ("image", "reference"),
    [
        (Image.CONTROLLER, "quay.io/icp-cert-manager-controller:0.10.0"),
        (Image.WEBHOOK, "quay.io/icp-cert-manager-webhook:0.10.1"),
        (Image.CAINJECTOR, "quay.io/icp-cert-manager-cainjector:0.10.0"),
        (Image.ACMESOLVER, "quay.io/icp-cert-manager-acmesolver:0.10.0"),
        (Image.WATCHER, "quay.io/icp-configmap-watcher:3.3.0"),
    ],
)
def test_each_image_has_a_default(image: Image, reference: str) -> None:
    assert resolve(image) == reference


@pytest.mark.parametrize("registry", ["reg.example.com/x", "reg.example.com/x/"])
def test_a_registry_stands_before_the_name(registry: str) -> None:
    wanted = "reg.example.com/x/icp-cert-manager-controller:0.10.0"
    assert resolve(Image.CONTROLLER, registry) == wanted


def test_a_postfix_stands_after_the_tag() -> None:
    assert (
        resolve(Image.WEBHOOK, postfix="-amd64") == "quay.io/icp-cert-manager-webhook:0.10.1-amd64"
    )


def test_the_environment_may_name_another_tag() -> None:
    environment = {"CONTROLLER_IMAGE_TAG_OR_SHA": "0.10.4"}
    found = resolve(Image.CONTROLLER, postfix="-amd64", environment=environment)
    assert found == "quay.io/icp-cert-manager-controller:0.10.4-amd64"


@pytest.mark.scenario("CM-35")
def test_a_digest_gets_no_postfix() -> None:
    environment = {"CONTROLLER_IMAGE_TAG_OR_SHA": DIGEST}
    found = resolve(Image.CONTROLLER, postfix="-amd64", environment=environment)
    assert found == f"quay.io/icp-cert-manager-controller@{DIGEST}"


def test_a_reference_of_the_environment_counts_as_it_is() -> None:
    environment = {"ICP_CERT_MANAGER_WEBHOOK_IMAGE": "icr.io/cpopen/webhook:1"}
    assert resolve(Image.WEBHOOK, "reg.example.com", "-x", environment) == "icr.io/cpopen/webhook:1"
