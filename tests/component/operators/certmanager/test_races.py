"""Others who are faster, servers that refuse or are away, and more than one claimant."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from copy import deepcopy
from typing import Any, cast

import pytest
from tests.component.operators.certmanager.conftest import (
    CMD,
    V120,
    V121,
    Installing,
)

from certwright.apply import ObjectRef
from certwright.client import Client, ConnectionLost, Propagation, Request, Response
from certwright.client.transport import Stream
from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import (
    ClusterRole,
    CustomResourceDefinition,
    Deployment,
    Lease,
    Pod,
    Service,
    ValidatingWebhookConfiguration,
)
from certwright.runtime import LeaderElection, Manager
from certwright.testkit import EmbeddedCluster
from certwright.testkit.actors.certmanager import (
    CertManagerPlay,
    PlayedCertManager,
    small_release,
)
from certwright.testkit.calls import is_write
from certwright.testkit.faults.faults import (
    EventFault,
    ExpireWatch,
    Meddle,
    Refuse,
    RequestFault,
    Unreachable,
)
from certwright.testkit.faults.interference import Interference

LABEL = "operators.redhat.io/kept-by"
WEBHOOK = "cert-manager/cert-manager-webhook"
CLAIM = "kube-system/cert-manager-install-claim"
Fault = Callable[[Request], RequestFault | None]


class Faults:
    """A plan of faults that a test switches on and off."""

    def __init__(self) -> None:
        self.request: Fault = lambda _request: None
        self.events: list[EventFault] = []
        self.meddle: Callable[[], Awaitable[None]] = lambda: asyncio.sleep(0)

    def on_request(self, request: Request, _number: int, _write: int) -> RequestFault | None:
        return self.request(request)

    def on_event(self, *_where: Any) -> EventFault | None:
        return self.events.pop() if self.events else None

    def latency(self) -> float:
        return 0.001


async def faulty(faults: Faults) -> Installing:
    """Return an installation whose operator meets faults."""
    loop: Any = asyncio.get_running_loop()  # a VirtualLoop
    interference = Interference(faults, loop.trace, loop.clock.jump)
    interference.meddle = lambda: faults.meddle()
    cluster = EmbeddedCluster(interference=interference)
    played = await cluster.enter(PlayedCertManager(cluster, CertManagerPlay()))
    return Installing(cluster, played)


@pytest.mark.scenario("CMD-61")
async def test_what_the_cache_does_not_show_is_found(installing: Installing) -> None:
    await installing.installed()
    before = await installing.find(Service, WEBHOOK)
    unlabelled = {"metadata": {"labels": {LABEL: None}}, "spec": {"selector": {"x": "y"}}}
    await installing.cluster.patch(Service, WEBHOOK, unlabelled)
    calls = await installing.advance(10)
    after = await installing.find(Service, WEBHOOK)
    assert calls.of("Service").by_verb["create"] == 1
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["metadata"]["labels"] == before["metadata"]["labels"]
    assert after["spec"]["selector"] == before["spec"]["selector"]
    assert await installing.events("FailedCreateService") == []
    assert (await installing.conditions())["Degraded"] == "False/AsExpected"


@pytest.mark.scenario("CMD-62")
@pytest.mark.usefixtures("embedded_cluster")
async def test_a_conflict_is_tried_again_with_a_fresh_look() -> None:
    faults = Faults()
    installing = await faulty(faults)
    async with installing.cluster:
        await installing.installed()
        refused: list[str] = []

        def conflicts(request: Request) -> RequestFault | None:
            is_role = request.resource is not None and request.resource.kind == "ClusterRole"
            if not is_role or request.verb != "update" or len(refused) == 2:
                return None
            refused.append(request.path)
            return Refuse(409)

        faults.request = conflicts
        name = "cert-manager-controller-issuers"
        await installing.cluster.patch(ClusterRole, name, {"rules": []})
        calls = await installing.advance(10)
        roles = calls.of("ClusterRole")
        assert (len(refused), roles.by_verb["update"]) == (2, 1)
        assert roles.by_verb["get"] >= 1
        assert (await installing.find(ClusterRole, name))["rules"] != []
        assert await installing.events("FailedUpdateClusterRole") == []


@pytest.mark.scenario("CMD-63")
@pytest.mark.usefixtures("embedded_cluster")
async def test_a_kind_that_is_forbidden_does_not_stop_the_others() -> None:
    faults = Faults()
    installing = await faulty(faults)
    async with installing.cluster:

        def forbids(request: Request) -> RequestFault | None:
            kind = request.resource.kind if request.resource is not None else ""
            return Refuse(403) if kind == "Service" and request.verb == "create" else None

        faults.request = forbids
        await installing.declare()
        await installing.advance(30)
        assert (await installing.conditions())["Degraded"] == "True/ObjectsNotWritten"
        told = await installing.message("Degraded")
        assert "Service cert-manager/cert-manager" in told
        for one in small_release(V121):
            registers = one["kind"].endswith("WebhookConfiguration")  # what has no Service
            expected = one["kind"] != "Service" and not registers
            assert await installing.exists(ObjectRef.of(one)) is expected, one["kind"]
        faults.request = lambda _request: None
        await installing.until_available(900)


async def test_a_webhook_of_others_that_fails_does_not_stop_the_rest(
    installing: Installing,
) -> None:
    client_config = {"service": {"namespace": "theirs", "name": "gone"}}
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["services"]}
    webhook = {
        "name": "policy.theirs.example",
        "clientConfig": client_config,
        "rules": [{**rule, "operations": ["CREATE"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    theirs = {
        "apiVersion": ValidatingWebhookConfiguration.api_version,
        "kind": ValidatingWebhookConfiguration.kind,
        "metadata": {"name": "theirs"},
        "webhooks": [webhook],
    }
    await installing.cluster.create(theirs)
    await installing.declare()
    await installing.advance(30)
    assert (await installing.conditions())["Degraded"] == "True/ObjectsNotWritten"
    told = await installing.message("Degraded")
    assert "Service cert-manager/cert-manager" in told
    assert "policy.theirs.example" in told
    assert await installing.find(Deployment, "cert-manager/cert-manager-webhook") is not None
    assert await installing.find(ValidatingWebhookConfiguration, "cert-manager-webhook") is None
    await installing.cluster.delete(ValidatingWebhookConfiguration, "theirs")
    await installing.until_available(900)


@pytest.mark.scenario("CMD-64")
@pytest.mark.usefixtures("embedded_cluster")
async def test_an_outage_is_survived() -> None:
    faults = Faults()
    installing = await faulty(faults)
    async with installing.cluster:
        await installing.installed(V120)
        faults.request = lambda _request: Unreachable()
        await installing.cluster.delete(Service, WEBHOOK)
        await installing.change(version=V121)
        await asyncio.sleep(300)
        faults.request = lambda _request: None
        for _ in range(60):
            await asyncio.sleep(30)
            if (await installing.status())["installedVersion"] == V121:
                break
        await installing.advance(60)
        assert await installing.find(Service, WEBHOOK) is not None
        assert (await installing.status())["installedVersion"] == V121
        assert installing.cluster.crashes == 0


@pytest.mark.usefixtures("embedded_cluster")
async def test_what_was_long_in_going_comes_back_although_the_first_attempt_fails() -> None:
    faults = Faults()
    installing = await faulty(faults)
    async with installing.cluster:
        await installing.installed()
        name, refused = "orders.acme.cert-manager.io", list[str]()
        held = {"metadata": {"finalizers": ["example.com/slow"]}}
        await installing.cluster.patch(CustomResourceDefinition, name, held)
        await installing.advance(5)
        before = (await installing.find(CustomResourceDefinition, name))["metadata"]["uid"]
        await installing.cluster.delete(CustomResourceDefinition, name)
        for number in range(12):  # each change on its way takes a pass
            note = {"metadata": {"annotations": {"note": str(number)}}}
            await installing.cluster.patch(CustomResourceDefinition, name, note)
            await installing.advance(0.5)

        def fails_once(request: Request) -> RequestFault | None:
            if request.resource != CustomResourceDefinition or request.verb != "create" or refused:
                return None
            refused.append(request.path)
            return Refuse(500)

        faults.request = fails_once
        let_go = {"metadata": {"finalizers": None}}
        await installing.cluster.patch(CustomResourceDefinition, name, let_go)
        await installing.advance(2)
        assert len(refused) == 1
        found = await installing.find(CustomResourceDefinition, name)
        assert found["metadata"]["uid"] != before
        await installing.until_available()


class Replica:
    """A replica of the operator whose connection can be cut."""

    def __init__(self, installing: Installing, name: str) -> None:
        self.cut = False
        self.writes: list[Request] = []
        self._inner = installing.cluster.server.transport()
        client = Client(cast("Any", self), clock=installing.cluster.clock)
        election = LeaderElection(name="certwright", namespace="default", identity=name)
        operator = installing.operator()
        self.manager = Manager(
            client, [operator], leader_election=election, clock=installing.cluster.clock
        )

    async def send(self, request: Request) -> Response:
        if self.cut:
            raise ConnectionLost("no route")
        if is_write(request) and "leases/certwright" not in request.path:
            self.writes.append(request)
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


@pytest.mark.scenario("CMD-65")
async def test_only_the_holder_of_the_lease_writes(installing: Installing) -> None:
    await installing.declare()
    first, second = Replica(installing, "one"), Replica(installing, "two")
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one.manager.run()) for one in (first, second)]
        await asyncio.sleep(60)
        leader, other = (first, second) if len(first.writes) > 5 else (second, first)
        assert len(leader.writes) > 30
        assert [call.path for call in other.writes if "leases" not in call.path] == []
        leader.cut = True
        await asyncio.sleep(60)
        await installing.cluster.delete(Service, WEBHOOK)
        leader.writes.clear()
        leader.cut = False
        await asyncio.sleep(60)
        assert await installing.find(Service, WEBHOOK) is not None
        assert [call.path for call in leader.writes if "leases" not in call.path] == []
        assert other.writes
        for task in tasks:
            task.cancel()


@pytest.mark.usefixtures("embedded_cluster")
async def test_a_registration_that_goes_during_a_pass_comes_back_with_its_ca_bundle() -> None:
    faults = Faults()
    installing = await faulty(faults)
    async with installing.cluster:
        await installing.installed()
        kind, name = ValidatingWebhookConfiguration, "cert-manager-webhook"
        [before] = (await installing.find(kind, name))["webhooks"]
        role, came = "cert-manager-controller-issuers", []

        async def delete() -> None:
            await installing.cluster.delete(kind, name)
            await asyncio.sleep(1)  # the operator sees it

        def meddles(request: Request) -> RequestFault | None:
            is_role = request.resource is not None and request.resource.kind == "ClusterRole"
            return Meddle() if is_role and request.verb == "update" else None

        def note(old: JsonObject | None, new: JsonObject | None) -> None:
            if old is None and new is not None and new["kind"] == kind.kind:
                came.append(new["webhooks"])

        faults.meddle, faults.request = delete, meddles
        installing.cluster.server.on_change(note)
        await installing.cluster.patch(ClusterRole, role, {"rules": []})
        await installing.advance(30)
        assert came == [[before]]


@pytest.mark.usefixtures("embedded_cluster")
async def test_no_pod_of_another_version_starts_without_its_roles() -> None:
    faults = Faults()
    installing = await faulty(faults)
    async with installing.cluster:
        await installing.installed(V120)

        def forbids(request: Request) -> RequestFault | None:
            kind = request.resource.kind if request.resource is not None else ""
            return Refuse(403) if kind == "ClusterRole" and request.verb == "update" else None

        faults.request = forbids
        await installing.change(version=V121)
        await installing.advance(60)
        found = await installing.find(Deployment, "cert-manager/cert-manager-cainjector")
        image = found["spec"]["template"]["spec"]["containers"][0]["image"]
        assert image.endswith(V120)
        assert (await installing.conditions())["Degraded"].startswith("True/")
        assert "ClusterRole" in await installing.message("Degraded")
        faults.request = lambda _request: None
        await installing.until_available()
        assert (await installing.status())["installedVersion"] == V121


HELM_LABELS = {"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "cert-manager"}


async def helm_installs(installing: Installing, version: str = V121) -> set[str]:
    """Let Helm install cert-manager; return the uids of its pods."""
    client = installing.cluster.client
    for one in small_release(version):
        obj = deepcopy(one)
        parts = [obj["metadata"]]
        if obj["kind"] == "Deployment":
            parts.append(obj["spec"]["template"]["metadata"])
        for part in parts:
            part["labels"] = {**part.get("labels", {}), **HELM_LABELS}
        client.discovery.invalidate()
        await client.create(obj, field_manager="helm")
        await asyncio.sleep(0.1)
    await asyncio.sleep(60)
    return await pods(installing)


async def pods(installing: Installing) -> set[str]:
    found = await installing.cluster.client.list(Pod, "cert-manager")
    return {pod["metadata"]["uid"] for pod in found.items}


@pytest.mark.scenario("CMD-66")
async def test_what_helm_installed_is_left_alone_until_it_is_adopted(
    installing: Installing,
) -> None:
    before = await helm_installs(installing)
    assert len(before) == 3
    await installing.declare()
    calls = await installing.advance(30)
    assert (await installing.conditions())["Degraded"] == "True/ForeignInstallation"
    told = await installing.message("Degraded")
    assert "cert-manager" in told
    assert "spec.adopt" in told
    kinds = {call.resource.kind for call in calls if call.resource and is_write(call)}
    assert kinds <= {"CertManagerDeployment", "Event", "Lease"}
    await installing.change(adopt=True)
    await installing.until_available()
    assert await pods(installing) == before
    assert (await installing.status())["installedVersion"] == V121
    marked = await installing.find(Deployment, "cert-manager/cert-manager")
    assert marked["metadata"]["annotations"]["operators.redhat.io/owner"] == "cluster"


async def test_labels_that_helm_gave_to_pods_go_with_the_pods(installing: Installing) -> None:
    await helm_installs(installing, V120)
    await installing.declare(version=V120, adopt=True)
    await installing.until_available()
    deployment = "cert-manager/cert-manager-webhook"
    template = (await installing.find(Deployment, deployment))["spec"]["template"]
    assert template["metadata"]["labels"].items() >= HELM_LABELS.items()
    await installing.change(version=V121)
    await installing.until_available()
    template = (await installing.find(Deployment, deployment))["spec"]["template"]
    assert not set(template["metadata"]["labels"]) & set(HELM_LABELS)


@pytest.mark.scenario("CMD-67")
@pytest.mark.usefixtures("embedded_cluster")
async def test_a_watch_that_expired_misses_no_drift() -> None:
    faults = Faults()
    installing = await faulty(faults)
    async with installing.cluster:
        await installing.installed()
        name = "cert-manager-controller-issuers"
        rules = (await installing.find(ClusterRole, name))["rules"]
        faults.events = [ExpireWatch()]
        await installing.cluster.patch(ClusterRole, name, {"rules": []})
        await installing.advance(30)
        assert faults.events == []
        assert (await installing.find(ClusterRole, name))["rules"] == rules


@pytest.mark.scenario("CMD-68")
@pytest.mark.parametrize("propagation", [Propagation.BACKGROUND, Propagation.FOREGROUND])
async def test_deleted_in_the_middle_nothing_is_created_any_more(
    installing: Installing, propagation: Propagation
) -> None:
    await installing.declare()

    async def delete() -> None:
        while await installing.find(Deployment, "cert-manager/cert-manager") is None:
            await asyncio.sleep(0.001)
        await installing.cluster.client.delete(
            CMD, installing.cluster.key(CMD, "cluster"), propagation=propagation
        )

    async with asyncio.TaskGroup() as group:
        group.create_task(delete())
        await installing.settle()
    await installing.advance(60)
    assert await installing.find(CMD, "cluster") is None
    left = {
        one["kind"] for one in small_release(V121) if await installing.exists(ObjectRef.of(one))
    }
    assert left == {"CustomResourceDefinition"}
    assert (await installing.advance(600)).writes == 0
    assert await installing.find(CustomResourceDefinition, "orders.acme.cert-manager.io")


Other = Resource("operator.ibm.com", "v1alpha1", "CertManager", "certmanagers", namespaced=False)


async def test_the_second_claimant_touches_nothing_and_takes_over(
    installing: Installing,
) -> None:
    rival = await claim_by_another(installing)
    await installing.declare()
    calls = await installing.advance(60)
    assert (await installing.conditions())["Degraded"] == "True/Conflict"
    assert "CertManager/default" in await installing.message("Degraded")
    kinds = {call.resource.kind for call in calls if call.resource and is_write(call)}
    assert kinds <= {"CertManagerDeployment", "Event", "Lease"}
    lease = await installing.find(Lease, CLAIM)
    uid = (await installing.get())["metadata"]["uid"]
    waits = f"CertManagerDeployment/cluster/{uid}"
    assert lease["metadata"]["annotations"]["operators.redhat.io/next-in-line"] == waits
    handed = {"spec": {"holderIdentity": waits}}
    await installing.cluster.patch(Lease, CLAIM, handed)
    await installing.until_available()
    assert rival


async def test_a_claim_of_one_that_is_gone_counts_for_nothing(installing: Installing) -> None:
    await claim_by_another(installing, exists=False)
    await installing.declare()
    await installing.until_available()


async def claim_by_another(installing: Installing, *, exists: bool = True) -> str:
    """Let a custom resource of another kind hold the installation."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1alpha1", "served": True, "storage": True}
    names = {
        "kind": "CertManager",
        "plural": "certmanagers",
        "singular": "certmanager",
        "listKind": "CertManagerList",
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "certmanagers.operator.ibm.com"},
        "spec": {
            "group": "operator.ibm.com",
            "scope": "Cluster",
            "names": names,
            "versions": [{**version, "schema": {"openAPIV3Schema": anything}}],
        },
    }
    await installing.cluster.install(definition)
    uid = "gone"
    if exists:
        head = {"apiVersion": Other.api_version, "kind": Other.kind}
        rival = await installing.cluster.create({**head, "metadata": {"name": "default"}})
        uid = rival["metadata"]["uid"]
    holder = f"CertManager/default/{uid}"
    namespace, _, name = CLAIM.partition("/")
    await installing.cluster.create(
        {
            "apiVersion": Lease.api_version,
            "kind": "Lease",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"holderIdentity": holder},
        }
    )
    return holder
