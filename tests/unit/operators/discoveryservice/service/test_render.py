"""The objects of a control plane, from what is asked for."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.support.envoy.smallschema import small_schema

from certwright.api.discoveryservices import DiscoveryService
from certwright.apply import Declared, ObjectRef
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.config.review import config_webhook
from certwright.operators.discoveryservice.injection.review import OWNER_LABEL
from certwright.operators.discoveryservice.service.namespaces import FoundNamespace
from certwright.operators.discoveryservice.service.objects import pki
from certwright.operators.discoveryservice.service.objects.registration import (
    config_configuration,
    webhook_configuration,
)
from certwright.operators.discoveryservice.service.objects.workload import (
    HASH_LABEL,
    deployment,
    disruption_budget,
    lacks_address,
    service,
)
from certwright.operators.discoveryservice.service.plan import FoundPlane, make_plan
from certwright.operators.discoveryservice.service.plane import (
    DiscoveryPlane,
    ServerCertificate,
    ServiceDefaults,
    control_plane,
)
from certwright.operators.discoveryservice.service.removal import removal_groups

CERTIFICATE = ServerCertificate(b"bundle", "hash")


def plane(*enabled: str, **spec: Any) -> DiscoveryPlane:
    """Return the control plane of a DiscoveryService called x."""
    fields = {"discoveryServiceNamespace": "infra", "enabledNamespaces": list(enabled), **spec}
    obj = msgspec.convert(
        {
            "apiVersion": "operator.marin3r.3scale.net/v1alpha1",
            "kind": "DiscoveryService",
            "metadata": {"name": "x", "uid": "1"},
            "spec": fields,
        },
        DiscoveryService,
    )
    return control_plane(obj, ServiceDefaults(image="certwright:test"))


def container(obj: Any) -> Any:
    [found] = obj["spec"]["template"]["spec"]["containers"]
    return found


def test_defaults_are_those_of_marin3r() -> None:
    found = plane()
    assert (found.xds_port, found.webhook_port, found.metrics_port) == (18000, 8443, 8383)
    assert (found.service, found.service_type) == ("marin3r-x", "ClusterIP")
    assert (found.ca_lifetime, found.server_lifetime) == (
        timedelta(hours=26280),
        timedelta(hours=2160),
    )
    assert (found.replicas, found.rollout, found.failure_policy) == (2, False, "Fail")
    assert found.host == "marin3r-x.infra.svc"


def test_a_namespace_that_is_listed_twice_is_served_once() -> None:
    assert plane("b", "a", "b").enabled == ("b", "a")


def test_certificates_are_asked_for_as_in_marin3r() -> None:
    found = plane("a")
    authority, server, client = pki.authority(found), pki.server(found), pki.client(found, "a")
    reference = {"name": "marin3r-ca-cert-x", "namespace": "infra"}
    assert authority["spec"] == {
        "commonName": "marin3r-ca-x",
        "isCA": True,
        "validFor": 94608000,
        "signer": {"selfSigned": {}},
        "secretRef": reference,
    }
    assert server["spec"] == {
        "commonName": "marin3r-server-x",
        "server": True,
        "validFor": 7776000,
        "hosts": ["marin3r-x.infra.svc"],
        "signer": {"caSigned": {"caSecretRef": reference}},
        "secretRef": {"name": "marin3r-server-cert-x", "namespace": "infra"},
    }
    assert client["metadata"]["namespace"] == "a"
    assert client["spec"] == {
        "commonName": "marin3r-x-client",
        "validFor": 172800,
        "signer": {"caSigned": {"caSecretRef": reference}},
        "secretRef": {"name": "envoy-sidecar-client-cert", "namespace": "a"},
    }


def test_the_names_of_secrets_and_the_service_are_followed_everywhere() -> None:
    found = plane(
        pkiConfig={
            "rootCertificateAuthority": {"secretName": "ca", "duration": "48h"},
            "serverCertificate": {"secretName": "server", "duration": "24h"},
        },
        serviceConfig={"name": "xds"},
    )
    server = pki.server(found)
    assert server["metadata"]["name"] == "server"
    assert server["spec"]["signer"]["caSigned"]["caSecretRef"]["name"] == "ca"
    assert server["spec"]["hosts"] == ["xds.infra.svc"]
    assert server["spec"]["validFor"] == 86400
    [webhook] = webhook_configuration(found, b"x")["webhooks"]
    assert webhook["clientConfig"]["service"]["name"] == "xds"
    assert service(found)["metadata"]["name"] == "xds"


def test_the_deployment_always_has_a_pod_that_answers() -> None:
    spec = deployment(plane(), "hash")["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    found = container(deployment(plane(), "hash"))
    assert found["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert found["livenessProbe"]["httpGet"]["path"] == "/healthz"
    startup = found["startupProbe"]
    assert startup["httpGet"] == found["livenessProbe"]["httpGet"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= 300
    budget = disruption_budget(plane())
    assert budget is not None
    assert budget["spec"]["maxUnavailable"] == 1
    assert disruption_budget(plane(replicas=1)) is None, "its only pod could never be moved"


@pytest.mark.parametrize(("reload", "expected"), [("Rollout", "hash"), ("HotReload", None)])
def test_the_hash_counts_only_where_a_new_certificate_is_a_rollout(
    reload: str, expected: str | None
) -> None:
    made = deployment(plane(certificateReload=reload), "hash")
    assert made["spec"]["template"]["metadata"]["labels"].get(HASH_LABEL) == expected
    assert HASH_LABEL not in made["spec"]["selector"]["matchLabels"]


def test_settings_of_pods_are_followed() -> None:
    affinity: JsonObject = {"podAffinity": {}}
    made = deployment(
        plane(
            debug=True,
            podPriorityClass="high",
            affinity=affinity,
            resources={"limits": {"cpu": "1"}},
            metricsPort=9000,
            probePort=9001,
        ),
        "",
    )
    pod = made["spec"]["template"]["spec"]
    assert (pod["priorityClassName"], pod["affinity"]) == ("high", affinity)
    found = container(made)
    assert found["args"][0] == "discovery-service"
    assert found["args"][-1] == "--debug"
    assert "--metrics-bind-address=:9000" in found["args"]
    assert "--health-probe-bind-address=:9001" in found["args"]
    assert found["resources"] == {"limits": {"cpu": "1"}}


def test_all_ports_of_the_service_lead_somewhere() -> None:
    declared = {one["name"] for one in container(deployment(plane(), ""))["ports"]}
    ports = service(plane())["spec"]["ports"]
    assert {one["targetPort"] for one in ports} <= declared
    assert {one["name"]: one["port"] for one in ports} == {
        "discovery": 18000,
        "webhook": 443,
        "metrics": 8383,
    }


def test_a_headless_service_has_no_address() -> None:
    headless = service(plane(serviceConfig={"type": "Headless"}))
    assert (headless["spec"]["type"], headless["spec"]["clusterIP"]) == ("ClusterIP", "None")
    assert lacks_address(headless, plane())
    assert not lacks_address(headless, plane(serviceConfig={"type": "Headless"}))


def test_the_webhook_spares_the_control_plane_and_the_cluster_itself() -> None:
    made = webhook_configuration(plane(webhook={"failurePolicy": "Ignore"}), b"bundle")
    [webhook] = made["webhooks"]
    assert webhook["name"] == "sidecar-injector.marin3r.3scale.net"
    assert webhook["failurePolicy"] == "Ignore"
    assert webhook["timeoutSeconds"] == 5
    assert (webhook["sideEffects"], webhook["reinvocationPolicy"]) == ("None", "Never")
    assert webhook["clientConfig"]["service"] == {
        "namespace": "infra",
        "name": "marin3r-x",
        "path": "/pod-v1-mutate",
        "port": 443,
    }
    selector = webhook["namespaceSelector"]
    assert selector["matchLabels"] == {"marin3r.3scale.net/discovery-service": "x"}
    assert selector["matchExpressions"][0]["values"] == ["infra", "kube-system"]


def test_configurations_are_checked_by_the_webhook_that_the_pods_serve() -> None:
    [webhook] = config_configuration(plane("a"), b"bundle")["webhooks"]
    served = config_webhook(small_schema)
    assert webhook["name"] == served.name
    assert webhook["clientConfig"]["service"]["path"] == served.path
    [rule], [declared] = webhook["rules"], served.rules
    assert {**rule, "scope": declared["scope"]} == declared
    assert webhook["namespaceSelector"]["matchLabels"] == {OWNER_LABEL: "x"}


def refs(objects: Any) -> set[tuple[str, str, str]]:
    declared = [one if isinstance(one, Declared) else Declared(one) for one in objects]
    return {(one.ref.kind, one.ref.namespace, one.ref.name) for one in declared}


def test_what_needs_a_certificate_comes_later_and_is_listed() -> None:
    found = FoundPlane({"a": FoundNamespace({})}, (), None)
    early = make_plan(plane("a"), found)
    whole = make_plan(plane("a"), FoundPlane(found.namespaces, (), CERTIFICATE))
    assert not early.complete
    assert whole.complete
    assert {ref.kind for ref in early.later} == {
        "ConfigMap",
        "Deployment",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
    assert {one.id for one in early.refs} == {one.id for one in whole.refs}
    assert refs(early.objects) < refs(whole.objects)


def test_the_registration_goes_first_and_the_authority_after_what_it_signed() -> None:
    found = plane("a")
    plan = make_plan(found, FoundPlane({"a": FoundNamespace({})}, (), CERTIFICATE))
    groups = removal_groups(plan.refs, pki.authority_ref(found))
    order: list[ObjectRef] = [ref for group in groups for ref in group]
    assert sorted(one.id for one in order) == sorted(one.id for one in plan.refs)
    kinds = [ref.kind for ref in order]
    assert kinds[:3] == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "Deployment",
    ]
    certificates = [ref.name for ref in order if ref.kind == "DiscoveryServiceCertificate"]
    assert certificates[-1] == "marin3r-ca-cert-x"
    assert kinds[-1] == "ServiceAccount"


def test_how_long_secrets_take_is_told_to_the_authority() -> None:
    key = "operator.marin3r.3scale.net/propagation"
    asked = pki.authority(plane(pkiConfig={"propagation": "90s"}))
    assert asked["metadata"]["annotations"] == {key: "90s"}
    old_name = pki.authority(plane(pkiConfg={"propagation": "2h"}))
    assert old_name["metadata"]["annotations"] == {key: "2h"}
    assert "annotations" not in pki.authority(plane())["metadata"]
    assert "annotations" not in pki.server(plane(pkiConfig={"propagation": "90s"}))["metadata"]


def test_pods_know_who_they_are() -> None:
    env = {one["name"]: one for one in container(deployment(plane(), ""))["env"]}
    for name, path in {"POD_NAME": "metadata.name", "POD_UID": "metadata.uid"}.items():
        assert env[name]["valueFrom"]["fieldRef"]["fieldPath"] == path
