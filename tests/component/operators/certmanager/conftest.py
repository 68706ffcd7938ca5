"""An operator that installs cert-manager on the embedded server, where cert-manager is played.

::

    @pytest.mark.scenario("CMD-1")
    async def test_installs(installing):
        await installing.declare()
        await installing.until_available()
        assert await installing.phase() == "Running"

Bundles are small, and as the release: names, labels, arguments. Time is virtual.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pytest

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.apply import ObjectRef
from certwright.bundles.bundle import encode, make_bundle
from certwright.bundles.catalogue import load
from certwright.bundles.sources import BundleSet, PackedBundle
from certwright.kube import JsonObject, NotFound, Object, Resource, crd_manifest, resource_of
from certwright.kube.kinds import Event
from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator
from certwright.operators.certmanager.source import BundleSource
from certwright.runtime import Operator
from certwright.testkit import Calls, EmbeddedCluster
from certwright.testkit.actors.certmanager import (
    CertManagerPlay,
    PlayedCertManager,
    small_release,
)

CMD = CertManagerDeployment.resource
V119, V120, V121 = "v1.19.5", "v1.20.3", "v1.21.2"
PLAY = CertManagerPlay(renewal=30.0)
"""Leases are renewed just in time: each renewal costs as much as any other write."""
VERSIONS = ("v1.16.5", "v1.17.4", "v1.18.6", V119, V120, V121)


def packed(version: str, change: Callable[[list[JsonObject]], None] | None = None) -> PackedBundle:
    """Return the bundle of a small release, changed as a test wants it."""
    objects = small_release(version)
    if change is not None:
        change(objects)
    return PackedBundle.read(encode(make_bundle(version, objects)), version)


@cache
def as_released(version: str) -> PackedBundle:
    """Return the bundle of a small release."""
    return packed(version)


def named(objects: list[JsonObject], name: str, kind: str = "") -> JsonObject:
    """Return the object of a bundle with a name, to be changed."""
    [found] = [
        one for one in objects if one["metadata"]["name"] == name and kind in {"", one["kind"]}
    ]
    return found


class Installing:
    """A cluster, cert-manager played on it, the operator, and words for all of them."""

    def __init__(self, cluster: EmbeddedCluster, played: PlayedCertManager) -> None:
        self.cluster = cluster
        self.played = played
        self.bundles = {version: as_released(version) for version in VERSIONS}
        self.errors: tuple[Any, ...] = ()
        self.default = V121
        self.environment: Mapping[str, str] = {}
        self.running: Operator | None = None

    # Declaring

    def resource(self, name: str = "cluster", **spec: Any) -> JsonObject:
        """Return a CertManagerDeployment."""
        return {
            "apiVersion": CMD.api_version,
            "kind": CMD.kind,
            "metadata": {"name": name},
            "spec": spec,
        }

    async def declare(self, **spec: Any) -> None:
        """Create the CertManagerDeployment."""
        await self.cluster.install(crd_manifest(CertManagerDeployment))
        await self.cluster.create(self.resource(**spec))

    async def change(self, **spec: Any) -> None:
        """Change its spec."""
        await self.cluster.patch(CMD, "cluster", {"spec": spec})

    # Running

    def source(self) -> BundleSource:
        """Return the bundles of the test."""
        return BundleSource(
            lambda: BundleSet(self.bundles, self.errors), load(), default=self.default
        )

    def operator(self) -> Operator:
        """Return the operator, with the bundles of the test."""
        return certmanager_operator(CertManagerSettings(self.source(), self.environment))

    async def settle(self) -> Calls:
        """Run the operator until it waits."""
        self.running = self.running or self.operator()
        return await self.cluster.settle(self.running)

    async def advance(self, seconds: float) -> Calls:
        """Let time pass while the operator runs; return its calls."""
        before = await self.settle()
        return Calls([*before, *await self.cluster.advance(seconds=seconds)])

    async def until_available(self, seconds: int = 300) -> Calls:
        """Let time pass until certificates can be issued; return all calls until then."""
        requests = list(await self.settle())
        for _ in range(seconds):
            if await self.is_available():
                return Calls(requests)
            requests += await self.cluster.advance(seconds=1)
        raise AssertionError(await self.conditions())

    async def installed(self, version: str = "", **spec: Any) -> None:
        """Install a version and wait until it works."""
        await self.declare(**({"version": version} if version else {}), **spec)
        await self.until_available()
        await self.advance(30)

    async def restart(self) -> Calls:
        """Start the operator again with nothing in mind, and let it rest."""
        assert self.running is not None
        return await self.cluster.restart(self.running)

    # Looking

    async def get(self, name: str = "cluster") -> JsonObject:
        """Return the CertManagerDeployment."""
        found: JsonObject = await self.cluster.get(CMD, name)
        return found

    async def status(self) -> JsonObject:
        """Return its status."""
        return (await self.get()).get("status") or {}

    async def conditions(self, name: str = "cluster") -> dict[str, str]:
        """Return its conditions: ``{"Available": "True/AsExpected", …}``."""
        found = ((await self.get(name)).get("status") or {}).get("conditions") or ()
        return {one["type"]: f"{one['status']}/{one['reason']}" for one in found}

    async def message(self, condition: str) -> str:
        """Return the message of a condition."""
        found = (await self.status()).get("conditions") or ()
        return next(one.get("message") or "" for one in found if one["type"] == condition)

    async def is_available(self) -> bool:
        """Return whether the status says that certificates can be issued, and nothing is left."""
        status, conditions = await self.status(), await self.conditions()
        told = status.get("observedGeneration") == (await self.get())["metadata"]["generation"]
        available = conditions.get("Available", "").startswith("True")
        return told and available and conditions["Progressing"].startswith("False")

    async def obstacles(self) -> list[str]:
        """Return what is really in the way of a Certificate that is created now."""
        self.cluster.client.discovery.invalidate()
        return await self.played.obstacles()

    async def find(self, kind: type[Object] | Resource, name: str) -> Any:
        """Return an object, or None; ``namespace/name``, or a name for cluster scope."""
        return await self.cluster.find(kind, name)

    async def object(self, ref: ObjectRef) -> Any:
        """Return an object of any kind, or None."""
        client = self.cluster.client
        try:
            return await client.get(await client.discovery.resource_for(ref.gvk), ref.key)
        except NotFound:
            return None

    async def exists(self, ref: ObjectRef) -> bool:
        """Return whether an object of any kind exists."""
        return await self.object(ref) is not None

    async def events(self, reason: str) -> list[str]:
        """Return the notes of the events with a reason."""
        found = await self.cluster.list(resource_of(Event))
        return [event["note"] for event in found if event["reason"] == reason]


@pytest.fixture
async def installing(embedded_cluster: EmbeddedCluster) -> Installing:
    played = await embedded_cluster.enter(PlayedCertManager(embedded_cluster, PLAY))
    return Installing(embedded_cluster, played)
