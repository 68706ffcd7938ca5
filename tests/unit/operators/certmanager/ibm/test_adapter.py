"""From a CertManager to what is requested."""

from typing import Any

import msgspec
import pytest

from certwright.api.certmanagers import CertManagerInstallation
from certwright.operators.certmanager.ibm.adapter import (
    install_request,
    is_allowed,
    refuses_webhook,
)
from certwright.operators.certmanager.request import Component, Images, Naming, PullSecret

LIMITS = {"cpu": "1", "memory": "1Gi"}


def resource(
    name: str = "default", annotations: Any = None, **spec: Any
) -> CertManagerInstallation:
    obj = {
        "apiVersion": "operator.ibm.com/v1alpha1",
        "kind": "CertManager",
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": spec,
    }
    return msgspec.convert(obj, CertManagerInstallation)


def test_only_one_name_counts() -> None:
    assert is_allowed(resource())
    assert not is_allowed(resource("foo"))


def test_without_a_version_it_is_0_10() -> None:
    request = install_request(resource())
    assert (request.version, request.naming, request.namespace) == (
        "v0.10.0",
        Naming.V0_10,
        "cert-manager",
    )
    enabled = {one for one in Component if request.component(one).enabled}
    assert enabled == {Component.CONTROLLER}
    assert request.config_map_watcher is not None


@pytest.mark.parametrize("version", ["0.10.0", "v0.10.0", "0.12.0"])
def test_versions_before_one_are_0_10(version: str) -> None:
    assert install_request(resource(version=version)).naming is Naming.V0_10


@pytest.mark.parametrize("version", ["v1.21.2", "1.21.2"])
def test_another_version_comes_from_the_catalogue_with_the_webhook(version: str) -> None:
    request = install_request(resource(version=version))
    assert (request.version, request.naming) == ("v1.21.2", Naming.RELEASE)
    assert all(request.component(one).enabled for one in Component)
    assert request.config_map_watcher is None


def test_images_of_a_release_come_from_the_registry_with_the_postfix() -> None:
    spec = {"version": "v1.21.2", "imageRegistry": "reg.example.com/x/", "imagePostFix": "-amd64"}
    request = install_request(resource(**spec))
    assert request.images == Images(registry="reg.example.com/x", tag_suffix="-amd64")


@pytest.mark.parametrize(
    ("spec", "annotations", "refused"),
    [
        ({"version": "v1.21.2", "enableWebhook": False}, {}, True),
        (
            {"version": "v1.21.2", "enableWebhook": False},
            {"operator.certwright.dev/allow-without-webhook": "true"},
            False,
        ),
        ({"version": "v1.21.2"}, {}, False),
        ({"enableWebhook": False}, {}, False),
    ],
)
def test_a_version_after_0_10_needs_its_webhook(spec: Any, annotations: Any, refused: Any) -> None:
    assert refuses_webhook(resource(annotations=annotations, **spec)) is refused


@pytest.mark.parametrize("version", ["", "v1.21.2"])
def test_settings_count_for_both_layouts(version: str) -> None:
    request = install_request(
        resource(
            version=version,
            enableWebhook=True,
            resourceNamespace="foo",
            disableHostNetwork=False,
            labels={"team": "a"},
            enableInstanaMetricCollection=True,
            certManagerController={"resources": {"limits": LIMITS}},
        )
    )
    controller = request.component(Component.CONTROLLER)
    assert controller.flags["cluster-resource-namespace"] == "foo"
    assert controller.resources == {"limits": LIMITS}
    assert [one["name"] for one in controller.env] == ["INSTANA_AGENT_HOST"]
    assert request.component(Component.WEBHOOK).host_network is True
    assert controller.host_network is None
    assert request.common_labels == {"team": "a"}


@pytest.mark.parametrize("value", [None, True])
def test_the_network_of_the_node_is_used_only_if_asked_for(value: Any) -> None:
    request = install_request(resource(enableWebhook=True, disableHostNetwork=value))
    assert request.component(Component.WEBHOOK).host_network is None


@pytest.mark.parametrize("resources", [None, {}, {"limits": None, "requests": None}])
def test_resources_that_say_nothing_are_the_default(resources: Any) -> None:
    settings = {} if resources is None else {"resources": resources}
    request = install_request(resource(certManagerController=settings))
    assert request.component(Component.CONTROLLER).resources is None


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({}, PullSecret(name="image-pull-secret", required=True)),
        ({"name": "a"}, PullSecret(name="a", required=True)),
        (
            {"name": "a", "namespace": "b"},
            PullSecret(name="a", source_namespace="b", required=True),
        ),
    ],
)
def test_a_pull_secret_that_is_given_is_required(given: Any, rule: PullSecret) -> None:
    assert install_request(resource(pullSecret=given)).pull_secret == rule
    assert install_request(resource()).pull_secret == PullSecret(name="image-pull-secret")


def test_fields_of_later_versions_are_taken() -> None:
    later: Any = {
        "enableCertRefresh": None,
        "refreshCertsBasedOnCA": [{"certName": "a", "namespace": "b"}],
        "license": {"accept": True, "use": "x"},
        "configMapWatcher": {"resources": {"requests": {"cpu": 1}}},
        "unheardOf": {"a": 1},
    }
    request = install_request(resource(**later))
    assert request.config_map_watcher is not None
    assert request.config_map_watcher.resources == {"requests": {"cpu": 1}}


def test_images_of_the_environment_count_for_0_10() -> None:
    environment = {"ICP_CERT_MANAGER_CONTROLLER_IMAGE": "icr.io/a/b:1"}
    request = install_request(resource(imageRegistry="reg.example.com"), environment)
    assert request.component(Component.CONTROLLER).image == "icr.io/a/b:1"
