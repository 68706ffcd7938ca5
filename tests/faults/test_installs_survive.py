"""Installations under every fault at every point: the same end, and nothing of others touched.

Each scenario is what users do; the operator is killed, misled and refused on the way. Watched are
objects of others that look like ours, definitions, which must not be deleted, and the caBundles of
registrations, without which writes are refused.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import cycle, product

import pytest
from tests.support.faults.installscenarios import (
    CERTIFICATE,
    CMD,
    PASSING,
    SHELF,
    V119,
    V120,
    V121,
    Site,
    SiteScenario,
    declare,
    simulated,
    spread,
    watched,
)
from tests.support.faults.resourcescenarios import LONG, restart_into_the_past
from tests.support.faults.tinyrelease import tiny_bundle, tiny_release

from certwright.kube import JsonObject, Key, NotFound, Resource
from certwright.kube.kinds import (
    ClusterRole,
    ClusterRoleBinding,
    CustomResourceDefinition,
    Deployment,
    Lease,
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
from certwright.testkit import (
    EmbeddedCluster,
    break_each_watch,
    crash_after_every_write,
    delay_each_event,
    drop_each_event,
    fail_every_request,
    lose_every_answer,
    refuse_every_write,
    repeat_each_event,
    simulate,
    survives,
)
from certwright.testkit.faults.simulation import Play, Scenario, storm
from certwright.testkit.faults.torture import Torture

SEEDS = range(0, 60, 60)
"""Of each scenario. A campaign of 5,000 takes every 60th of them: 3,400 storms over installations."""

WEBHOOK = "cert-manager/cert-manager-webhook"
TOKENS = "cert-manager/cert-manager-tokenrequest"
CLAIM = Key("kube-system", "cert-manager-install-claim")
OTHERS = Resource("operator.ibm.com", "v1alpha1", "CertManager", "certmanagers", namespaced=False)
DEFINITIONS = ("certificates.cert-manager.io", "issuers.cert-manager.io")

SCENARIOS: list[SiteScenario] = []
DELETED_DEFINITIONS: dict[str, int] = {}
"""How many definitions go in a scenario, because its users want that."""


def scenario(play: SiteScenario) -> SiteScenario:
    """Note a scenario."""
    SCENARIOS.append(play)
    return play


def deletes(definitions: int) -> Callable[[SiteScenario], SiteScenario]:
    """Note a scenario in which users delete definitions, or have them deleted."""

    def note(play: SiteScenario) -> SiteScenario:
        DELETED_DEFINITIONS[play.__name__] = definitions
        return scenario(play)

    return note


# Installing


@scenario
async def install(site: Site) -> None:
    await declare(site.cluster)
    await site.done()
    await site.expect(V121)


@scenario
async def install_with_options(site: Site) -> None:
    zone = {"containerArgOverrides": {"controller": {"v": 4}}}
    webhook = {"replicas": 2, "podDisruptionBudget": {}}
    await site.install(V121, dangerZone=zone, webhook=webhook, commonLabels={"team": "a"})


@scenario
async def install_while_an_image_is_missing(site: Site) -> None:
    site.hinder("*webhook:*")
    await declare(site.cluster, version=V121)
    await site.cluster.advance(minutes=2)
    await site.mend()
    await site.done()
    await site.expect(V121)


@scenario
async def install_with_slow_cainjector(site: Site) -> None:
    site.played.play = replace(site.played.play, injection=30.0)
    await declare(site.cluster, version=V121)
    await site.done()
    await site.expect(V121)


@scenario
async def install_into_given_namespace(site: Site) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cert-manager"}}
    await site.cluster.create(space)
    await site.install()
    await site.cluster.delete(CMD, "cluster")
    await site.done()
    await site.cluster.get(Namespace, "cert-manager")
    assert await site.gone()


@scenario
async def idle(site: Site) -> None:
    await site.install()
    for number in range(3):
        await site.cluster.patch(
            CMD, "cluster", {"metadata": {"annotations": {"touched": str(number)}}}
        )
        await site.done()
    await site.expect(V121)


@scenario
async def change_of_options(site: Site) -> None:
    await site.install(webhook={"replicas": 2})
    await site.change(logLevel=4, webhook={"replicas": 1}, commonLabels={"team": "a"})
    await site.done()
    await site.expect(V121)


@scenario
async def option_withdrawn(site: Site) -> None:
    await site.install(webhook={"podDisruptionBudget": {"minAvailable": 1}})
    await site.cluster.get(PodDisruptionBudget, WEBHOOK)
    await site.change(webhook=None)
    await site.done()
    await site.expect(V121)
    assert await site.cluster.find(PodDisruptionBudget, WEBHOOK) is None


@scenario
async def changed_while_installing(site: Site) -> None:
    await declare(site.cluster, version=V121)
    await site.change(logLevel=4)
    await site.done()
    await site.expect(V121)


# Drift


def no_rules(role: JsonObject) -> None:
    role["rules"] = []


def no_subjects(binding: JsonObject) -> None:
    binding["subjects"] = []


def other_label(obj: JsonObject) -> None:
    obj["metadata"].setdefault("labels", {})["app"] = "theirs"


def other_arguments(deployment: JsonObject) -> None:
    deployment["spec"]["template"]["spec"]["containers"][0]["args"] = ["--v=9"]


def other_selector(service: JsonObject) -> None:
    service["spec"]["selector"] = {"x": "y"}


def other_policy(registration: JsonObject) -> None:
    registration["webhooks"][0]["failurePolicy"] = "Ignore"


EDITS: tuple[tuple[Resource, str, Callable[[JsonObject], None]], ...] = (
    (ClusterRole, "cert-manager-all", no_rules),
    (ClusterRoleBinding, "cert-manager-webhook-all", no_subjects),
    (Role, TOKENS, no_rules),
    (RoleBinding, TOKENS, no_subjects),
    (ServiceAccount, WEBHOOK, other_label),
    (Service, WEBHOOK, other_selector),
    (Deployment, WEBHOOK, other_arguments),
    (CustomResourceDefinition, DEFINITIONS[0], other_label),
    (MutatingWebhookConfiguration, "cert-manager-webhook", other_policy),
    (ValidatingWebhookConfiguration, "cert-manager-webhook", other_policy),
)


@scenario
async def drift_by_edits(site: Site) -> None:
    await site.install(V120)
    for kind, name, edit in EDITS:
        await site.edit(kind, name, edit)
    await site.done()
    await site.expect(V120)


@scenario
async def drift_by_deletions(site: Site) -> None:
    await site.install(V120)
    await site.delete(
        (kind, name) for kind, name, _ in EDITS if kind is not CustomResourceDefinition
    )
    await site.done()
    await site.expect(V120)


@deletes(1)
async def drift_of_definition(site: Site) -> None:
    await site.install()
    await site.delete([(CustomResourceDefinition, DEFINITIONS[1])])
    await site.done()
    await site.expect(V121)


@scenario
async def drift_of_pods(site: Site) -> None:
    await site.install()
    for pod in (await site.cluster.client.list(Pod, "cert-manager")).items:
        await site.cluster.client.delete(Pod, Key("cert-manager", pod["metadata"]["name"]))
    await site.done()
    await site.expect(V121)


@scenario
async def drift_while_installing(site: Site) -> None:
    site.hinder("*webhook:*")
    await declare(site.cluster, version=V120)
    await site.done()
    await site.delete([(ClusterRole, "cert-manager-all"), (Deployment, WEBHOOK)])
    await site.mend()
    await site.done()
    await site.done()
    await site.expect(V120)


# Other versions


@scenario
async def upgrade(site: Site) -> None:
    await site.install(V120)
    await site.order()
    issued = len(site.played.issued)
    await site.change(version=V121)
    await site.done()
    await site.expect(V121)
    assert await site.cluster.find(Role, TOKENS) is None
    assert len(site.played.issued) == issued == 1


@scenario
async def upgrade_with_failing_step(site: Site) -> None:
    await site.install(V120)
    site.hinder(f"*webhook:{V121}")
    await site.change(version=V121, upgrade={"stepTimeout": "2m"})
    await site.done()
    await site.expect_degraded("StepTimedOut")
    assert await site.obstacles() == []
    await site.mend()
    await site.done()
    await site.expect(V121)


@scenario
async def upgrade_taken_back(site: Site) -> None:
    await site.install(V120)
    site.hinder(f"*webhook:{V121}")
    await site.change(version=V121)
    await site.done()
    await site.change(version=V120)
    await site.done()
    await site.expect(V120)


@scenario
async def upgrade_rolled_back(site: Site) -> None:
    await site.install(V120)
    await site.order()
    site.hinder(f"*webhook:{V121}")
    await site.change(version=V121, upgrade={"onFailure": "Rollback", "stepTimeout": "2m"})
    await site.done()
    await site.done()
    await site.expect(V120)
    await site.cluster.get(Role, TOKENS)


@scenario
async def upgrade_by_two(site: Site) -> None:
    await site.install(V119)
    await site.change(version=V121)
    await site.done()
    await site.expect_degraded("VersionsSkipped")
    await site.expect(V119)
    await site.change(upgrade={"allowSkip": True})
    await site.done()
    await site.expect(V121)


@scenario
async def upgrade_in_turn(site: Site) -> None:
    await site.install(V119)
    for version in (V120, V121):
        await site.change(version=version)
        await site.done()
        await site.expect(version)


@scenario
async def drift_while_upgrading(site: Site) -> None:
    await site.install(V120)
    site.hinder(f"*webhook:{V121}")
    await site.change(version=V121)
    await site.done()
    await site.delete([(ClusterRole, "cert-manager-all"), (Service, WEBHOOK)])
    await site.mend()
    await site.done()
    await site.expect(V121)


@scenario
async def pruned_object_is_held(site: Site) -> None:
    await site.install(V120)
    await site.cluster.patch(Role, TOKENS, {"metadata": {"finalizers": ["example.com/held"]}})
    await site.change(version=V121)
    await site.done()
    await site.cluster.patch(Role, TOKENS, {"metadata": {"finalizers": None}})
    await site.done()
    await site.expect(V121)
    assert await site.cluster.find(Role, TOKENS) is None


@scenario
async def downgrade(site: Site) -> None:
    await site.install(V121)
    await site.change(version=V120)
    await site.done()
    await site.expect_degraded("DowngradeRefused")
    await site.change(upgrade={"allowDowngrade": True})
    await site.done()
    await site.expect(V120)
    await site.cluster.get(Role, TOKENS)


@scenario
async def stored_versions(site: Site) -> None:
    await site.install("v1.6.3")
    await site.order()
    stored = {"status": {"storedVersions": ["v1alpha2", "v1"]}}
    await site.cluster.patch(CustomResourceDefinition, DEFINITIONS[0], stored, subresource="status")
    await site.change(version="v1.7.3")
    await site.done()
    await site.expect("v1.7.3")
    found = await site.cluster.get(CustomResourceDefinition, DEFINITIONS[0])
    assert found["status"]["storedVersions"] == ["v1"]


# Bad input


@scenario
async def bad_flags(site: Site) -> None:
    await site.install()
    zone = {"containerArgOverrides": {"controller": {"kube-api-qpss": 5}, "webhook": {"v": 5}}}
    await site.change(dangerZone=zone)
    await site.done()
    await site.expect_degraded("UnknownFlag")
    await site.change(dangerZone=None)
    await site.done()
    await site.expect(V121)


@scenario
async def bundle_vanishes(site: Site) -> None:
    await site.install()
    del SHELF[V121]
    await site.delete([(ClusterRole, "cert-manager-all")])
    await site.done()
    await site.expect_degraded("BundleMissing")
    SHELF[V121] = tiny_bundle(V121)
    await site.done()
    await site.expect(V121)


@scenario
async def bundle_comes_late(site: Site) -> None:
    await site.install(V120)
    del SHELF[V121]
    await site.change(version=V121)
    await site.done()
    await site.expect_degraded("BundleMissing")
    SHELF[V121] = tiny_bundle(V121)
    await site.done()
    await site.expect(V121)


@scenario
async def namespace_deleted(site: Site) -> None:
    await site.install()
    await site.delete([(Namespace, "cert-manager")])
    await site.done()
    await site.expect(V121)


@scenario
async def secret_of_the_webhook_deleted(site: Site) -> None:
    await site.install()
    await site.delete([(Secret, "cert-manager/cert-manager-webhook-ca")])
    await site.done()
    await site.expect(V121)


# Whose it is


@scenario
async def unmanaged_for_a_while(site: Site) -> None:
    await site.install()
    await site.change(managementState="Unmanaged")
    await site.done()
    await site.delete([(Deployment, WEBHOOK)])
    await site.done()
    assert await site.cluster.find(Deployment, WEBHOOK) is None
    await site.change(managementState="Managed")
    await site.done()
    await site.expect(V121)


@scenario
async def removed_for_a_while(site: Site) -> None:
    await site.install()
    await site.order()
    await site.change(managementState="Removed")
    await site.done()
    assert await site.gone()
    await site.change(managementState="Managed")
    await site.done()
    await site.expect(V121)


async def applied_by_others(site: Site) -> set[str]:
    """Let another installer bring cert-manager; return the uids of its pods."""
    for manifest in tiny_release(V121):
        await site.cluster.apply(manifest)
    await site.done()
    return await pods_of(site)


async def pods_of(site: Site) -> set[str]:
    found = await site.cluster.client.list(Pod, "cert-manager")
    return {pod["metadata"]["uid"] for pod in found.items}


@scenario
async def adoption(site: Site) -> None:
    pods = await applied_by_others(site)
    await site.install(adopt=True)
    assert await pods_of(site) == pods


@scenario
async def foreign_installation(site: Site) -> None:
    await applied_by_others(site)
    await declare(site.cluster, version=V121)
    await site.done()
    await site.expect_degraded("ForeignInstallation")
    for manifest in (await site.cluster.client.list(Deployment, "cert-manager")).items:
        written = {one["manager"] for one in manifest["metadata"]["managedFields"]}
        assert "certmanagerdeployment-operator" not in written


async def other_claimant(site: Site) -> str:
    """Create a custom resource of the other kind; return how a claim names it."""
    names = {"kind": OTHERS.kind, "plural": OTHERS.plural, "singular": "certmanager"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": OTHERS.version, "served": True, "storage": True}
    definition = {
        "apiVersion": CustomResourceDefinition.api_version,
        "kind": CustomResourceDefinition.kind,
        "metadata": {"name": f"{OTHERS.plural}.{OTHERS.group}"},
        "spec": {
            "group": OTHERS.group,
            "scope": "Cluster",
            "names": names,
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    await site.cluster.install(definition)
    head = {"apiVersion": OTHERS.api_version, "kind": OTHERS.kind}
    made = await site.cluster.create({**head, "metadata": {"name": "default"}})
    return f"{OTHERS.kind}/default/{made['metadata']['uid']}"


@scenario
async def claim_is_taken_over(site: Site) -> None:
    lease = {"apiVersion": Lease.api_version, "kind": Lease.kind}
    metadata = {"name": CLAIM.name, "namespace": CLAIM.namespace}
    holder = await other_claimant(site)
    await site.cluster.create({**lease, "metadata": metadata, "spec": {"holderIdentity": holder}})
    await declare(site.cluster, version=V121)
    await site.done()
    await site.expect_degraded("Conflict")
    assert await site.gone()
    await site.cluster.delete(OTHERS, "default")
    await site.done()
    await site.expect(V121)


@scenario
async def claim_is_handed_over(site: Site) -> None:
    await site.install()
    waiting = await other_claimant(site)
    marks = {"operators.redhat.io/next-in-line": waiting}
    await site.cluster.client.patch(Lease, CLAIM, {"metadata": {"annotations": marks}})
    pods = await pods_of(site)
    await site.done()
    await site.cluster.delete(CMD, "cluster")
    await site.done()
    lease = await site.cluster.client.get(Lease, CLAIM)
    assert lease["spec"]["holderIdentity"] == waiting
    assert await pods_of(site) == pods


# Removing


async def expect_removed(site: Site) -> None:
    assert await site.cluster.find(CMD, "cluster") is None
    assert await site.gone()
    for kind in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
        assert await site.cluster.find(kind, "cert-manager-webhook") is None


@scenario
async def removal(site: Site) -> None:
    await site.install()
    await site.order()
    before = await site.cluster.get(CERTIFICATE, "own")
    await site.cluster.delete(CMD, "cluster")
    await site.done()
    await expect_removed(site)
    assert await site.cluster.find(Namespace, "cert-manager") is None
    assert (await site.cluster.get(CERTIFICATE, "own"))["spec"] == before["spec"]
    await site.cluster.get(Secret, "own")


@scenario
async def removal_while_installing(site: Site) -> None:
    site.hinder("*webhook:*")
    await declare(site.cluster, version=V121)
    await site.done()
    await site.cluster.delete(CMD, "cluster")
    await site.done()
    await expect_removed(site)


@scenario
async def removal_while_upgrading(site: Site) -> None:
    await site.install(V120)
    site.hinder(f"*webhook:{V121}")
    await site.change(version=V121)
    await site.done()
    await site.cluster.delete(CMD, "cluster")
    await site.done()
    await expect_removed(site)


@scenario
async def removal_from_used_namespace(site: Site) -> None:
    await site.install()
    secret = {"apiVersion": "v1", "kind": "Secret"}
    place = {"name": "theirs", "namespace": "cert-manager"}
    await site.cluster.create({**secret, "metadata": place})
    await site.cluster.delete(CMD, "cluster")
    await site.done()
    await expect_removed(site)
    await site.cluster.get(Secret, "cert-manager/theirs")


@deletes(2)
async def removal_with_definitions(site: Site) -> None:
    await site.install(deletionPolicy={"crds": "Delete"})
    await site.order()
    await site.cluster.delete(CMD, "cluster")
    await site.done()
    await site.expect_degraded("RemovalBlocked")
    assert await site.obstacles() == []
    await site.change(deletionPolicy={"force": True})
    await site.done()
    await expect_removed(site)


@scenario
async def removal_and_return(site: Site) -> None:
    await site.install(V120)
    await site.order()
    await site.cluster.delete(CMD, "cluster")
    await site.done()
    await site.install(V121)


@scenario
async def removal_is_held_up(site: Site) -> None:
    await site.install(V120)
    await site.cluster.patch(Role, TOKENS, {"metadata": {"finalizers": ["example.com/held"]}})
    await site.cluster.delete(CMD, "cluster")
    await site.done()
    await site.cluster.patch(Role, TOKENS, {"metadata": {"finalizers": None}})
    await site.done()
    await expect_removed(site)


# Tortures

OPERATOR = simulated()
TORTURES = (
    crash_after_every_write,
    restart_into_the_past,
    drop_each_event,
    spread(refuse_every_write),
    spread(lose_every_answer),
    spread(break_each_watch),
    spread(fail_every_request),
    spread(repeat_each_event),
    spread(delay_each_event),
)
QUICK = (drift_by_deletions, removal)
"""The scenarios that are tried with faults at single points, unless a campaign is asked for."""
each_scenario = pytest.mark.parametrize("play", SCENARIOS, ids=lambda play: play.__name__)
UNREPAIRED = {foreign_installation, claim_is_handed_over, unmanaged_for_a_while}
"""The scenarios in which the operator does not repair what others change, at least for a while."""


def observed(play: SiteScenario) -> Scenario:
    return watched(play, DELETED_DEFINITIONS.get(play.__name__, 0))


async def meddle(cluster: EmbeddedCluster) -> None:
    """Let another client take the rights of the controller away."""
    with suppress(NotFound):
        await cluster.patch(ClusterRole, "cert-manager-all", {"rules": []})


@each_scenario
def test_storms(play: SiteScenario) -> None:
    campaign = simulate(
        observed(play),
        OPERATOR,
        seeds=SEEDS,
        ignore=PASSING,
        meddle=None if play in UNREPAIRED else meddle,
    )
    assert campaign.faults > 0


def test_the_same_seed_takes_the_same_way() -> None:
    play = Play(observed(install), (OPERATOR,), PASSING, meddle)
    assert len({storm(play, seed=3).digest for _ in range(2)}) == 1


@pytest.mark.parametrize(
    ("torture", "play"),
    list(product(TORTURES, SCENARIOS) if LONG else zip(TORTURES, cycle(QUICK), strict=False)),
    ids=lambda one: one.__name__,
)
def test_faults_at_every_point(torture: Torture, play: SiteScenario) -> None:
    assert survives(observed(play), OPERATOR, torture, ignore=PASSING, most=2) > 0
