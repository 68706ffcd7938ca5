"""An installation of cert-manager under faults at every point: the same end, nothing of others gone.

cert-manager is played and meets no fault; the operator meets all of them. Every scenario ends with
a cert-manager that issues certificates, or with none at all.
"""

from collections.abc import Iterator
from typing import Any, cast

import pytest
from tests.component.operators.certmanager.conftest import (
    CMD,
    V120,
    V121,
    Installing,
    as_released,
)

from certwright.apply import ObjectRef
from certwright.bundles.catalogue import load
from certwright.bundles.sources import BundleSet
from certwright.kube.kinds import (
    ClusterRole,
    CustomResourceDefinition,
    Deployment,
    Secret,
    Service,
    ValidatingWebhookConfiguration,
)
from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator
from certwright.operators.certmanager.source import BundleSource
from certwright.testkit import (
    Calls,
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
    stale_restart,
    survives,
)
from certwright.testkit.actors.certmanager import (
    CertManagerPlay,
    PlayedCertManager,
    small_release,
)

BUNDLES = BundleSet({version: as_released(version) for version in (V120, V121)})
OPERATOR = certmanager_operator(CertManagerSettings(BundleSource(lambda: BUNDLES, load()), {}))
IGNORE = (
    "CertManagerDeployment.status.conditions",
    "CertManagerDeployment.status.deploymentConditions",
    "CertManagerDeployment.status.crdConditions",
    "CertManagerDeployment.status.components",
    "Pod.status",
    "Deployment.status",
    "ReplicaSet.status",
    "Secret.data",
    "Service.spec.clusterIP",
    "Service.spec.clusterIPs",
    "ValidatingWebhookConfiguration.webhooks",
    "MutatingWebhookConfiguration.webhooks",
)
"""Times, keys, addresses, and how often pods were replaced."""


class Simulated(Installing):
    """An installation on a cluster that runs the operator itself."""

    async def settle(self) -> Calls:
        """Let the operator rest."""
        return await self.cluster.settle()


async def played(cluster: EmbeddedCluster) -> Installing:
    """Play cert-manager on a cluster."""
    actor = await cluster.enter(PlayedCertManager(cluster, CertManagerPlay()))
    installing = Simulated(cluster, actor)
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"k": "dg=="}}
    await cluster.create({**secret, "metadata": {"name": "foreign", "namespace": "default"}})
    return installing


async def works(installing: Installing, version: str = V121) -> None:
    """Wait until a version is installed, and require that it works."""
    await installing.until_available(900)
    for _ in range(300):
        if (await installing.status()).get("installedVersion") == version:
            break
        await installing.cluster.advance(seconds=1)
    assert (await installing.status())["installedVersion"] == version
    assert await installing.obstacles() == []
    assert await installing.find(Secret, "default/foreign") is not None
    for one in small_release(version):
        assert await installing.exists(ObjectRef.of(one)), ObjectRef.of(one)


async def install(cluster: EmbeddedCluster) -> None:
    installing = await played(cluster)
    await installing.declare()
    await works(installing)


async def upgrade(cluster: EmbeddedCluster) -> None:
    installing = await played(cluster)
    await installing.declare(version=V120)
    await works(installing, V120)
    await installing.change(version=V121)
    await works(installing)


async def drift(cluster: EmbeddedCluster) -> None:
    installing = await played(cluster)
    await installing.declare()
    await works(installing)
    await cluster.delete(Service, "cert-manager/cert-manager-webhook")
    await cluster.patch(ClusterRole, "cert-manager-controller-issuers", {"rules": []})
    await cluster.delete(ValidatingWebhookConfiguration, "cert-manager-webhook")
    await cluster.delete(Deployment, "cert-manager/cert-manager")
    await cluster.advance(seconds=30)
    await works(installing)


async def removal(cluster: EmbeddedCluster) -> None:
    installing = await played(cluster)
    await installing.declare()
    await works(installing)
    await cluster.delete(CMD, "cluster")
    for _ in range(600):
        if await installing.find(CMD, "cluster") is None:
            break
        await cluster.advance(seconds=1)
    assert await installing.find(CMD, "cluster") is None
    names = [one["metadata"]["name"] for one in small_release(V121)[1:7]]
    for name in names:
        assert await installing.find(CustomResourceDefinition, name) is not None
    assert await installing.find(Deployment, "cert-manager/cert-manager") is None


SCENARIOS = pytest.mark.parametrize("scenario", [install, upgrade, drift, removal])


@SCENARIOS
def test_crashes(scenario: Any) -> None:
    survives(scenario, OPERATOR, crash_after_every_write, ignore=IGNORE, most=2)


def restart_into_the_past(calm: Any) -> Iterator[Any]:
    """Of all earlier states, at every write the latest ones and ever fewer of the others."""
    steps = {1, 3, 8, 21}
    for plan in stale_restart(calm):
        (crash,) = cast("Any", plan).writes.values()
        if crash.behind in steps:
            yield plan


def test_restarts_into_earlier_states() -> None:
    survives(upgrade, OPERATOR, restart_into_the_past, ignore=IGNORE, most=2)


def test_events_lost_late_and_repeated() -> None:
    tortures = (drop_each_event, repeat_each_event, delay_each_event, break_each_watch)
    survives(install, OPERATOR, *tortures, ignore=IGNORE, most=2)


def test_requests_that_fail() -> None:
    tortures = (refuse_every_write, fail_every_request, lose_every_answer)
    survives(install, OPERATOR, *tortures, ignore=IGNORE, most=2)


@SCENARIOS
def test_simulated_storms(scenario: Any) -> None:
    simulate(scenario, OPERATOR, ignore=IGNORE, seeds=range(1))
