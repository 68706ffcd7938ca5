"""Definitions, the namespace and roles: what comes before anything runs."""

from typing import Any

import pytest
from tests.component.operators.certmanager.ibm.conftest import CM, HERE, Ibm

from certwright.kube import JsonObject
from certwright.kube.kinds import (
    ClusterRole,
    ClusterRoleBinding,
    ConfigMap,
    CustomResourceDefinition,
    Namespace,
    ServiceAccount,
)
from certwright.operators.certmanager.v010.definitions import definitions
from certwright.operators.certmanager.v010.roles import RULES

NAMES = [one["metadata"]["name"] for one in definitions()]
ISSUERS = "issuers.certmanager.k8s.io"
LABEL = "certmanager.k8s.io/disable-validation"


def foreign(obj: JsonObject, **labels: str) -> JsonObject:
    """Return a definition as others would install it."""
    return {**obj, "metadata": {"name": obj["metadata"]["name"], "labels": labels}}


@pytest.mark.scenario("CM-7")
async def test_all_definitions_are_established_and_have_no_owner(ibm: Ibm) -> None:
    await ibm.declare()
    await ibm.settle()
    for name in NAMES:
        found = await ibm.find(CustomResourceDefinition, name)
        told = {one["type"]: one["status"] for one in found["status"]["conditions"]}
        assert told["Established"] == "True"
        assert "ownerReferences" not in found["metadata"]
    assert (await ibm.conditions())["CRDsEstablished"] == "True/Established"


@pytest.mark.scenario("CM-8")
async def test_definitions_of_others_are_left_as_they_are(ibm: Ibm) -> None:
    await ibm.cluster.install(*(foreign(one, theirs="yes") for one in definitions()))
    before = {name: await ibm.find(CustomResourceDefinition, name) for name in NAMES}
    await ibm.declare()
    await ibm.until_ready()
    for name in NAMES:
        after = await ibm.find(CustomResourceDefinition, name)
        assert after["metadata"]["resourceVersion"] == before[name]["metadata"]["resourceVersion"]
    assert (await ibm.conditions())["PrereqsMet"] == "True/PrereqsMet"


@pytest.mark.scenario("CM-9")
async def test_a_definition_that_is_refused_does_not_stop_the_others(ibm: Ibm) -> None:
    refused = NAMES[:2]
    kind = "CustomResourceDefinition"
    ibm.refuses.update({("create", kind, name): 403 for name in refused})
    await ibm.declare()
    await ibm.advance(60)
    there = {name for name in NAMES if await ibm.find(CustomResourceDefinition, name)}
    assert there == set(NAMES) - set(refused)
    (told,) = await ibm.events("PrereqsFailed")
    assert all(name in told for name in refused)
    assert await ibm.text() == "Error deploying cert-manager, prereqs not met"
    assert await ibm.deployment("cert-manager-controller") is None
    assert 3 <= len(ibm.refused) / len(refused) <= 8  # within a minute: it backs off
    ibm.refuses.clear()
    await ibm.until_ready(400)


@pytest.mark.scenario("CM-10")
async def test_a_definition_of_ours_is_restored_and_labels_of_others_stay(ibm: Ibm) -> None:
    await ibm.installed()
    change: Any = {
        "metadata": {"labels": {"theirs": "yes"}},
        "spec": {"names": {"shortNames": ["nonsense"]}},
    }
    await ibm.cluster.patch(CustomResourceDefinition, ISSUERS, change)
    await ibm.settle()
    found = await ibm.find(CustomResourceDefinition, ISSUERS)
    assert "shortNames" not in found["spec"]["names"]
    assert found["metadata"]["labels"]["theirs"] == "yes"


@pytest.mark.scenario("CM-11")
async def test_the_namespace_is_created_with_its_label(ibm: Ibm) -> None:
    await ibm.declare()
    await ibm.settle()
    assert (await ibm.find(Namespace, HERE))["metadata"]["labels"][LABEL] == "true"


@pytest.mark.scenario("CM-12")
async def test_a_namespace_of_others_is_not_changed(ibm: Ibm) -> None:
    await ibm.namespace(HERE)
    before = await ibm.find(Namespace, HERE)
    await ibm.installed()
    assert await ibm.find(Namespace, HERE) == before
    assert (await ibm.conditions())["Degraded"] == "False/AsExpected"
    await ibm.change(enableWebhook=True)
    await ibm.until_ready()
    assert (await ibm.conditions())["Degraded"] == "True/NamespaceNotLabelled"
    assert LABEL in await ibm.message("Degraded")
    assert await ibm.find(Namespace, HERE) == before


@pytest.mark.scenario("CM-13")
async def test_a_namespace_that_is_going_is_waited_for(ibm: Ibm) -> None:
    await ibm.namespace(HERE)
    metadata = {"name": "x", "namespace": HERE, "finalizers": ["example.com/hold"]}
    await ibm.cluster.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    await ibm.cluster.delete(Namespace, HERE)
    await ibm.declare()
    await ibm.advance(30)
    assert await ibm.text() == "Error deploying cert-manager, prereqs not met"
    assert "being deleted" in await ibm.message("PrereqsMet")
    await ibm.cluster.patch(ConfigMap, f"{HERE}/x", {"metadata": {"finalizers": None}})
    await ibm.until_ready()
    assert LABEL in (await ibm.find(Namespace, HERE))["metadata"]["labels"]


@pytest.mark.scenario("CM-24")
async def test_the_roles_are_those_of_0_10(ibm: Ibm) -> None:
    await ibm.declare()
    await ibm.settle()
    role = await ibm.find(ClusterRole, "cert-manager")
    assert role["rules"] == list(RULES)
    assert {
        "apiGroups": ["apps"],
        "resources": ["deployments", "statefulsets", "daemonsets"],
        "verbs": ["*"],
    } in role["rules"]
    binding = await ibm.find(ClusterRoleBinding, "cert-manager")
    assert binding["roleRef"]["name"] == "cert-manager"
    account = {"kind": "ServiceAccount", "name": "cert-manager", "namespace": HERE}
    assert binding["subjects"] == [account]
    assert await ibm.find(ServiceAccount, f"{HERE}/cert-manager")


@pytest.mark.scenario("CM-25")
async def test_an_account_that_is_there_is_used_and_survives(ibm: Ibm) -> None:
    await ibm.namespace(HERE)
    metadata = {"name": "cert-manager", "namespace": HERE, "labels": {"theirs": "yes"}}
    await ibm.cluster.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    await ibm.installed()
    assert (await ibm.conditions())["PrereqsMet"] == "True/PrereqsMet"
    await ibm.cluster.delete(CM, "default")
    await ibm.advance(60)
    assert await ibm.find(CM, "default") is None
    found = await ibm.find(ServiceAccount, f"{HERE}/cert-manager")
    assert found["metadata"]["labels"] == {"theirs": "yes"}


@pytest.mark.scenario("CM-26")
async def test_a_rule_that_is_lost_comes_back(ibm: Ibm) -> None:
    await ibm.installed()
    await ibm.cluster.patch(ClusterRole, "cert-manager", {"rules": list(RULES[1:])})
    await ibm.settle()
    assert (await ibm.find(ClusterRole, "cert-manager"))["rules"] == list(RULES)


@pytest.mark.scenario("CM-27")
async def test_a_binding_to_another_role_is_replaced_with_one_event(ibm: Ibm) -> None:
    await ibm.installed()
    before = await ibm.find(ClusterRoleBinding, "cert-manager")
    kept = {name: before["metadata"][name] for name in ("name", "labels", "annotations")}
    role = {**before["roleRef"], "name": "view"}
    await ibm.cluster.delete(ClusterRoleBinding, "cert-manager")
    await ibm.cluster.create({**before, "metadata": kept, "roleRef": role})
    await ibm.advance(5)
    after = await ibm.find(ClusterRoleBinding, "cert-manager")
    assert after["roleRef"]["name"] == "cert-manager"
    assert len(await ibm.events("Recreated")) == 1
