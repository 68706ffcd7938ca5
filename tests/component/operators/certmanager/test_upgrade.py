"""From one version to another: order, evidence, what goes, what stops it."""

from dataclasses import replace

import pytest
from tests.component.operators.certmanager.conftest import (
    V119,
    V120,
    V121,
    Installing,
    named,
    packed,
)

from certwright.apply import ObjectRef
from certwright.client import Selection
from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import (
    ClusterRole,
    CustomResourceDefinition,
    Deployment,
    Pod,
    Role,
    RoleBinding,
    ValidatingWebhookConfiguration,
)
from certwright.testkit import Calls
from certwright.testkit.actors.certmanager import small_release
from certwright.testkit.actors.podplay import NEVER, PodPlay

NAMES = {
    "cert-manager": "controller",
    "cert-manager-cainjector": "cainjector",
    "cert-manager-webhook": "webhook",
}
CERTIFICATE = Resource("cert-manager.io", "v1", "Certificate", "certificates")
TOKENS = "cert-manager/cert-manager-tokenrequest"


def order(calls: Calls) -> list[str]:
    """Return what was written in which order: kinds, and of Deployments the components."""
    found: list[str] = []
    for call in calls:
        if call.resource is None or call.verb not in {"create", "update", "delete"}:
            continue
        kind, name = call.resource.kind, call.path.rpartition("/")[2]
        word = {"CustomResourceDefinition": "CRDs", "ClusterRole": "RBAC"}.get(kind, "")
        if kind == "Deployment":
            word = NAMES[name]
        if kind == "Role" and call.verb == "delete":
            word = "prune"
        if word and word not in found:
            found.append(word)
    return found


async def versions(installing: Installing) -> dict[str, str]:
    """Return which version each component is written for."""
    found = {}
    for name, component in NAMES.items():
        deployment = await installing.find(Deployment, f"cert-manager/{name}")
        image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
        found[component] = image.rpartition(":")[2]
    return found


async def issue(installing: Installing, name: str = "one") -> None:
    """Have a certificate issued."""
    cluster = installing.cluster
    cluster.client.discovery.invalidate()
    head = {"apiVersion": "cert-manager.io/v1", "metadata": {"name": "own"}}
    await cluster.apply({**head, "kind": "Issuer", "spec": {"selfSigned": {}}})
    spec = {"secretName": name, "dnsNames": ["a.example"], "issuerRef": {"name": "own"}}
    await cluster.create({**head, "kind": "Certificate", "metadata": {"name": name}, "spec": spec})
    await installing.advance(20)


@pytest.mark.scenario("CMD-31")
async def test_each_step_waits_for_the_one_before(installing: Installing) -> None:
    await installing.installed(V120)
    slow = {f"*{component}:{V121}": PodPlay(ready=20) for component in NAMES.values()}
    installing.played.play = replace(installing.played.play, pods=slow)
    await installing.change(version=V121)
    seen: list[dict[str, str]] = []
    for _ in range(150):
        await installing.advance(1)
        now = await versions(installing)
        if not seen or now != seen[-1]:
            seen.append(now)
        if await installing.is_available() and now["controller"] == V121:
            break
    assert seen == [
        {"controller": V120, "cainjector": V121, "webhook": V120},
        {"controller": V120, "cainjector": V121, "webhook": V121},
        {"controller": V121, "cainjector": V121, "webhook": V121},
    ]


@pytest.mark.scenario("CMD-31")
async def test_the_steps_come_in_their_order(installing: Installing) -> None:
    await installing.installed(V120)
    await installing.change(version=V121)
    calls = Calls([*await installing.settle(), *await installing.advance(120)])
    steps = ["CRDs", "RBAC", "cainjector", "webhook", "controller", "prune"]
    assert order(calls) == steps
    assert await installing.is_available()


async def test_certificates_stay_and_are_not_issued_again(installing: Installing) -> None:
    await installing.installed(V120)
    await issue(installing)
    before = len(installing.played.issued)
    await installing.change(version=V121)
    await installing.advance(120)
    assert (await installing.status())["installedVersion"] == V121
    assert len(installing.played.issued) == before
    await issue(installing, "two")
    assert len(installing.played.issued) == before + 1


@pytest.mark.scenario("CMD-32")
async def test_what_the_new_version_does_not_have_is_pruned(installing: Installing) -> None:
    await installing.installed(V120)
    mine = await installing.find(Role, TOKENS)
    other = {**mine, "metadata": {"name": "mine", "namespace": "cert-manager"}}
    await installing.cluster.create(other)
    await installing.change(version=V121)
    await installing.advance(120)
    assert await installing.find(Role, TOKENS) is None
    assert await installing.find(RoleBinding, TOKENS) is None
    assert await installing.find(Role, "cert-manager/mine") is not None
    for one in small_release(V121):
        assert await installing.exists(ObjectRef.of(one))
    listed = (await installing.status())["inventory"]
    assert not [one for one in listed if "tokenrequest" in one]
    assert sorted(await installing.events("PrunedRole")) == [f"Pruned Role: {TOKENS}"]


async def test_roles_allow_what_the_old_pods_need_until_they_are_gone(
    installing: Installing,
) -> None:
    name = "cert-manager-controller-issuers"

    def narrow(objects: list[JsonObject]) -> None:
        del named(objects, name, "ClusterRole")["rules"][0]

    async def rules() -> list[JsonObject]:
        found: list[JsonObject] = (await installing.find(ClusterRole, name))["rules"]
        return found

    await installing.installed(V120)
    before = await rules()
    installing.bundles = {**installing.bundles, V121: packed(V121, narrow)}
    pods = {f"*controller:{V121}": PodPlay(ready=40)}
    installing.played.play = replace(installing.played.play, pods=pods)
    await installing.change(version=V121)
    await installing.advance(30)
    assert (await versions(installing))["controller"] == V121
    assert [rule for rule in before if rule not in await rules()] == []
    await installing.until_available()
    assert await rules() == before[1:]
    assert (await installing.advance(600)).writes == 0


async def test_an_upgrade_takes_few_writes(installing: Installing) -> None:
    await installing.installed(V120)
    await installing.change(version=V121)
    calls = Calls([*await installing.settle(), *await installing.advance(120)])
    changed, pruned = len(small_release(V121)), 2
    assert calls.writes - calls.of("Event").writes <= changed + pruned + 10


def early(objects: list[JsonObject]) -> None:
    """Let definitions have the versions they had until 1.6."""
    for one in objects:
        if one["kind"] == "CustomResourceDefinition":
            [version] = one["spec"]["versions"]
            old = {**version, "name": "v1alpha2", "storage": False}
            one["spec"]["versions"] = [version, old]


async def stored(installing: Installing, *names: str) -> None:
    """Let the server believe that objects are stored in some versions."""
    await installing.cluster.patch(
        CustomResourceDefinition,
        "certificates.cert-manager.io",
        {"status": {"storedVersions": list(names)}},
        subresource="status",
    )


@pytest.mark.scenario("CMD-33")
async def test_stored_versions_are_migrated_first(installing: Installing) -> None:
    installing.bundles |= {"v1.6.3": packed("v1.6.3", early), "v1.7.3": packed("v1.7.3")}
    await installing.installed("v1.6.3")
    await issue(installing)
    await stored(installing, "v1alpha2", "v1")
    await installing.change(version="v1.7.3")
    calls = Calls([*await installing.settle(), *await installing.advance(120)])
    definition = await installing.find(CustomResourceDefinition, "certificates.cert-manager.io")
    assert definition["status"]["storedVersions"] == ["v1"]
    assert [one["name"] for one in definition["spec"]["versions"]] == ["v1"]
    written = [call for call in calls if call.resource and call.verb in {"update", "patch"}]
    places = [call.path for call in written if "certificates" in call.path]
    assert places[0].endswith("/namespaces/default/certificates/one")
    assert places[1].endswith("certificates.cert-manager.io/status")
    assert places[2].endswith("certificates.cert-manager.io")
    assert (await installing.status())["installedVersion"] == "v1.7.3"


@pytest.mark.scenario("CMD-34")
async def test_what_cannot_be_migrated_stops_the_upgrade(installing: Installing) -> None:
    installing.bundles |= {"v1.6.3": packed("v1.6.3", early), "v1.7.3": packed("v1.7.3")}
    await installing.installed("v1.6.3")
    await smuggle(installing)
    await stored(installing, "v1alpha2", "v1")
    await installing.change(version="v1.7.3")
    await installing.advance(120)
    assert (await installing.conditions())["Upgradeable"] == "False/StoredVersions"
    assert "Certificate default/senseless" in await installing.message("Upgradeable")
    assert set((await versions(installing)).values()) == {"v1.6.3"}
    assert await installing.obstacles() == []
    installing.cluster.client.discovery.invalidate()
    await installing.cluster.delete(CERTIFICATE, "senseless")
    await installing.advance(180)
    assert (await installing.status())["installedVersion"] == "v1.7.3"


async def smuggle(installing: Installing) -> None:
    """Create a Certificate that the webhook refuses, while it is not asked."""
    cluster = installing.cluster
    await cluster.stop()
    await cluster.delete(ValidatingWebhookConfiguration, "cert-manager-webhook")
    cluster.client.discovery.invalidate()
    spec = {"secretName": "x", "dnsNames": [], "issuerRef": {"name": "own"}}
    head = {"apiVersion": "cert-manager.io/v1", "kind": "Certificate"}
    await cluster.create({**head, "metadata": {"name": "senseless"}, "spec": spec})
    await installing.advance(30)


@pytest.mark.scenario("CMD-35")
async def test_no_minor_version_is_left_out(installing: Installing) -> None:
    await installing.installed("v1.16.5")
    await installing.change(version=V121)
    await installing.advance(60)
    conditions = await installing.conditions()
    assert conditions["Upgradeable"] == "False/VersionsSkipped"
    assert conditions["Available"] == "True/AsExpected"
    told = await installing.message("Upgradeable")
    assert f"v1.17.4, v1.18.6, {V119}, {V120}, {V121}" in told
    assert set((await versions(installing)).values()) == {"v1.16.5"}
    assert await installing.events("UpgradeBlocked")
    await installing.change(upgrade={"allowSkip": True})
    await installing.advance(120)
    assert (await installing.status())["installedVersion"] == V121


@pytest.mark.scenario("CMD-36")
async def test_a_flag_that_is_gone_blocks_the_upgrade(installing: Installing) -> None:
    installing.bundles |= {"v1.6.3": packed("v1.6.3"), "v1.7.3": packed("v1.7.3")}
    flags = {"dns01-self-check-nameservers": ["1.1.1.1:53"]}
    zone = {"containerArgOverrides": {"controller": flags}}
    await installing.installed("v1.6.3", dangerZone=zone)
    await installing.change(version="v1.7.3")
    await installing.advance(60)
    conditions = await installing.conditions()
    assert conditions["Upgradeable"] == "False/InvalidOverride"
    assert "dns01-self-check-nameservers" in await installing.message("Upgradeable")
    assert set((await versions(installing)).values()) == {"v1.6.3"}


@pytest.mark.scenario("CMD-37")
async def test_an_image_that_cannot_be_pulled_stops_there(installing: Installing) -> None:
    await installing.installed(V120)
    pods = {f"*webhook:{V121}": PodPlay(pull_fails=True)}
    installing.played.play = replace(installing.played.play, pods=pods)
    await installing.change(version=V121, upgrade={"stepTimeout": "2m"})
    await installing.advance(60)
    assert (await installing.conditions())["Degraded"] == "False/AsExpected"
    await installing.advance(120)
    conditions = await installing.conditions()
    assert conditions["Degraded"] == "True/StepTimedOut"
    assert (await versions(installing))["controller"] == V120
    assert "webhook" in await installing.message("Degraded")
    assert await installing.obstacles() == []
    installing.played.play = replace(installing.played.play, pods={})
    await installing.advance(400)
    assert (await installing.status())["installedVersion"] == V121
    assert (await installing.conditions())["Degraded"] == "False/AsExpected"


async def test_what_runs_is_available_all_the_time(installing: Installing) -> None:
    await installing.installed(V120)
    slow = {f"*{component}:{V121}": PodPlay(ready=20) for component in NAMES.values()}
    installing.played.play = replace(installing.played.play, pods=slow)
    await installing.change(version=V121)
    told = set()
    for _ in range(60):
        await installing.advance(2)
        available = (await installing.conditions())["Available"].startswith("True")
        told.add(available)
        if available:
            assert await installing.obstacles() == []
    assert (await installing.status())["installedVersion"] == V121
    assert True in told


@pytest.mark.parametrize("component", ["webhook", "controller"])
async def test_what_does_not_come_up_is_rolled_back(installing: Installing, component: str) -> None:
    await installing.installed(V120)
    pods = {f"*{component}:{V121}": PodPlay(pull_fails=True)}
    installing.played.play = replace(installing.played.play, pods=pods)
    policy = {"onFailure": "Rollback", "stepTimeout": "2m"}
    await installing.change(version=V121, upgrade=policy)
    await installing.advance(400)
    assert set((await versions(installing)).values()) == {V120}
    status, conditions = await installing.status(), await installing.conditions()
    assert (status["version"], status["installedVersion"]) == (V121, V120)
    assert conditions["Degraded"] == "True/RolledBack"
    assert conditions["Available"] == "True/AsExpected"
    assert V121 in await installing.message("Degraded")
    assert await installing.obstacles() == []
    assert await installing.find(Role, TOKENS) is not None
    assert len(await installing.events("UpgradeRolledBack")) == 1
    assert (await installing.advance(600)).writes == 0
    installing.played.play = replace(installing.played.play, pods={})
    await installing.change(version=V120)
    await installing.advance(30)
    assert (await installing.conditions())["Degraded"] == "False/AsExpected"
    await installing.change(version=V121)
    await installing.advance(120)
    assert (await installing.status())["installedVersion"] == V121


@pytest.mark.scenario("CMD-38")
async def test_an_older_version_has_to_be_allowed(installing: Installing) -> None:
    await installing.installed(V121)
    await installing.change(version=V120)
    await installing.advance(60)
    assert (await installing.conditions())["Upgradeable"] == "False/DowngradeRefused"
    assert set((await versions(installing)).values()) == {V121}
    await installing.change(upgrade={"allowDowngrade": True})
    calls = Calls([*await installing.settle(), *await installing.advance(120)])
    assert order(calls) == ["controller", "webhook", "cainjector", "RBAC", "CRDs"]
    assert (await installing.status())["installedVersion"] == V120


async def test_on_the_way_back_pods_have_their_rights_from_the_start(
    installing: Installing,
) -> None:
    name = "cert-manager-controller-issuers"

    def narrow(objects: list[JsonObject]) -> None:
        del named(objects, name, "ClusterRole")["rules"][0]

    installing.bundles = {**installing.bundles, V121: packed(V121, narrow)}
    await installing.installed(V121)
    pods = {f"*controller:{V120}": PodPlay(ready=40)}
    installing.played.play = replace(installing.played.play, pods=pods)
    await installing.change(version=V120, upgrade={"allowDowngrade": True})
    await installing.advance(20)
    assert (await versions(installing))["controller"] == V120
    wanted = named(small_release(V120), name, "ClusterRole")["rules"]
    found = (await installing.find(ClusterRole, name))["rules"]
    assert [rule for rule in wanted if rule not in found] == []
    assert await installing.find(Role, TOKENS) is not None
    await installing.until_available()
    assert (await installing.find(ClusterRole, name))["rules"] == wanted


async def test_what_is_taken_back_keeps_its_rights_until_it_is_gone(
    installing: Installing,
) -> None:
    name = "cert-manager-cainjector"

    def widen(objects: list[JsonObject]) -> None:
        rule = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
        named(objects, name, "ClusterRole")["rules"].append(rule)

    async def rules() -> int:
        return len((await installing.find(ClusterRole, name))["rules"])

    installing.bundles = {**installing.bundles, V121: packed(V121, widen)}
    await installing.installed(V120)
    before = await rules()
    pods = {f"*webhook:{V121}": PodPlay(ready=NEVER), f"*cainjector:{V120}": PodPlay(ready=40)}
    installing.played.play = replace(installing.played.play, pods=pods)
    await installing.change(version=V121)
    await installing.advance(30)
    assert (await versions(installing))["cainjector"] == V121
    await installing.change(version=V120)
    await installing.advance(20)
    assert set((await versions(installing)).values()) == {V120}
    assert (await installing.status())["step"]["fromVersions"] == [V121]
    assert await rules() == before + 1, "a pod of the newer version still runs"
    await installing.restart()
    assert await rules() == before + 1
    await installing.until_available()
    await installing.advance(60)
    assert await rules() == before
    assert "step" not in await installing.status()


async def test_pods_of_the_first_of_three_versions_keep_their_rights(
    installing: Installing,
) -> None:
    name = "cert-manager-controller-issuers"
    more = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}

    def widen(objects: list[JsonObject]) -> None:
        named(objects, name, "ClusterRole")["rules"].append(more)

    async def has_right() -> bool:
        return more in (await installing.find(ClusterRole, name))["rules"]

    installing.bundles = {**installing.bundles, V119: packed(V119, widen)}
    pods = {f"*webhook:{V119}": PodPlay(ready=NEVER), f"*controller:{V120}": PodPlay(ready=NEVER)}
    installing.played.play = replace(installing.played.play, pods=pods)
    await installing.declare(version=V119)
    await installing.advance(30)
    await installing.change(version=V120)
    await installing.advance(60)
    assert set((await versions(installing)).values()) == {V120}
    assert "installedVersion" not in await installing.status()
    await installing.change(version=V121)
    await installing.advance(5)
    assert (await installing.conditions())["Upgradeable"] == "False/VersionsSkipped"
    assert (await installing.status())["step"]["fromVersions"] == [V119]
    installing.played.play = replace(
        installing.played.play, pods={f"*cainjector:{V121}": PodPlay(ready=NEVER)}
    )
    await installing.change(upgrade={"allowSkip": True})
    await installing.advance(30)
    assert (await installing.status())["step"]["fromVersions"] == [V120, V119]
    assert await has_right(), "a pod of the first version still runs"
    await installing.restart()
    assert await has_right()
    installing.played.play = replace(installing.played.play, pods={})
    which = Selection("cert-manager", "app.kubernetes.io/component=cainjector")
    await installing.cluster.client.delete_collection(Pod, which)
    await installing.until_available()
    await installing.advance(60)
    assert (await installing.status())["installedVersion"] == V121
    assert not await has_right()


@pytest.mark.scenario("CMD-39")
@pytest.mark.parametrize("component", ["cainjector", "webhook", "controller"])
async def test_a_restart_in_the_middle_resumes(installing: Installing, component: str) -> None:
    await installing.installed(V120)
    pods = {f"*{component}:{V121}": PodPlay(ready=NEVER)}
    installing.played.play = replace(installing.played.play, pods=pods)
    await installing.change(version=V121)
    await installing.advance(60)
    before = await versions(installing)
    since = (await installing.status())["step"]
    calls = await installing.restart()
    assert calls.writes == 0
    assert await versions(installing) == before
    assert (await installing.status())["step"] == since
    installing.played.play = replace(installing.played.play, pods={})
    which = Selection("cert-manager", f"app.kubernetes.io/component={component}")
    await installing.cluster.client.delete_collection(Pod, which)
    await installing.advance(120)
    assert (await installing.status())["installedVersion"] == V121


@pytest.mark.scenario("CMD-40")
async def test_without_a_version_the_default_is_announced(installing: Installing) -> None:
    await installing.installed(V120)
    await installing.change(version=None)
    calls = Calls([*await installing.settle(), *await installing.advance(120)])
    writes = [
        call.resource.kind
        for call in calls
        if call.resource and call.verb in {"create", "update", "patch"}
        if call.resource.kind not in {"Event", "Certificate"}
    ]
    assert writes[0] == "CertManagerDeployment"
    assert await installing.events("UpgradeStarted") == [
        f"Changing cert-manager from {V120} to {V121}"
    ]
    assert await installing.events("UpgradeCompleted") == [f"cert-manager {V121} works"]
    assert (await installing.status())["installedVersion"] == V121


@pytest.mark.scenario("CMD-41")
async def test_the_installed_version_is_the_old_one_until_all_is_new(
    installing: Installing,
) -> None:
    await installing.installed(V120)
    pods = {f"*controller:{V121}": PodPlay(ready=60)}
    installing.played.play = replace(installing.played.play, pods=pods)
    await installing.change(version=V121)
    await installing.advance(40)
    assert (await versions(installing))["controller"] == V121
    status = await installing.status()
    assert (status["version"], status["installedVersion"]) == (V121, V120)
    assert status["phase"] == "Pending"
    await installing.advance(120)
    assert (await installing.status())["installedVersion"] == V121


@pytest.mark.scenario("CMD-42")
@pytest.mark.parametrize(("policy", "version"), [("Automatic", V121), ("Manual", V120)])
async def test_a_new_default_follows_the_policy(
    installing: Installing, policy: str, version: str
) -> None:
    installing.default = V120
    await installing.installed(upgradePolicy=policy)
    installing.default, installing.running = V121, None
    await installing.cluster.restart(installing.operator())
    await installing.cluster.advance(seconds=120)
    assert (await installing.status())["installedVersion"] == version
    assert set((await versions(installing)).values()) == {version}
