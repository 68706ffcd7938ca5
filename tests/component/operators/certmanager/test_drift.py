"""What others do to the objects of an installation, and what becomes of it."""

import pytest
from tests.component.operators.certmanager.conftest import V121, Installing, named

from certwright.apply import ObjectRef
from certwright.kube import JsonObject, Key, Resource
from certwright.kube.kinds import (
    ClusterRole,
    ClusterRoleBinding,
    CustomResourceDefinition,
    Deployment,
    MutatingWebhookConfiguration,
    Namespace,
    Pod,
    Role,
    Service,
    ServiceAccount,
    ValidatingWebhookConfiguration,
)
from certwright.testkit import Calls
from certwright.testkit.actors.certmanager import small_release

CONTROLLER, WEBHOOK = "cert-manager/cert-manager", "cert-manager/cert-manager-webhook"
SOON = 5


def written(calls: Calls) -> int:
    """Return how many objects were written, but for events."""
    return calls.writes - calls.of("Event").writes


async def pods(installing: Installing) -> set[str]:
    """Return which pods run: their uids."""
    found = await installing.cluster.client.list(Pod, "cert-manager")
    return {pod["metadata"]["uid"] for pod in found.items}


async def edit(
    installing: Installing, kind: Resource, name: str, change: JsonObject
) -> tuple[JsonObject, Calls]:
    """Let another client change an object; return what becomes of it, and the calls."""
    await installing.cluster.patch(kind, name, change)
    calls = await installing.advance(SOON)
    return await installing.find(kind, name), calls


@pytest.mark.scenario("CMD-16")
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (ServiceAccount, CONTROLLER),
        (Role, "kube-system/cert-manager:leaderelection"),
        (Service, WEBHOOK),
        (Deployment, WEBHOOK),
        (ValidatingWebhookConfiguration, "cert-manager-webhook"),
        (MutatingWebhookConfiguration, "cert-manager-webhook"),
    ],
)
async def test_what_is_deleted_comes_back(
    installing: Installing, kind: Resource, name: str
) -> None:
    await installing.installed()
    before = (await installing.find(kind, name))["metadata"]["uid"]
    await installing.cluster.delete(kind, name)
    await installing.advance(SOON)
    assert (await installing.find(kind, name))["metadata"]["uid"] != before


@pytest.mark.scenario("CMD-17")
async def test_definitions_come_back(installing: Installing) -> None:
    await installing.installed()
    name = "orders.acme.cert-manager.io"
    await installing.cluster.delete(CustomResourceDefinition, name)
    await installing.advance(SOON)
    assert await installing.find(CustomResourceDefinition, name) is not None
    await installing.until_available()


@pytest.mark.scenario("CMD-17")
async def test_the_namespace_comes_back_with_all_that_was_in_it(installing: Installing) -> None:
    await installing.installed()
    await installing.cluster.delete(Namespace, "cert-manager")
    await installing.advance(60)
    await installing.until_available()
    for one in small_release(V121):
        assert await installing.exists(ObjectRef.of(one))


@pytest.mark.scenario("CMD-18")
async def test_rules_are_restored(installing: Installing) -> None:
    await installing.installed()
    name = "cert-manager-controller-issuers"
    rules = (await installing.find(ClusterRole, name))["rules"]
    extra = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
    found, calls = await edit(installing, ClusterRole, name, {"rules": [*rules, extra]})
    assert found["rules"] == rules
    assert written(calls) == 1
    [note] = await installing.events("DriftCorrected")
    assert "rules" in note
    assert name in note


@pytest.mark.scenario("CMD-19")
async def test_subjects_are_restored(installing: Installing) -> None:
    await installing.installed()
    name = "cert-manager-controller-issuers"
    subjects = (await installing.find(ClusterRoleBinding, name))["subjects"]
    extra = {"kind": "User", "name": "eve", "apiGroup": "rbac.authorization.k8s.io"}
    found, _ = await edit(installing, ClusterRoleBinding, name, {"subjects": [*subjects, extra]})
    assert found["subjects"] == subjects


@pytest.mark.scenario("CMD-20")
async def test_a_binding_to_another_role_is_recreated(installing: Installing) -> None:
    await installing.installed()
    name = "cert-manager-controller-issuers"
    binding = await installing.find(ClusterRoleBinding, name)
    metadata = {part: binding["metadata"][part] for part in ("name", "labels", "annotations")}
    await installing.cluster.delete(ClusterRoleBinding, name)
    await installing.cluster.create(
        {**binding, "metadata": metadata, "roleRef": {**binding["roleRef"], "name": "view"}}
    )
    await installing.advance(SOON)
    found = await installing.find(ClusterRoleBinding, name)
    assert found["roleRef"] == binding["roleRef"]
    notes = await installing.events("CreatingClusterRoleBinding")
    assert sum(name in note for note in notes) >= 1


@pytest.mark.scenario("CMD-21")
async def test_replicas_return_and_no_pod_is_replaced(installing: Installing) -> None:
    await installing.installed()
    before = await pods(installing)
    await installing.cluster.patch(
        Deployment, CONTROLLER, {"spec": {"replicas": 3}}, subresource="scale"
    )
    await installing.advance(30)
    assert (await installing.find(Deployment, CONTROLLER))["spec"]["replicas"] == 1
    assert await pods(installing) <= before | await pods(installing)
    assert len(before & await pods(installing)) >= 2


@pytest.mark.scenario("CMD-22")
async def test_replicas_of_an_autoscaler_stay(installing: Installing) -> None:
    await installing.installed(webhook={"autoscaled": True})
    await installing.cluster.patch(Deployment, WEBHOOK, {"spec": {"replicas": 3}})
    await installing.advance(30)
    assert (await installing.find(Deployment, WEBHOOK))["spec"]["replicas"] == 3
    await installing.change(logLevel=4)
    await installing.until_available()
    assert (await installing.find(Deployment, WEBHOOK))["spec"]["replicas"] == 3


@pytest.mark.scenario("CMD-23")
async def test_labels_and_annotations_of_others_stay(installing: Installing) -> None:
    await installing.installed()
    foreign = {"metadata": {"labels": {"team": "pki"}, "annotations": {"note": "x"}}}
    client = installing.cluster.client
    refs = [ObjectRef.of(one) for one in small_release(V121)]
    for ref in refs:
        await client.patch(await client.discovery.resource_for(ref.gvk), ref.key, foreign)
    await installing.advance(SOON)
    await installing.change(logLevel=4)
    await installing.until_available()
    for ref in refs:
        metadata = (await installing.object(ref))["metadata"]
        assert metadata["labels"]["team"] == "pki", ref
        assert metadata["annotations"]["note"] == "x", ref


@pytest.mark.scenario("CMD-24")
async def test_only_our_label_is_restored(installing: Installing) -> None:
    await installing.installed()
    labels = {"app": "other", "team": "pki"}
    found, calls = await edit(installing, Service, WEBHOOK, {"metadata": {"labels": labels}})
    assert found["metadata"]["labels"]["app"] == "webhook"
    assert found["metadata"]["labels"]["team"] == "pki"
    assert written(calls) == 1


@pytest.mark.scenario("CMD-25")
async def test_a_further_key_of_a_selector_goes(installing: Installing) -> None:
    await installing.installed()
    selector = (await installing.find(Service, WEBHOOK))["spec"]["selector"]
    found, _ = await edit(installing, Service, WEBHOOK, {"spec": {"selector": {"x": "y"}}})
    assert found["spec"]["selector"] == selector


@pytest.mark.scenario("CMD-26")
async def test_an_injected_command_goes_and_a_sidecar_stays(installing: Installing) -> None:
    await installing.installed()
    deployment = await installing.find(Deployment, CONTROLLER)
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    sidecar = {"name": "istio-proxy", "image": "mesh/proxy:1"}
    changed = [{**container, "command": ["/evil"]}, sidecar]
    template = {"spec": {"containers": changed}}
    found, _ = await edit(installing, Deployment, CONTROLLER, {"spec": {"template": template}})
    ours, theirs = found["spec"]["template"]["spec"]["containers"]
    assert "command" not in ours
    assert theirs["name"] == "istio-proxy"


@pytest.mark.scenario("CMD-27")
async def test_a_ca_bundle_is_left_alone(installing: Installing) -> None:
    await installing.installed()
    kind, name = ValidatingWebhookConfiguration, "cert-manager-webhook"
    [webhook] = (await installing.find(kind, name))["webhooks"]
    bundle = webhook["clientConfig"]["caBundle"]
    assert bundle
    [rule] = webhook["rules"]
    changed = {**webhook, "rules": [{**rule, "operations": ["DELETE"]}]}
    found, calls = await edit(installing, kind, name, {"webhooks": [changed]})
    assert found["webhooks"][0]["rules"] == webhook["rules"]
    assert found["webhooks"][0]["clientConfig"]["caBundle"] == bundle
    assert all(
        request.body is None or bundle.encode() in request.body
        for request in calls.of(kind.kind)
        if request.verb == "update"
    )
    assert written(await installing.advance(60)) == 0


@pytest.mark.parametrize("kind", [ValidatingWebhookConfiguration, MutatingWebhookConfiguration])
async def test_a_registration_comes_back_with_its_ca_bundle(
    installing: Installing, kind: Resource
) -> None:
    await installing.installed()
    name = "cert-manager-webhook"
    [webhook] = (await installing.find(kind, name))["webhooks"]
    await installing.cluster.delete(kind, name)
    calls = await installing.settle()
    [created] = [request for request in calls.of(kind.kind) if request.verb == "create"]
    assert created.body is not None
    assert webhook["clientConfig"]["caBundle"].encode() in created.body
    await installing.advance(60)
    assert (await installing.find(kind, name))["webhooks"] == [webhook]


@pytest.mark.scenario("CMD-28")
async def test_roles_for_secrets_are_not_given_to_users(installing: Installing) -> None:
    await installing.installed()
    prefix = "rbac.authorization.k8s.io/aggregate-to-"
    labels = {f"{prefix}{role}": "true" for role in ("admin", "edit", "view")}
    name = "cert-manager-controller-certificates"
    found, _ = await edit(
        installing, ClusterRole, name, {"metadata": {"labels": {**labels, "team": "pki"}}}
    )
    assert not any(label.startswith(prefix) for label in found["metadata"]["labels"])
    assert found["metadata"]["labels"]["team"] == "pki"


@pytest.mark.scenario("CMD-29")
async def test_another_order_of_arguments_is_no_drift(installing: Installing) -> None:
    await installing.installed()
    deployment = await installing.find(Deployment, CONTROLLER)
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    reordered = [{**container, "args": container["args"][::-1]}]
    template = {"spec": {"containers": reordered}}
    found, calls = await edit(installing, Deployment, CONTROLLER, {"spec": {"template": template}})
    assert calls.of("Deployment").writes == 0
    assert found["spec"]["template"]["spec"]["containers"][0]["args"] == container["args"][::-1]
    changed = [{**container, "args": ["--v=9", *container["args"][:0:-1]]}]
    template = {"spec": {"containers": changed}}
    found, _ = await edit(installing, Deployment, CONTROLLER, {"spec": {"template": template}})
    assert found["spec"]["template"]["spec"]["containers"][0]["args"] == container["args"]


@pytest.mark.scenario("CMD-30")
async def test_defaults_of_the_server_are_no_drift(installing: Installing) -> None:
    await installing.installed()
    deployment = await installing.find(Deployment, CONTROLLER)
    declared = named(small_release(V121), "cert-manager", "Deployment")
    assert "strategy" in deployment["spec"]
    assert "strategy" not in declared["spec"]
    assert written(await installing.restart()) == 0
    key = Key("cert-manager", "cert-manager")
    status = {"status": {**deployment["status"], "collisionCount": 1}}
    await installing.cluster.client.patch(Deployment, key, status, subresource="status")
    assert installing.running is not None
    assert (await installing.advance(SOON)).of("Deployment").writes == 0
