"""From a DiscoveryService to a control plane that serves."""

import base64
from typing import Any

import orjson
import pytest
from tests.component.operators.discoveryservice.service.conftest import Serving

from certwright.api.discoveryservices import DiscoveryServiceCertificate
from certwright.client import Selection
from certwright.kube import JsonObject
from certwright.kube.kinds import (
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    Deployment,
    Event,
    MutatingWebhookConfiguration,
    Namespace,
    Pod,
    PodDisruptionBudget,
    Role,
    RoleBinding,
    Secret,
    Service,
    ServiceAccount,
    ValidatingWebhookConfiguration,
)
from certwright.operators.discoveryservice.hashes import hash_of_certificate
from certwright.operators.discoveryservice.service.objects.workload import HASH_LABEL
from certwright.testkit.actors.podplay import PodPlay

DSC = DiscoveryServiceCertificate.resource
OBJECTS: list[tuple[Any, str]] = [
    (DSC, "infra/marin3r-ca-cert-x"),
    (DSC, "infra/marin3r-server-cert-x"),
    (ServiceAccount, "infra/marin3r-x"),
    (ClusterRole, "marin3r-x"),
    (ClusterRoleBinding, "marin3r-x"),
    (Deployment, "infra/marin3r-x"),
    (Service, "infra/marin3r-x"),
    (PodDisruptionBudget, "infra/marin3r-x"),
    (Role, "infra/marin3r-x"),
    (RoleBinding, "infra/marin3r-x"),
    (ConfigMap, "infra/marin3r-ca-bundle-x"),
    (MutatingWebhookConfiguration, "marin3r-x"),
    (ValidatingWebhookConfiguration, "marin3r-x"),
    (DSC, "a/envoy-sidecar-client-cert"),
    (ConfigMap, "a/envoy-sidecar-bootstrap"),
    (Role, "a/marin3r-x"),
    (RoleBinding, "a/marin3r-x"),
]
LABELS = {
    "app.kubernetes.io/name": "marin3r",
    "app.kubernetes.io/managed-by": "marin3r-operator",
    "app.kubernetes.io/component": "discovery-service",
    "app.kubernetes.io/instance": "x",
}


@pytest.mark.scenario("DS-1")
async def test_a_control_plane_is_installed_and_reports_ready(serving: Serving) -> None:
    await serving.served("a")
    uid = (await serving.get())["metadata"]["uid"]
    for kind, name in OBJECTS:
        found = await serving.find(kind, name)
        assert found is not None, f"{kind.kind} {name}"
        assert found["metadata"]["labels"].items() >= LABELS.items(), name
        [owner] = found["metadata"]["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (uid, True), name
    assert await serving.labels("a") == {"status": "enabled", "discovery-service": "x"}
    assert await serving.conditions() == {
        "Ready": "True/Serving",
        "Conflict": "False/NoOther",
        "Degraded": "False/AsExpected",
    }
    status = await serving.status()
    assert status["deploymentName"] == "marin3r-x"
    assert status["deploymentStatus"]["availableReplicas"] == 2


async def test_writes_are_one_per_object_and_few_statuses(serving: Serving) -> None:
    calls = await serving.served("a")
    ours = [one for one in calls if one.verb in {"create", "update", "patch", "delete"}]
    ours = [one for one in ours if ("dryRun", "All") not in one.query]
    per_object = [
        one
        for one in ours
        if one.resource is not None
        and one.resource.kind not in {"DiscoveryService", "Secret", "Event", "Namespace"}
        and "status" not in one.path
        and one.verb != "patch"  # by the controller of certificates
    ]
    assert len(per_object) == len(OBJECTS), calls
    about = [one for one in ours if one.resource and one.resource.kind == "DiscoveryService"]
    statuses = [one for one in about if one.path.endswith("/status")]
    assert len(about) - len(statuses) == 1, "the finalizer"
    assert len(statuses) <= 3, statuses
    assert (
        len(calls.of("Namespace"))
        == len([c for c in calls.of("Namespace") if c.verb != "patch"]) + 1
    )


@pytest.mark.scenario("DS-5")
async def test_nothing_changed_means_no_write(serving: Serving) -> None:
    await serving.served("a")
    await serving.advance(30)
    assert (await serving.advance(3600)).writes == 0
    assert (await serving.cluster.restart()).writes == 0
    assert (await serving.advance(60)).writes == 0


@pytest.mark.scenario("DS-3")
async def test_pods_wait_for_the_certificate_of_the_server(serving: Serving) -> None:
    service, issuer = serving.operators
    serving.operators = (service,)
    await serving.namespace("infra", "a")
    await serving.declare("a")
    await serving.advance(60)
    assert await serving.find(DSC, "infra/marin3r-server-cert-x") is not None
    assert await serving.find(Deployment, "infra/marin3r-x") is None
    assert await serving.find(MutatingWebhookConfiguration, "marin3r-x") is None
    assert (await serving.conditions())["Ready"] == "False/CertificatePending"
    assert "Secret infra/marin3r-server-cert-x" in await serving.message("Ready")
    events = await serving.cluster.client.list(Event, "")
    assert not [one for one in events.items if one["type"] == "Warning"]
    serving.operators = (service, issuer)
    await serving.until_ready()
    assert await serving.find(Deployment, "infra/marin3r-x") is not None


@pytest.mark.scenario("DS-6")
async def test_debug_changes_the_arguments_and_is_one_rollout(serving: Serving) -> None:
    await serving.served("a")
    before = await serving.find(Deployment, "infra/marin3r-x")
    await serving.change(debug=True)
    calls = await serving.advance(30)
    after = await serving.find(Deployment, "infra/marin3r-x")
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    [old], [new] = (one["spec"]["template"]["spec"]["containers"] for one in (before, after))
    assert new.pop("args") == [*old.pop("args"), "--debug"]
    assert (old, before["spec"]["template"]["metadata"]) == (
        new,
        after["spec"]["template"]["metadata"],
    )
    written = [one for one in calls if one.verb in {"create", "update", "delete"}]
    written = [one for one in written if ("dryRun", "All") not in one.query]
    assert {one.resource.kind for one in written if one.resource} == {"Deployment"}


@pytest.mark.scenario("DS-7")
async def test_ports_image_and_resources_follow(serving: Serving) -> None:
    await serving.served("a")
    limits = {"limits": {"memory": "256Mi"}}
    await serving.change(xdsServerPort=19000, webhookPort=9443, image="other:2", resources=limits)
    await serving.until_ready()
    deployment = await serving.find(Deployment, "infra/marin3r-x")
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "other:2"
    assert container["resources"] == limits
    assert {"--xdss-port=19000", "--webhook-port=9443"} <= set(container["args"])
    ports = {one["name"]: one["containerPort"] for one in container["ports"]}
    assert (ports["discovery"], ports["webhook"]) == (19000, 9443)
    service = await serving.find(Service, "infra/marin3r-x")
    assert {one["name"]: one["port"] for one in service["spec"]["ports"]}["discovery"] == 19000
    bootstrap = await serving.find(ConfigMap, "a/envoy-sidecar-bootstrap")
    [cluster] = orjson.loads(bootstrap["data"]["config.json"])["static_resources"]["clusters"]
    [endpoint] = cluster["load_assignment"]["endpoints"][0]["lb_endpoints"]
    socket = endpoint["endpoint"]["address"]["socket_address"]
    assert socket == {"address": "marin3r-x.infra.svc", "port_value": 19000}


@pytest.mark.scenario("DS-8")
async def test_a_labelled_pod_gets_its_sidecar(serving: Serving) -> None:
    await serving.served("a")
    pod = await serving.pod("a", node_id="gateway", ports="http:8080")
    app, envoy = pod["spec"]["containers"]
    assert (app["name"], envoy["name"]) == ("app", "envoy-sidecar")
    assert envoy["args"][:4] == [
        "-c",
        "/etc/envoy/bootstrap/config.json",
        "--service-node",
        "gateway",
    ]
    mounted = {one["name"]: one for one in pod["spec"]["volumes"]}
    secret = mounted["envoy-sidecar-tls"]["secret"]["secretName"]
    config = mounted["envoy-sidecar-bootstrap"]["configMap"]["name"]
    assert await serving.find(Secret, f"a/{secret}") is not None
    assert await serving.find(ConfigMap, f"a/{config}") is not None


@pytest.mark.scenario("DS-9")
async def test_without_namespaces_the_webhook_selects_nothing(serving: Serving) -> None:
    await serving.namespace("b")
    await serving.served()
    assert await serving.find(MutatingWebhookConfiguration, "marin3r-x") is not None
    pod = await serving.pod("b", node_id="gateway")
    assert [one["name"] for one in pod["spec"]["containers"]] == ["app"]
    assert (await serving.conditions())["Ready"] == "True/Serving"


async def test_ready_means_that_a_pod_came_back_injected(serving: Serving) -> None:
    serving.played.answers = False
    await serving.namespace("infra", "a")
    await serving.declare("a")
    await serving.advance(60)
    assert (await serving.conditions())["Ready"] == "False/WebhookNotReached"
    assert "connection refused" in await serving.message("Ready")
    serving.played.answers = True
    await serving.until_ready()


async def test_events_do_not_put_off_the_next_attempt(serving: Serving) -> None:
    """Each event takes a pass; only those that are due try, and let the delay grow."""
    serving.played.answers = False
    await serving.namespace("infra", "a")
    await serving.declare("a")
    while (await serving.conditions()).get("Ready") != "False/WebhookNotReached":
        await serving.advance(1)
    tried = serving.played.tried
    for number in range(30):
        await serving.cluster.patch(
            Namespace, "a", {"metadata": {"labels": {"event": str(number)}}}
        )
        await serving.settle()
    assert serving.played.tried - tried <= 2
    serving.played.answers = True
    await serving.until_ready(seconds=4)


async def test_ready_waits_for_all_pods_at_first(serving: Serving) -> None:
    serving.played.play = PodPlay(ready=5.0)
    await serving.namespace("infra", "a")
    await serving.declare("a")
    await serving.advance(3)
    assert (await serving.conditions())["Ready"].startswith("False")
    await serving.until_ready(seconds=20)


async def test_the_key_of_the_authority_is_in_no_workload(serving: Serving) -> None:
    await serving.served("a")
    deployment = await serving.find(Deployment, "infra/marin3r-x")
    volumes = deployment["spec"]["template"]["spec"]["volumes"]
    assert {one["secret"]["secretName"] for one in volumes} == {"marin3r-server-cert-x"}
    [authority] = [one for one in volumes if one["name"] == "ca-cert"]
    assert authority["secret"]["items"] == [{"key": "ca.crt", "path": "tls.crt"}]


async def test_secrets_are_read_in_enabled_namespaces_only(serving: Serving) -> None:
    await serving.served("a")
    role = await serving.find(ClusterRole, "marin3r-x")
    assert not [one for one in role["rules"] if "secrets" in one["resources"]]
    inside = await serving.find(Role, "a/marin3r-x")
    [rule] = [one for one in inside["rules"] if "secrets" in one["resources"]]
    assert rule["verbs"] == ["get", "list", "watch"]
    own = await serving.find(Role, "infra/marin3r-x")
    assert not [one for one in own["rules"] if "secrets" in one["resources"]]


async def test_the_api_server_is_given_the_authority(serving: Serving) -> None:
    await serving.served("a")
    secret = await serving.find(Secret, "infra/marin3r-ca-cert-x")
    [webhook] = (await serving.find(MutatingWebhookConfiguration, "marin3r-x"))["webhooks"]
    assert webhook["clientConfig"]["caBundle"] == secret["data"]["ca.crt"]
    trusted = await serving.find(ConfigMap, "infra/marin3r-ca-bundle-x")
    bundle = base64.b64decode(secret["data"]["ca.crt"]).decode()
    assert trusted["data"]["ca.crt"] == bundle


@pytest.mark.scenario("DS-18")
async def test_in_rollout_mode_pods_follow_the_certificate(serving: Serving) -> None:
    serving.played.play = PodPlay(start=1, ready=4, stop=2)
    await serving.served("a", certificateReload="Rollout")
    before = await hashes(serving)
    assert before["Deployment"] == before["Secret"] != ""
    ready: list[int] = []

    def count(_before: JsonObject | None, _after: JsonObject | None) -> None:
        pods = serving.cluster.server.held(Pod, Selection("infra"))
        ready.append(sum(map(is_ready, pods)))

    serving.cluster.server.on_change(count)
    await serving.cluster.delete(Secret, "infra/marin3r-server-cert-x")
    for _ in range(40):
        await serving.advance(1)
        assert await serving.is_injected("a")
    after = await hashes(serving)
    assert after["Deployment"] == after["Secret"] != before["Secret"]
    pods = list(serving.cluster.server.held(Pod, Selection("infra")))
    assert {one["metadata"]["labels"][HASH_LABEL] for one in pods} == {after["Secret"]}
    assert min(ready) >= 2, "a pod was taken away before another was ready"
    await serving.until_ready()


async def hashes(serving: Serving) -> dict[str, str]:
    """Return the hash that the Deployment has, and that of the certificate in the Secret."""
    deployment = await serving.find(Deployment, "infra/marin3r-x")
    secret = await serving.find(Secret, "infra/marin3r-server-cert-x")
    content = base64.b64decode(secret["data"]["tls.crt"])
    return {
        "Deployment": deployment["spec"]["template"]["metadata"]["labels"].get(HASH_LABEL, ""),
        "Secret": hash_of_certificate(content),
    }


def is_ready(pod: JsonObject) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    deleting = "deletionTimestamp" in pod["metadata"]
    return not deleting and any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


async def test_in_hot_reload_mode_pods_stay(serving: Serving) -> None:
    await serving.served("a")
    before = await serving.find(Deployment, "infra/marin3r-x")
    await serving.cluster.delete(Secret, "infra/marin3r-server-cert-x")
    await serving.advance(30)
    after = await serving.find(Deployment, "infra/marin3r-x")
    assert after["metadata"]["generation"] == before["metadata"]["generation"]


async def test_a_service_becomes_headless_and_back(serving: Serving) -> None:
    await serving.served("a")
    await serving.change(serviceConfig={"type": "Headless"})
    await serving.advance(30)
    service = await serving.find(Service, "infra/marin3r-x")
    assert service["spec"]["clusterIP"] == "None"
    await serving.change(serviceConfig={"type": "ClusterIP"})
    await serving.advance(30)
    service = await serving.find(Service, "infra/marin3r-x")
    assert service["spec"]["clusterIP"] not in {"None", ""}
