"""What runs: as 0.10 is known, repaired, and left alone where others may change it."""

from typing import Any

import pytest
from tests.component.operators.certmanager.ibm.conftest import CM, HERE, Ibm

from certwright.api.certmanagers import CertManagerInstallation
from certwright.kube import JsonObject
from certwright.kube.kinds import Deployment
from certwright.operators.certmanager.ibm.adapter import install_request
from certwright.operators.certmanager.v010.layout import layout

CONTROLLER, WATCHER = "cert-manager-controller", "configmap-watcher"
ELSEWHERE = (
    "The service cert-manager-controller is already deployed as other/cm. Please remove it if"
    " you want this version of cert-manager-controller to be deployed."
)


def part(obj: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        obj = obj[name]
    return obj


async def edit(ibm: Ibm, path: str, value: Any, name: str = CONTROLLER) -> None:
    """Let another client change one field of a Deployment."""
    change = [{"op": "add", "path": path, "value": value}]
    kind = "application/json-patch+json"
    await ibm.cluster.patch(Deployment, f"{HERE}/{name}", change, type=kind)


@pytest.mark.scenario("CM-28")
async def test_both_deployments_are_created_as_declared(ibm: Ibm) -> None:
    await ibm.declare()
    await ibm.until_ready()
    found = {one["metadata"]["name"] for one in (await ibm.cluster.client.list(Deployment)).items}
    assert found == {CONTROLLER, WATCHER}
    container = await ibm.container(CONTROLLER)
    assert container["args"][0] == "--cluster-resource-namespace=kube-system"
    assert container["image"] == "quay.io/icp-cert-manager-controller:0.10.0"
    assert (await ibm.container(WATCHER))["args"] == ["--v=0"]


@pytest.mark.scenario("CM-29")
@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/spec/replicas", 3),
        ("/spec/template/spec/containers/0/image", "evil"),
        ("/spec/template/spec/containers/0/args/0", "--evil"),
        ("/spec/template/spec/serviceAccountName", "default"),
        ("/spec/template/spec/containers/0/env/1/value", "false"),
        ("/spec/template/spec/containers/0/livenessProbe/initialDelaySeconds", 1),
        ("/spec/template/spec/containers/0/resources/limits/cpu", "2"),
        ("/spec/template/spec/containers/0/securityContext/privileged", True),
    ],
)
async def test_an_edited_field_is_restored_and_logged(
    ibm: Ibm, capsys: pytest.CaptureFixture[str], path: str, value: Any
) -> None:
    await ibm.installed()
    before = (await ibm.deployment(CONTROLLER))["spec"]
    capsys.readouterr()
    await edit(ibm, path, value)
    await ibm.settle()
    assert (await ibm.deployment(CONTROLLER))["spec"] == before
    (line,) = [one for one in capsys.readouterr().out.splitlines() if "not equal" in one]
    assert "v=1" in line
    assert CONTROLLER in line


@pytest.mark.scenario("CM-30")
@pytest.mark.parametrize(
    "path",
    [
        "/metadata/labels/theirs",
        "/metadata/annotations/theirs",
        "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt",
        "/spec/template/metadata/labels/watcher.ibm.com~1restart-time",
        "/spec/template/metadata/labels/certmanager.k8s.io~1time-restarted",
    ],
)
async def test_what_others_add_is_kept(ibm: Ibm, path: str) -> None:
    await ibm.installed()
    await edit(ibm, path, "2026-11-16")
    calls = await ibm.advance(20)
    assert calls.of("Deployment").writes == 0
    names = [name.replace("~1", "/") for name in path.strip("/").split("/")]
    assert part(await ibm.deployment(CONTROLLER), tuple(names)) == "2026-11-16"


@pytest.mark.scenario("CM-31")
async def test_quantities_are_compared_as_numbers(ibm: Ibm) -> None:
    sizes = {"cpu": "1000m", "memory": "1024Mi"}
    await ibm.installed(certManagerController={"resources": {"limits": sizes}})
    container = {"name": CONTROLLER, "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    same = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": CONTROLLER, "namespace": HERE},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    await ibm.cluster.apply(same, field_manager="other")  # which holds these fields, too
    assert (await ibm.advance(20)).of("Deployment").writes == 0
    assert (await ibm.restart()).of("Deployment").writes == 0


@pytest.mark.scenario("CM-32")
async def test_a_probe_of_another_kind_is_replaced(ibm: Ibm) -> None:
    await ibm.installed()
    before = await ibm.container(CONTROLLER)
    probe = {"httpGet": {"path": "/", "port": 80}}
    await edit(ibm, "/spec/template/spec/containers/0/livenessProbe", probe)
    await ibm.settle()
    assert (await ibm.container(CONTROLLER))["livenessProbe"] == before["livenessProbe"]


@pytest.mark.scenario("CM-34")
async def test_without_a_registry_the_default_is_back(ibm: Ibm) -> None:
    await ibm.installed(imageRegistry="reg.example.com/x/")
    other = "reg.example.com/x/icp-cert-manager-controller:0.10.0"
    assert (await ibm.container(CONTROLLER))["image"] == other
    await ibm.change(imageRegistry=None)
    await ibm.until_ready()
    container = await ibm.container(CONTROLLER)
    assert container["image"] == "quay.io/icp-cert-manager-controller:0.10.0"
    assert not [one for one in container["args"] if "reg.example.com" in one]


@pytest.mark.scenario("CM-35")
async def test_the_postfix_is_appended_once(ibm: Ibm) -> None:
    await ibm.installed(imagePostFix="-amd64")
    for number in range(10):
        mark = {"metadata": {"annotations": {"example.com/pass": str(number)}}}
        await ibm.cluster.patch(CM, "default", mark)
        assert (await ibm.settle()).writes == 0
    assert (await ibm.container(CONTROLLER))["image"].endswith(":0.10.0-amd64")
    assert (await ibm.container(WATCHER))["image"].endswith(":3.3.0-amd64")


@pytest.mark.scenario("CM-37")
async def test_limits_are_replaced_and_requests_keep_the_default(ibm: Ibm) -> None:
    limits = {"cpu": "2", "memory": "1Gi"}
    await ibm.installed(enableWebhook=True, certManagerWebhook={"resources": {"limits": limits}})
    resources = (await ibm.container("cert-manager-webhook"))["resources"]
    assert resources == {"limits": limits, "requests": {"cpu": "100m", "memory": "300Mi"}}
    assert (await ibm.container(CONTROLLER))["resources"]["limits"]["cpu"] == "500m"


def elsewhere(namespace: str, name: str, image: str, **labels: str) -> JsonObject:
    """Return a Deployment of another cert-manager."""
    labels = labels or {"a": "b"}
    pod = {"containers": [{"name": "c", "image": image}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


@pytest.mark.scenario("CM-39")
@pytest.mark.parametrize(
    ("image", "labels"),
    [
        ("quay.io/icp-cert-manager-controller:0.9", {}),
        ("other", {"app": "ibm-cert-manager-controller"}),
        ("quay.io/jetstack/cert-manager-controller:v1.21.2", {}),
    ],
    ids=["image", "label", "community"],
)
async def test_another_cert_manager_is_named_and_not_deleted(
    ibm: Ibm, image: str, labels: dict[str, str]
) -> None:
    await ibm.namespace("other")
    await ibm.cluster.create(elsewhere("other", "cm", image, **labels))
    await ibm.declare()
    await ibm.advance(30)
    assert await ibm.find(Deployment, "other/cm")
    assert await ibm.deployment(CONTROLLER) is None
    assert await ibm.text() == "Error deploying cert-manager"
    assert await ibm.events("Failed") == [ELSEWHERE]
    assert (await ibm.conditions())["Conflict"] == "True/AlreadyDeployed"
    await ibm.cluster.delete(Deployment, "other/cm")
    await ibm.until_ready()


@pytest.mark.scenario("CM-40")
async def test_a_deployment_that_is_deleted_comes_back(ibm: Ibm) -> None:
    await ibm.installed()
    for name in (CONTROLLER, WATCHER):
        before = await ibm.deployment(name)
        await ibm.cluster.delete(Deployment, f"{HERE}/{name}")
        await ibm.settle()
        assert (await ibm.deployment(name))["metadata"]["uid"] != before["metadata"]["uid"]


async def test_all_objects_of_the_layout_are_in_the_inventory(ibm: Ibm) -> None:
    await ibm.installed(enableWebhook=True)
    found = await ibm.cluster.get(CertManagerInstallation, "default")
    wanted = {one.ref.id for one in layout(install_request(found)).objects()}
    assert set((await ibm.status())["inventory"]) == wanted
