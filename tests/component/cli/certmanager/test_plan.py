"""`certwright cert-manager plan` and `adopt`: what is told before is what happens afterwards."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.component.operators.certmanager.conftest import V119, V120, V121, Installing

from certwright.api.certmanagers import CertManagerInstallation
from certwright.apply import Action, Declared
from certwright.bundles.catalogue import load
from certwright.bundles.sources import BundleSet
from certwright.cli.apply.results import differences
from certwright.cli.certmanager.adopt import (
    consequences,
    installer_of,
    installers_of,
    takeover_text,
)
from certwright.cli.certmanager.inputs import Asked, decoded, read_cluster
from certwright.cli.certmanager.plan import headline, note_lines, problem_lines
from certwright.cli.options import Output
from certwright.kube import JsonObject
from certwright.kube.kinds import Deployment, Namespace
from certwright.operators.certmanager.preview import InstallPreview, restarted
from certwright.operators.certmanager.source import BundleSource
from certwright.testkit import EmbeddedCluster
from certwright.testkit.actors.certmanager import (
    CertManagerPlay,
    PlayedCertManager,
    small_release,
)
from certwright.testkit.builders import secret

_REFUSED = f"cert-manager {V120} cannot be installed as it is asked"


@pytest.fixture
async def installing(embedded_cluster: EmbeddedCluster) -> Installing:
    played = await embedded_cluster.enter(PlayedCertManager(embedded_cluster, CertManagerPlay()))
    return Installing(embedded_cluster, played)


async def planned(installing: Installing, asked: Asked) -> InstallPreview:
    found = BundleSet(installing.bundles, installing.errors)
    source = BundleSource(lambda: found, load(), default=installing.default)
    client = installing.cluster.client
    client.discovery.invalidate()
    request = asked.request(source)
    return await asked.preview(client, request, source, clock=installing.cluster.clock)


async def asked_by(installing: Installing, **spec: Any) -> Asked:
    """Return the custom resource of the cluster with another spec, as a file would have it."""
    stored = await installing.get()
    return decoded({**installing.resource(**spec), "status": stored.get("status") or {}}, "file")


def actions(found: InstallPreview) -> dict[str, Action]:
    return {f"{one.ref.kind} {one.ref.name}": one.action for one in found.changes.entries}


async def test_a_first_installation_and_nothing_is_written(installing: Installing) -> None:
    asked = decoded(installing.resource(version=V121), "file")
    found = await planned(installing, asked)
    assert headline(found) == f"cert-manager {V121} would be installed in cert-manager"
    assert set(actions(found).values()) == {Action.CREATED}
    assert "Deployment cert-manager-webhook" in actions(found)
    assert list(problem_lines(found)) == []
    assert await installing.find(Namespace, "cert-manager") is None


async def test_what_is_installed_would_not_be_changed(installing: Installing) -> None:
    await installing.installed(V121)
    found = await planned(installing, await read_cluster(installing.cluster.client))
    assert headline(found) == f"cert-manager {V121} stays"
    assert not found.changes.changed
    assert list(note_lines(found)) == []


async def test_an_upgrade_tells_what_changes_what_goes_and_what_to_know(
    installing: Installing,
) -> None:
    await installing.installed(V120)
    found = await planned(installing, await asked_by(installing, version=V121))
    assert headline(found) == f"cert-manager would be changed from {V120} to {V121}, step by step"
    assert actions(found)["Deployment cert-manager"] is Action.CONFIGURED
    notes = list(note_lines(found))
    assert notes[0].startswith("pods are replaced of: ")
    assert notes[1:] == [f"{minor}: {note}" for minor, note in load().notes(V120, V121)]
    assert len(notes) > 1
    told = {one.ref for one in found.changes.entries if one.action is not Action.UNCHANGED}
    before = {ref: await installing.object(ref) for ref in told}
    await installing.change(version=V121)
    await installing.until_available()
    for ref, obj in before.items():
        after = await installing.object(ref)
        assert after is None or obj is None or _written(after) != _written(obj), ref


def _written(obj: JsonObject) -> str:
    return str(obj["metadata"]["resourceVersion"])


async def test_what_would_be_pruned(installing: Installing) -> None:
    await installing.installed(V121, controller={"podDisruptionBudget": {}})
    found = await planned(installing, await asked_by(installing, version=V121))
    going = {name for name, action in actions(found).items() if action is Action.DELETED}
    assert going == {"PodDisruptionBudget cert-manager"}
    assert restarted(found.changes) == []


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"version": V121}, "VersionsSkipped: v1.19.5 is installed"),
        ({"version": "v1.18.6"}, "DowngradeRefused: v1.19.5 is installed"),
        (
            {
                "version": V120,
                "dangerZone": {"containerArgOverrides": {"webhook": {"no-such-flag": "x"}}},
            },
            "InvalidOverride: v1.19.5 stays",
        ),
    ],
)
async def test_what_stands_in_the_way(
    installing: Installing, spec: dict[str, Any], told: str
) -> None:
    await installing.installed(V119)
    found = await planned(installing, await asked_by(installing, **spec))
    problems = list(problem_lines(found))
    assert [problem for problem in problems if problem.startswith(told)], problems
    assert not found.changes.changed
    stays = f"cert-manager {V119} stays: what is asked for cannot be installed"
    assert headline(found) in {stays, f"nothing would be changed: {_REFUSED}"}


async def test_the_secret_with_which_images_are_pulled_is_part_of_the_plan(
    installing: Installing,
) -> None:
    kind = CertManagerInstallation.resource
    spec = {"version": V121, "pullSecret": {"name": "my", "namespace": "default"}}
    head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "default"}}
    asked = decoded({**head, "spec": spec}, "file")
    without = await planned(installing, asked)
    [problem] = problem_lines(without)
    assert problem.startswith("PullSecretMissing: ")
    assert not [name for name in actions(without) if name.startswith("Deployment")]
    await installing.cluster.create(secret("my", {"k": "hidden"}, namespace="default"))
    found = await planned(installing, asked)
    assert list(problem_lines(found)) == []
    assert actions(found)["Secret my"] is Action.CREATED
    assert "hidden" not in differences(found.changes, Output.TABLE)
    pods = [one.obj["spec"]["template"]["spec"] for one in deployments(found)]
    assert [pod["imagePullSecrets"] for pod in pods] == [[{"name": "my"}]] * 3


def deployments(found: InstallPreview) -> list[Declared]:
    return [one for one in found.plan.wanted.objects if one.ref.kind == "Deployment"]


async def test_flags_that_other_objects_follow_are_noted(installing: Installing) -> None:
    zone = {"containerArgOverrides": {"webhook": {"secure-port": 6443, "v": 4}}}
    asked = decoded(installing.resource(version=V121, dangerZone=zone), "file")
    [note] = note_lines(await planned(installing, asked))
    assert note.startswith("--secure-port of the webhook concerns other objects as well")


async def install_with_helm(installing: Installing) -> None:
    for manifest in small_release(V121):
        metadata = manifest["metadata"]
        labels = {**(metadata.get("labels") or {}), "app.kubernetes.io/managed-by": "Helm"}
        release = {"meta.helm.sh/release-name": "cm"}
        annotations = {**(metadata.get("annotations") or {}), **release}
        if manifest["kind"] in {"Namespace", "CustomResourceDefinition"}:
            await installing.cluster.apply(manifest)
            continue
        whole = {**metadata, "labels": labels, "annotations": annotations}
        await installing.cluster.apply({**manifest, "metadata": whole})
    await installing.cluster.advance(minutes=2)


async def test_a_foreign_installation_is_refused_and_can_be_adopted(
    installing: Installing,
) -> None:
    await install_with_helm(installing)
    refused = await planned(installing, decoded(installing.resource(version=V121), "file"))
    assert [line.partition(":")[0] for line in problem_lines(refused)] == ["ForeignInstallation"]
    assert headline(refused).startswith("nothing would be changed")
    asked = decoded(installing.resource(version=V121, adopt=True), "file")
    found = await planned(installing, asked)
    assert list(problem_lines(found)) == []
    foreign = found.plan.around.foreign
    who = await installers_of(installing.cluster.client, foreign)
    assert set(who.values()) == {"Helm release cm"}
    assert len(who) == len(foreign) > 5
    assert "Deployment" in takeover_text(found, who)
    assert "no pod is restarted" in consequences(found)
    templates = await _templates(installing)
    await installing.declare(version=V121, adopt=True)
    await installing.until_available()
    assert await _templates(installing) == templates


async def _templates(installing: Installing) -> list[JsonObject]:
    found = await installing.cluster.list(Deployment)
    return [one["spec"]["template"] for one in found]


@pytest.mark.parametrize(
    ("metadata", "who"),
    [
        ({"labels": {"app.kubernetes.io/managed-by": "Helm"}}, "Helm release not named"),
        ({"annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"}}, "kubectl"),
        ({"managedFields": [{"manager": "argocd"}, {"manager": "argocd"}]}, "argocd"),
        (
            {
                "managedFields": [
                    {"manager": "kube-controller-manager", "time": "2026-01-02T00:00:00Z"},
                    {"manager": "kubectl", "operation": "Apply", "time": "2026-01-03T00:00:00Z"},
                ]
            },
            "kubectl",
        ),
        (
            {
                "managedFields": [
                    {"manager": "cert-manager-cainjector", "time": "2026-01-02T00:00:00Z"},
                    {"manager": "kubectl-create", "time": "2026-01-01T00:00:00Z"},
                    {"manager": "kubelet", "subresource": "status"},
                ]
            },
            "kubectl-create",
        ),
        ({}, "not known"),
    ],
)
def test_who_installed_an_object(metadata: JsonObject, who: str) -> None:
    assert installer_of({"metadata": metadata}).removesuffix(" apply") == who


def test_nothing_to_adopt() -> None:
    told: Callable[..., str] = takeover_text
    assert told(None, {}).startswith("there is nothing to take over")
