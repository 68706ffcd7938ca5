"""The commands of an issuer against a cluster, and what a process tells about itself."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.support.issuer.issuer_world import GROUP, Spec, World

from certwright.api.certmanager import CertificateRequest
from certwright.client import Client, Request, Response, Transport
from certwright.issuer import Bundle, Issuer, IssuerApp, IssuerUnavailable, Pending, Permanent
from certwright.issuer import Request as SigningRequest
from certwright.issuer.run.manifests import Installation, rbac_manifests
from certwright.issuer.run.run import NotReadyToRun, examine, refuse_to_start
from certwright.kube import crd_manifest
from certwright.kube.kinds import ClusterRole, CustomResourceDefinition, Role
from certwright.runtime import Manager, Metrics
from certwright.testkit import Cluster, EmbeddedCluster, VirtualLoop


@pytest.mark.scenario("ISS-94")
async def test_the_printed_kinds_are_served(cluster: Cluster) -> None:
    w = World(cluster)
    await cluster.install(*w.app.crds())
    await w.issuer()
    await w.settle()
    for kind in w.app.kinds:
        found = await cluster.get(CustomResourceDefinition, kind.resource.qualified)
        [version] = found["spec"]["versions"]
        assert version["subresources"] == {"status": {}}
        status = version["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"]
        assert status["conditions"]["x-kubernetes-list-type"] == "map"
        assert version["additionalPrinterColumns"][0]["name"] == "Ready"


class Acting:
    """A transport that asks the server to treat every request as somebody else's."""

    def __init__(self, inner: Transport, user: str) -> None:
        self._inner = inner
        self._headers = (("Impersonate-User", user), ("Impersonate-Group", "system:authenticated"))

    async def send(self, request: Request) -> Response:
        return await self._inner.send(replace(request, headers=request.headers + self._headers))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(replace(request, headers=request.headers + self._headers))

    async def close(self) -> None:
        await self._inner.close()


WHERE = Installation(name="test-issuer", namespace="default")
ACCOUNT = "system:serviceaccount:default:test-issuer"


async def installed(cluster: EmbeddedCluster, app: IssuerApp[Any]) -> None:
    """Install the kinds and roles of an app."""
    await cluster.install(*app.crds(), crd_manifest(CertificateRequest))
    kinds = [kind.resource for kind in app.kinds]
    for manifest in rbac_manifests(kinds, app.settings, WHERE, uses_secrets=False):
        await cluster.apply(manifest)


@pytest.mark.scenario("ISS-96")
async def test_a_missing_permission_is_named_before_anything_starts(virtual: VirtualLoop) -> None:
    assert virtual is not None
    async with EmbeddedCluster(rbac=True) as cluster:
        w = World(cluster)
        await installed(cluster, w.app)
        async with Client(Acting(cluster._transport(), ACCOUNT), clock=cluster.clock) as client:
            await refuse_to_start(client, w.app, WHERE)
            role = await cluster.get(ClusterRole, "test-issuer")
            rules = [r for r in role["rules"] if r["resources"] != ["certificaterequests/status"]]
            await cluster.patch(ClusterRole, "test-issuer", {"rules": rules})
            await cluster.patch(Role, "test-issuer", {"rules": []})
            with pytest.raises(NotReadyToRun) as refused:
                await refuse_to_start(client, w.app, WHERE)
    said = str(refused.value)
    assert (
        'add the rule {apiGroups: ["cert-manager.io"], resources: [certificaterequests/status], verbs: [patch]}'
        in said
    )
    assert 'add the rule {apiGroups: ["coordination.k8s.io"], resources: [leases]' in said
    assert len(said.splitlines()) == 2


async def test_the_generated_roles_are_enough(virtual: VirtualLoop) -> None:
    """The whole life of a request under the generated permissions and no others."""
    async with EmbeddedCluster(rbac=True) as cluster:
        w = World(cluster)
        await installed(cluster, w.app)
        connection = Acting(cluster._transport(), ACCOUNT)
        async with Client(connection, clock=cluster.clock) as client:
            manager = Manager(client, [w.app.operator], clock=cluster.clock)
            async with asyncio.TaskGroup() as group:
                group.create_task(manager.run())
                await w.issuer()
                await asyncio.sleep(1)  # until the issuer is ready
                await w.request()
                await asyncio.sleep(5)
                manager.stop()
        assert (await w.ready()).reason == "Issued"
        assert await w.events() == [
            ("Normal", "Issued", "Succeeded signing the CertificateRequest")
        ]


async def test_what_is_missing_is_found(virtual: VirtualLoop) -> None:
    assert virtual is not None
    async with EmbeddedCluster(rbac=True) as cluster:
        w = World(cluster)
        await installed(cluster, w.app)
        findings = await examine(cluster.client, w.app, WHERE)
        assert not [one for one in findings if one.problem]
        await cluster.delete(ClusterRole, "cert-manager-controller-approve:test-issuer")
        await cluster.delete(CustomResourceDefinition, f"testissuers.{GROUP}")
        findings = await examine(cluster.client, w.app, WHERE)
        problems = [one.problem for one in findings if one.problem]
    assert problems[0] == (
        f"the cluster does not serve testissuers.{GROUP}: install what the command crds prints"
    )
    assert "system:serviceaccount:cert-manager:cert-manager may not approve" in problems[1]
    assert (
        f'resourceNames: ["testissuers.{GROUP}/*", "testclusterissuers.{GROUP}/*"]' in problems[1]
    )
    assert len(problems) == 2


async def test_a_right_to_approve_that_cannot_be_checked_is_a_warning(virtual: VirtualLoop) -> None:
    assert virtual is not None
    async with EmbeddedCluster(rbac=True) as cluster:
        w = World(cluster)
        await installed(cluster, w.app)
        async with Client(Acting(cluster._transport(), ACCOUNT), clock=cluster.clock) as client:
            findings = await examine(client, w.app, WHERE)  # it may not ask what others may do
    [unsure] = [one for one in findings if one.problem]
    assert unsure.what == "approval by cert-manager/cert-manager"
    assert unsure.problem.startswith("cannot be checked: ")
    assert "subjectaccessreviews" in unsure.problem
    assert not unsure.is_fatal


async def test_an_administrator_is_told_what_the_service_account_may_not_do(
    virtual: VirtualLoop,
) -> None:
    assert virtual is not None
    async with EmbeddedCluster(rbac=True) as cluster:
        w = World(cluster)
        await installed(cluster, w.app)
        account = f"{WHERE.namespace}/{WHERE.name}"
        findings = await examine(cluster.client, w.app, WHERE, account=account)
        assert not [one for one in findings if one.problem]
        await cluster.delete(ClusterRole, WHERE.name)
        findings = await examine(cluster.client, w.app, WHERE, account=account)
        missing = [one for one in findings if one.problem]
        assert len(missing) > 5
        assert all("add the rule" in one.problem for one in missing)
        assert not [one for one in await examine(cluster.client, w.app, WHERE) if one.problem]


@pytest.mark.scenario("ISS-97")
async def test_a_request_nobody_approves_says_what_is_probably_missing(
    embedded_world: Callable[..., World],
) -> None:
    w = embedded_world()
    await w.issuer()
    await w.request(approve=False)
    await w.settle()
    assert await w.events() == []
    await w.cluster.advance(minutes=2)
    [(type_, reason, note)] = await w.events()
    assert (type_, reason) == ("Warning", "WaitingForApproval")
    assert f'verb "approve" on "signers" named "testissuers.{GROUP}/*"' in note
    calls = await w.cluster.advance(hours=1)
    assert calls.writes == 0


@pytest.mark.scenario("ISS-101")
async def test_every_sign_is_counted_once(embedded_cluster: EmbeddedCluster) -> None:
    w = World(embedded_cluster, max_retry=timedelta(hours=1))
    metrics = Metrics()
    manager = Manager(
        embedded_cluster.client, [w.app.operator], clock=embedded_cluster.clock, metrics=metrics
    )
    w.script.signs[:] = [
        ValueError("x"),
        Pending("y"),
        Pending("y"),
        IssuerUnavailable("z"),
        Permanent("w"),
        None,
    ]
    await embedded_cluster.install(*w.app.crds(), crd_manifest(CertificateRequest))
    async with asyncio.TaskGroup() as group:
        group.create_task(manager.run())
        await w.issuer()
        await w.request("cr1")
        await asyncio.sleep(120)
        await w.request("cr2")
        await asyncio.sleep(60)
        manager.stop()
    results = {
        sample.labels["result"]: sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "certwright_issuer_sign_total"
    }
    assert results == {"retry": 1, "pending": 2, "issuer_error": 1, "failed": 1, "issued": 1}


async def test_sync_functions_and_classes_and_hooks(cluster: Cluster) -> None:
    """The other ways to write the same issuer."""
    world = World(cluster)
    app: IssuerApp[Spec] = IssuerApp(group=GROUP, kind="TestIssuer", spec=Spec)
    done: list[str] = []

    @app.issuer
    class Plain(Issuer[Spec]):
        def check(self) -> None:
            done.append(f"check {self.name}")

        def sign(self, request: SigningRequest) -> Bundle:
            done.append(f"sign {request.name}")
            leaf = world.ca.issue_request(request.csr, request.terms, request.now)
            return Bundle(world.ca.write_chain(leaf))

    @app.on_startup
    async def begin() -> None:
        done.append("startup")

    @app.on_shutdown
    def end() -> None:
        done.append("shutdown")

    world.app = app
    await world.issuer()
    await world.settle()
    await world.request()
    await world.settle()
    await cluster.stop()
    assert (await world.ready()).reason == "Issued"
    assert done == ["startup", "check issuer-1", "sign cr1", "shutdown"]
    assert Plain.__name__ == "Plain"


async def test_a_failing_shutdown_does_not_keep_others_from_theirs(cluster: Cluster) -> None:
    world = World(cluster)
    done: list[str] = []

    @world.app.on_shutdown
    def breaks() -> None:
        raise LookupError("gone already")

    @world.app.on_shutdown
    async def closes() -> None:
        done.append("closed")

    await world.issuer()
    await world.settle()
    with capture_logs() as lines:
        await cluster.stop()
    assert done == ["closed"]
    [told] = [line for line in lines if line["event"] == "a function of on_shutdown raised"]
    assert (told["function"], told["error"]) == ("breaks", "gone already")
    assert "in breaks: raise LookupError" in told["lines"][-1]
