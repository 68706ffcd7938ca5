"""What a CertManager tells: its status, its log, and who else holds the installation."""

import re
from dataclasses import replace

import pytest
from tests.component.operators.certmanager.conftest import CMD, V121, Installing
from tests.component.operators.certmanager.ibm.conftest import CM, HERE, Ibm

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.kube import crd_manifest
from certwright.kube.kinds import Deployment, Pod
from certwright.testkit.actors.podplay import PodPlay

DEPLOYED = "Successfully deployed cert-manager"


@pytest.mark.scenario("CM-56")
async def test_deployed_is_told_before_ready(ibm: Ibm) -> None:
    pods = {"*icp-cert-manager-controller:*": PodPlay(ready=30)}
    ibm.played.play = replace(ibm.played.play, pods=pods)
    await ibm.declare()
    await ibm.advance(10)
    assert await ibm.text() == DEPLOYED
    assert (await ibm.conditions())["Ready"] == "False/PodsNotAvailable"
    assert (await ibm.status())["phase"] == "Pending"
    await ibm.advance(30)
    assert await ibm.text() == DEPLOYED
    assert (await ibm.conditions())["Ready"] == "True/Deployed"
    status = await ibm.status()
    assert (status["phase"], status["observedGeneration"]) == ("Running", 1)
    assert (status["version"], status["managedResources"]) == ("v0.10.0", 12)
    told = {one["name"]: (one["ready"], one["desired"]) for one in status["deployments"]}
    assert told == {"cert-manager-controller": (1, 1), "configmap-watcher": (1, 1)}


LEVELS = {
    "Reconciling CertManager": 0,
    "cert-manager namespace does not exist, creating it": 1,
    "Did not find custom resource, creating it now": 1,
    "Creating cluster role": 2,
    "Created image pull secret": 2,
    "Deploys are equal, no changes needed": 3,
    "Looked at": 4,
}


@pytest.mark.scenario("CM-57")
@pytest.mark.parametrize("verbosity", range(5))
async def test_lines_appear_up_to_the_verbosity_and_no_secrets(
    ibm: Ibm, capsys: pytest.CaptureFixture[str], verbosity: int
) -> None:
    ibm.verbosity = verbosity
    await ibm.secret("src/my", "c2VjcmV0LXZhbHVl")
    await ibm.installed(pullSecret={"name": "my", "namespace": "src"})
    out = capsys.readouterr().out
    ours = [line for line in out.splitlines() if "controller_certmanager" in line]
    found = {int(level) for line in ours for level in re.findall(r"\bv=(\d)", line)}
    assert found == set(range(verbosity + 1))
    for text, level in LEVELS.items():
        assert (text in out) is (level <= verbosity), text
    assert "c2VjcmV0LXZhbHVl" not in out
    assert "secret-value" not in out


async def pods(ibm: Ibm) -> set[str]:
    found = await ibm.cluster.client.list(Pod, HERE)
    return {pod["metadata"]["uid"] for pod in found.items}


@pytest.mark.scenario("CM-64")
async def test_the_second_waits_and_takes_over_without_new_pods(ibm: Ibm) -> None:
    await ibm.installed(version=V121)
    running, uids = await pods(ibm), await ibm.cluster.client.list(Deployment, HERE)
    other = Installing(ibm.cluster, ibm.played)
    await ibm.cluster.install(crd_manifest(CertManagerDeployment))
    await ibm.cluster.create(other.resource(version=V121))
    assert ibm.running is not None
    assert (await ibm.cluster.settle(ibm.running, other.operator())).of("Deployment").writes == 0
    assert (await ibm.conditions())["Ready"] == "True/Deployed"
    told = (await ibm.cluster.get(CMD, "cluster"))["status"]["conditions"]
    assert [one for one in told if "CertManager/default" in one.get("message", "")]
    await ibm.cluster.delete(CM, "default")
    await ibm.cluster.advance(seconds=60)
    assert await ibm.find(CM, "default") is None
    assert (await other.conditions())["Available"].startswith("True")
    assert await pods(ibm) == running
    found = await ibm.find(Deployment, f"{HERE}/cert-manager")
    assert found["metadata"]["annotations"]["operators.redhat.io/owner"] == "cluster"
    after = await ibm.cluster.client.list(Deployment, HERE)
    assert {one["metadata"]["uid"] for one in after.items} == {
        one["metadata"]["uid"] for one in uids.items
    }


async def test_a_certmanager_that_comes_second_touches_nothing(ibm: Ibm) -> None:
    other = Installing(ibm.cluster, ibm.played)
    await other.installed(V121)
    await ibm.declare()
    calls = await ibm.advance(60)
    assert calls.of("Deployment").writes == 0
    assert (await ibm.conditions())["Conflict"] == "True/HeldByOther"
    assert "CertManagerDeployment/cluster" in await ibm.message("Conflict")
    assert await ibm.deployment("cert-manager-controller") is None
    await ibm.cluster.delete(CM, "default")
    await ibm.cluster.advance(seconds=5)
    assert await ibm.find(CM, "default") is None
    assert await ibm.deployment("cert-manager")
