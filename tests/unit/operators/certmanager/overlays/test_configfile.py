"""The file that --config names."""

import json

from tests.support.certmanager.samplebundle import OLD
from tests.unit.operators.certmanager.view import CAINJECTOR, WEBHOOK, rendered

from certwright.operators.certmanager.overlays.configfile import DIGEST
from certwright.operators.certmanager.request import Reason


def test_a_file_is_mounted_and_named() -> None:
    view = rendered(controller={"config": {"numberOfConcurrentWorkers": 7}})
    config_map = view.get("ConfigMap", "cert-manager")
    assert config_map["metadata"]["namespace"] == "cert-manager"
    assert json.loads(config_map["data"]["config.yaml"]) == {
        "apiVersion": "controller.config.cert-manager.io/v1alpha1",
        "kind": "ControllerConfiguration",
        "numberOfConcurrentWorkers": 7,
    }
    assert view.pod()["volumes"] == [{"name": "config", "configMap": {"name": "cert-manager"}}]
    mount = {"name": "config", "mountPath": "/var/cert-manager/config"}
    assert view.container()["volumeMounts"] == [mount]
    assert "--config=/var/cert-manager/config/config.yaml" in view.args()


def test_another_file_needs_other_pods() -> None:
    def digest(workers: int) -> str:
        view = rendered(controller={"config": {"numberOfConcurrentWorkers": workers}})
        return str(view.template()["metadata"]["annotations"][DIGEST])

    assert digest(1) == digest(1) != digest(2)
    assert DIGEST not in rendered().template()["metadata"]["annotations"]


def test_the_kind_may_be_given() -> None:
    config = {"apiVersion": "webhook.config.cert-manager.io/v1", "kind": "WebhookConfiguration"}
    view = rendered(webhook={"config": config})
    text = view.get("ConfigMap", "cert-manager-webhook")["data"]["config.yaml"]
    assert json.loads(text) == config


def test_a_version_without_the_flag_says_so() -> None:
    (problem,) = rendered(OLD, controller={"config": {}}).rendered.problems
    assert (problem.reason, problem.field) == (Reason.UNKNOWN_FLAG, "config")
    assert "it came with 1.13" in problem.message


def test_defaults_do_not_override_the_file() -> None:
    tls = {"dynamic": {"secretNamespace": "vault", "secretName": "my-ca", "dnsNames": ["a"]}}
    config = {"securePort": 8443, "healthzPort": 6081, "tlsConfig": tls}
    view = rendered(webhook={"config": config})
    assert view.args(WEBHOOK) == ["--v=2", "--config=/var/cert-manager/config/config.yaml"]
    ports = {port["name"]: port["containerPort"] for port in view.container(WEBHOOK)["ports"]}
    assert (ports["https"], ports["healthcheck"]) == (8443, 6081)
    annotations = view.get("MutatingWebhookConfiguration", "cert-manager-webhook")["metadata"]
    assert "vault/my-ca" in annotations["annotations"].values()


def test_a_flag_overrides_the_file() -> None:
    wanted = {"config": {"securePort": 8443}, "flags": {"secure-port": 9443}}
    view = rendered(webhook=wanted)
    assert "--secure-port=9443" in view.args(WEBHOOK)
    assert view.container(WEBHOOK)["ports"][0]["containerPort"] == 9443


def test_volumes_of_the_request_stand_beside_it() -> None:
    wanted = {
        "config": {},
        "volumes": [{"name": "more", "emptyDir": {}}],
        "volume_mounts": [{"name": "more", "mountPath": "/more"}],
    }
    view = rendered(webhook=wanted)
    assert [volume["name"] for volume in view.pod(WEBHOOK)["volumes"]] == ["config", "more"]
    names = [mount["name"] for mount in view.container(WEBHOOK)["volumeMounts"]]
    assert names == ["config", "more"]
    assert "volumes" not in view.pod(CAINJECTOR)
