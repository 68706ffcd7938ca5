"""From a CertManagerDeployment to a request: nothing that can be asked for is lost."""

from dataclasses import fields
from typing import Any

import msgspec
import pytest
from tests.support.certmanager.samplebundle import NEW, TABLES

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.kube import JsonObject
from certwright.operators.certmanager.redhat.adapter import install_request
from certwright.operators.certmanager.render import render
from certwright.operators.certmanager.request import (
    Component,
    ComponentRequest,
    DeletionPolicy,
    Images,
    InstallRequest,
    Naming,
    TlsProfile,
    UpgradePolicy,
    WebhookRequest,
)

COMPONENT: JsonObject = {
    "replicas": 2,
    "autoscaled": True,
    "config": {"logging": {}},
    "featureGates": {"A": True},
    "env": [{"name": "A", "value": "1"}],
    "resources": {"limits": {"cpu": "1"}},
    "strategy": {"type": "Recreate"},
    "podSecurityContext": {"fsGroup": 1},
    "containerSecurityContext": {"privileged": False},
    "podLabels": {"a": "b"},
    "podAnnotations": {"a": "b"},
    "volumes": [{"name": "v"}],
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
    "nodeSelector": {"a": "b"},
    "affinity": {"nodeAffinity": {}},
    "tolerations": [{"operator": "Exists"}],
    "topologySpreadConstraints": [{"maxSkew": 1}],
    "priorityClassName": "high",
    "runtimeClassName": "kata",
    "hostNetwork": True,
    "hostAliases": [{"ip": "10.0.0.1"}],
    "dnsPolicy": "None",
    "dnsConfig": {"nameservers": ["10.0.0.1"]},
    "extraContainers": [{"name": "side"}],
    "enableServiceLinks": True,
    "livenessProbe": {"periodSeconds": 1},
    "readinessProbe": {"periodSeconds": 1},
    "deploymentAnnotations": {"a": "b"},
    "serviceAnnotations": {"a": "b"},
    "serviceLabels": {"a": "b"},
    "serviceAccount": {"name": "bot"},
    "podDisruptionBudget": {},
    "networkPolicy": {},
}
EVERYTHING: JsonObject = {
    "version": "v1.20.3",
    "namingProfile": "Legacy",
    "namespace": "pki",
    "leaderElectionNamespace": "leases",
    "managementState": "Unmanaged",
    "adopt": True,
    "upgradePolicy": "Manual",
    "upgrade": {
        "allowSkip": True,
        "allowDowngrade": True,
        "onFailure": "Rollback",
        "stepTimeout": "1m",
    },
    "deletionPolicy": {"crds": "Delete", "namespace": "Delete", "force": True},
    "dangerZone": {
        "imageOverrides": {"controller": "a:1", "cainjector": "a:2", "webhook": "a:3"},
        "containerArgOverrides": {one.value: {"v": 1} for one in Component},
        "unvalidatedArgs": {one.value: ["--x"] for one in Component},
    },
    "controller": COMPONENT,
    "cainjector": {**COMPONENT, "enabled": False},
    "webhook": {
        **COMPONENT,
        "timeoutSeconds": 5,
        "securePort": 8443,
        "validatingNamespaceSelector": {"matchLabels": {}},
        "mutatingNamespaceSelector": {"matchLabels": {}},
        "urlHost": "a.example.com",
        "serviceType": "NodePort",
        "loadBalancerIP": "10.0.0.1",
        "ipFamilyPolicy": "SingleStack",
        "ipFamilies": ["IPv4"],
    },
    "images": {
        "registry": "m.example.com",
        "mirrors": {"a": "b"},
        "digests": {"webhook": "sha256:00"},
        "pullPolicy": "Always",
        "pullSecrets": ["pull"],
    },
    "logLevel": 4,
    "commonLabels": {"a": "b"},
    "nodeSelector": {"a": "b"},
    "tolerations": [{"operator": "Exists"}],
    "priorityClassName": "high",
    "proxy": {"httpProxy": "http://p"},
    "trustedCAConfigMap": "ca",
    "serviceMonitor": {},
    "podMonitor": {},
    "alerts": {},
    "metrics": False,
    "tls": {"minVersion": "VersionTLS13", "cipherSuites": ["A"]},
    "highAvailability": True,
    "runtimeClassName": "gvisor",
    "revisionHistoryLimit": 0,
    "hostUsers": False,
    "aggregateClusterRoles": False,
    "autoApproval": False,
    "approveSignerNames": ["issuers.cert-manager.io/a.b"],
}


def request(**spec: Any) -> InstallRequest:
    resource = msgspec.convert(
        {"metadata": {"name": "cluster"}, "spec": spec}, CertManagerDeployment
    )
    return install_request(resource, "v1.21.2", {})


def at_default(part: Any, default: Any) -> set[str]:
    return {
        field.name
        for field in fields(part)
        if getattr(part, field.name) == getattr(default, field.name)
    }


def test_every_field_of_a_request_can_be_asked_for() -> None:
    found = request(**EVERYTHING)
    default = InstallRequest(version="v1.21.2")
    assert at_default(found, default) == {
        "version_is_default",  # it was given
        "pull_secret",  # of the other custom resource
        "config_map_watcher",  # likewise
    }
    assert at_default(found.webhook, WebhookRequest()) == set()
    assert at_default(found.images, Images()) == {"tag_suffix"}  # of the other custom resource
    assert at_default(found.upgrade, UpgradePolicy()) == set()
    assert at_default(found.deletion, DeletionPolicy()) == {"keep_namespace"}  # likewise
    assert at_default(found.tls, TlsProfile()) == set()
    for component in Component:
        left = at_default(found.component(component), ComponentRequest())
        assert left == (set() if component is Component.CAINJECTOR else {"enabled"})


def test_a_spec_without_wishes_is_the_release() -> None:
    found = request()
    assert found.version == "v1.21.2"
    assert found.version_is_default
    objects = [declared.obj for declared in render(found, NEW, TABLES).objects()]
    assert sorted(map(str, objects)) == sorted(map(str, NEW.objects))


@pytest.mark.parametrize("value", [None, {}])
def test_null_and_nothing_are_pure_defaults(value: Any) -> None:
    found = request(dangerZone={"containerArgOverrides": {"controller": value}})
    assert found.component(Component.CONTROLLER).flags == {}


def test_null_for_one_flag_is_kept() -> None:
    found = request(dangerZone={"containerArgOverrides": {"webhook": {"v": None}}})
    assert found.component(Component.WEBHOOK).flags == {"v": None}


def test_profiles_are_read() -> None:
    assert request(namingProfile="Legacy").naming is Naming.LEGACY
    assert request().naming is Naming.RELEASE
