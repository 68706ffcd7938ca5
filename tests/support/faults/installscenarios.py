"""What scenarios of installations are made of, and what is watched while they run."""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.support.faults.installwatch import InstallWatch
from tests.support.faults.tinyrelease import tiny_bundle

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.bundles.catalogue import load
from certwright.bundles.sources import BundleSet, PackedBundle
from certwright.kube import JsonObject, Key, Resource, key_of
from certwright.kube.kinds import Deployment, Pod
from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator
from certwright.operators.certmanager.source import BundleSource
from certwright.runtime import Operator
from certwright.testkit import EmbeddedCluster
from certwright.testkit.actors.certmanager import CertManagerPlay, PlayedCertManager
from certwright.testkit.actors.podplay import PodPlay
from certwright.testkit.faults.faults import Plan
from certwright.testkit.faults.simulation import Run, Scenario
from certwright.testkit.faults.torture import Torture
from certwright.testkit.workloads.podstate import is_ready

CMD: Final = CertManagerDeployment.resource
CERTIFICATE: Final = Resource("cert-manager.io", "v1", "Certificate", "certificates")
V119, V120, V121 = "v1.19.5", "v1.20.3", "v1.21.2"
VERSIONS: Final = ("v1.6.3", "v1.7.3", V119, V120, V121)
PATIENT: Final = CertManagerPlay(retry=10, lease=40, deadline=30, renewal=20)
"""Leases that are taken soon, so that less time passes, and renewed seldom, which costs most."""
PASSING: Final = [
    "Pod.status.podIP",
    "Pod.status.podIPs",
    "Pod.status.containerStatuses",
    "Pod.status.conditions",
    "Service.spec.clusterIP",
    "Service.spec.clusterIPs",
]
"""What depends on chance, or on when pods were started."""

SHELF: Final[dict[str, PackedBundle]] = {}
"""The bundles there are; scenarios take some away."""


def operator(bundles: Callable[[], dict[str, PackedBundle]], default: str) -> Operator:
    """Return the operator with the bundles there are at each moment."""
    source = BundleSource(lambda: BundleSet(bundles(), ()), load(), default=default)
    return certmanager_operator(CertManagerSettings(source, {}))


async def declare(cluster: EmbeddedCluster, **spec: Any) -> None:
    """Create the CertManagerDeployment."""
    metadata = {"name": "cluster"}
    kind = {"apiVersion": CMD.api_version, "kind": CMD.kind}
    await cluster.create({**kind, "metadata": metadata, "spec": spec})


async def change(cluster: EmbeddedCluster, **spec: Any) -> None:
    """Change its spec."""
    await cluster.patch(CMD, "cluster", {"spec": spec})


def is_available(resource: JsonObject) -> bool:
    """Return whether a status says that certificates can be issued."""
    conditions = (resource.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)


@dataclass(frozen=True)
class Site:
    """A cluster on which cert-manager is played, as scenarios use it."""

    cluster: EmbeddedCluster
    played: PlayedCertManager

    async def install(self, version: str = V121, **spec: Any) -> None:
        """Declare an installation and wait until it works."""
        await declare(self.cluster, version=version, **spec)
        await self.done()
        await self.expect(version)

    async def change(self, **spec: Any) -> None:
        """Change what is wanted."""
        await change(self.cluster, **spec)

    async def done(self) -> None:
        """Let everything be done that is possible: longer than any back-off."""
        await self.cluster.advance(minutes=6)

    async def expect(self, version: str) -> None:
        """Fail unless a version works, and the status says so."""
        found = await self.cluster.get(CMD, "cluster")
        assert is_available(found), found.get("status")
        assert found["status"].get("installedVersion") == version, found["status"]
        assert await self.obstacles() == []

    async def expect_degraded(self, reason: str) -> None:
        """Fail unless the status tells of trouble of a kind."""
        found = await self.cluster.get(CMD, "cluster")
        told = {one["type"]: one["reason"] for one in found["status"]["conditions"]}
        assert told["Degraded"] == reason, told

    async def obstacles(self) -> list[str]:
        """Return what is really in the way of a Certificate."""
        self.cluster.client.discovery.invalidate()
        return await self.played.obstacles()

    async def order(self) -> None:
        """Have a certificate issued, as users do."""
        self.cluster.client.discovery.invalidate()
        head = {"apiVersion": "cert-manager.io/v1"}
        own = {"metadata": {"name": "own"}}
        await self.cluster.create({**head, "kind": "Issuer", **own, "spec": {"selfSigned": {}}})
        spec = {"secretName": "own", "dnsNames": ["a.example"], "issuerRef": {"name": "own"}}
        await self.cluster.create({**head, "kind": "Certificate", **own, "spec": spec})
        await self.cluster.advance(seconds=5)

    async def gone(self) -> bool:
        """Return whether no component runs any more."""
        found = await self.cluster.client.list(Deployment, "cert-manager")
        return not found.items

    def hinder(self, pods: str) -> None:
        """Let images that fit a pattern not be pulled."""
        self.played.play = replace(self.played.play, pods={pods: PodPlay(pull_fails=True)})

    async def mend(self) -> None:
        """Let all images be pulled, for pods that are made from now on."""
        self.played.play = PATIENT
        for pod in (await self.cluster.client.list(Pod, "cert-manager")).items:
            if not is_ready(pod):
                await self.cluster.client.delete(Pod, key_of(pod))

    async def edit(self, kind: Resource, name: str, edit: Callable[[JsonObject], None]) -> None:
        """Let another client change an object."""
        found = await self.cluster.client.get(kind, Key.parse(name))
        edit(found)
        await self.cluster.client.update(found)

    async def delete(self, objects: Iterable[tuple[Resource, str]]) -> None:
        """Let another client delete objects."""
        for kind, name in objects:
            await self.cluster.client.delete(kind, Key.parse(name))


SiteScenario = Callable[[Site], Awaitable[None]]


def simulated() -> Operator:
    """Return the operator of simulations."""
    return operator(lambda: SHELF, V121)


def watched(play: SiteScenario, deleted_definitions: int = 0) -> Scenario:
    """Return a scenario during which nothing may be lost that is not meant to be."""

    async def scenario(cluster: EmbeddedCluster) -> None:
        SHELF.clear()
        SHELF.update({version: tiny_bundle(version) for version in VERSIONS})
        played = await cluster.enter(PlayedCertManager(cluster, PATIENT))
        await cluster.settle()  # which also installs the definition
        watch = InstallWatch(cluster)
        await watch.place_bystanders()
        await play(Site(cluster, played))
        await cluster.advance(minutes=6)
        await watch.judge(deleted_definitions)

    scenario.__name__ = play.__name__
    return scenario


def spread(torture: Torture, most: int = 12) -> Torture:
    """Return a torture that strikes at so many of its points, evenly spread, in a campaign too."""

    def spread_torture(calm: Run) -> Iterator[Plan]:
        plans = list(torture(calm))
        step = max(1.0, (len(plans) - 1) / (most - 1))
        yield from (plans[round(number * step)] for number in range(min(most, len(plans))))

    spread_torture.__name__ = torture.__name__
    return spread_torture
