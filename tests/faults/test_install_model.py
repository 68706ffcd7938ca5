"""The passes of an installation under very many storms, on a model instead of a cluster.

Each seed draws what users want one after the other, what goes wrong with writes, when the operator
is killed or sees an old state, and how slow and broken the pods are. Whatever happens: once
certificates could be issued, they are never refused because of the operator, the status is true,
and in the end there is exactly what is wanted. That the kept set below the passes does what this
model takes for granted is shown by ``test_installs_survive.py``, at ten times the cost.
"""

import asyncio
from dataclasses import dataclass, field, replace
from functools import cache
from random import Random

import pytest
from tests.support.faults.installscenarios import V119, V120, V121
from tests.support.faults.modelcluster import CAINJECTOR, CONTROLLER, WEBHOOK, ModelCluster, Stored
from tests.support.faults.modeloperator import ModelProcess, told
from tests.support.faults.modelsite import Killed, ModelSite, Snapshot
from tests.support.faults.tinyrelease import tiny_release

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.apply import ObjectRef
from certwright.bundles.bundle import encode, make_bundle
from certwright.bundles.catalogue import load
from certwright.bundles.sources import BundleSet, PackedBundle
from certwright.kube import JsonObject, format_time
from certwright.operators.certmanager.engine.observed import first_container
from certwright.operators.certmanager.engine.steps import Wanted
from certwright.operators.certmanager.request import InstallRequest, UpgradePolicy
from certwright.operators.certmanager.source import BundleSource
from certwright.testkit.faults.replay import Replay

SEEDS, PARTS = 200, 10
VERSIONS = (V119, V120, V121)
DEPLOYMENTS = (CONTROLLER, WEBHOOK, CAINJECTOR)
PAUSES = (0.2, 1.0, 5.0, 20.0)
MOST_TURNS = 120
WISHES = ("up", "up", "down", "rollback", "options", "drift", "Unmanaged", "Removed")
"""What users do, or others; the last two for a while."""
FOREIGN = ObjectRef("rbac.authorization.k8s.io/v1", "ClusterRole", "", "cert-manager-theirs")


@cache
def bundle(version: str) -> PackedBundle:
    """Return the bundle of a version whose pods need rights that no other version needs."""
    objects = tiny_release(version)
    only = {"apiGroups": ["only"], "resources": [version], "verbs": ["get"]}
    for one in objects:
        if one["kind"] == "ClusterRole":
            one["rules"] = [*one["rules"], only]
    return PackedBundle.read(encode(make_bundle(version, objects)), version)


class RememberedSource(BundleSource):
    """Bundles that are rendered once for all storms."""

    def __init__(self, packed: dict[str, PackedBundle]) -> None:
        super().__init__(lambda: BundleSet(packed, ()), load(), default=V121)
        self._rendered: list[tuple[InstallRequest, Wanted]] = []

    def wanted(self, request: InstallRequest) -> Wanted:
        """Return the objects of a request, which do not depend on how it is carried out."""
        request = replace(request, upgrade=UpgradePolicy())
        for asked, wanted in self._rendered:
            if asked == request:
                return wanted
        self._rendered.append((request, super().wanted(request)))
        return self._rendered[-1][1]


@cache
def source() -> RememberedSource:
    """Return where bundles come from."""
    return RememberedSource({version: bundle(version) for version in VERSIONS})


@cache
def rights() -> dict[str, dict[ObjectRef, JsonObject]]:
    """Return the roles that the pods of each image need."""
    found: dict[str, dict[ObjectRef, JsonObject]] = {}
    for version in VERSIONS:
        objects = source().wanted(InstallRequest(version=version)).objects
        deployments = [one for one in objects if one.ref.kind == "Deployment"]
        roles = [one for one in objects if one.ref.kind.endswith("Role")]
        for deployment in deployments:
            app = deployment.obj["metadata"]["labels"]["app"]
            found[first_container(deployment.obj)["image"]] = {
                one.ref: one.obj for one in roles if one.obj["metadata"]["labels"]["app"] == app
            }
    return found


@dataclass
class InstallStorm:
    """One run: users, the operator, and what is observed."""

    seed: int
    rng: Random = field(init=False)
    site: ModelSite = field(init=False)
    process: ModelProcess = field(init=False)
    past: Snapshot = field(init=False)
    """What a new process may be shown."""
    foreign: Stored = field(init=False)
    worked: bool = False
    """Whether certificates could be issued, and nothing but the operator acted since."""
    rested: bool = False
    """Whether all was as wanted before the last wish."""
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = Random(self.seed)  # noqa: S311 - a storm to repeat
        cluster = ModelCluster(self.rng, rights())
        metadata = {"name": FOREIGN.name}
        role = {"apiVersion": FOREIGN.api_version, "kind": FOREIGN.kind, "metadata": metadata}
        self.foreign = cluster.put(FOREIGN, role)
        self.site = ModelSite(cluster)
        self.past = self.site.snapshot()
        self.process = ModelProcess(self.site, source(), self.past)

    @property
    def cluster(self) -> ModelCluster:
        """The cluster."""
        return self.site.cluster

    async def play(self) -> None:
        """Let users want one thing after the other; then calm down, and see what is there."""
        version = self.rng.choice(VERSIONS[:2])
        self._create(version)
        await self._storm()
        for _ in range(self.rng.randint(1, 2)):
            version = self._want(version)
            await self._storm()
        if removed := self.rng.random() < 0.25:
            now = format_time(self.cluster.time())
            self.site.change({"metadata": {"deletionTimestamp": now}})
            self.worked = False
            await self._storm()
        await (self._expect_removed() if removed else self._expect(version))
        if self.cluster.objects.get(FOREIGN) is not self.foreign:
            self.wrong.append("a foreign object was touched")
        lost = [ref for ref in self.cluster.deleted if ref.kind == "CustomResourceDefinition"]
        self.wrong += [f"{ref} was deleted" for ref in lost]

    # What users and others do

    def _create(self, version: str) -> None:
        kind = CertManagerDeployment.resource
        metadata = {"name": "cluster", "uid": "u", "generation": 1, "resourceVersion": "1"}
        head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        spec = {"version": version, "upgrade": {"allowSkip": True}}
        self.site.resource = {**head, "spec": spec}

    def _want(self, version: str) -> str:
        """Change what is wanted; return the version that it leads to."""
        near = VERSIONS.index(version)
        match self.rng.choice(WISHES):
            case "up":
                version = VERSIONS[min(near + 1, 2)]
                self.site.change({"spec": {"version": version}})
            case "down":
                version = VERSIONS[max(near - 1, 0)]
                allowed = {"allowDowngrade": True}
                self.site.change({"spec": {"version": version, "upgrade": allowed}})
            case "rollback":
                policy = {"onFailure": "Rollback", "stepTimeout": "1m", "allowDowngrade": True}
                version = VERSIONS[min(near + 1, 2)]
                self.site.change({"spec": {"version": version, "upgrade": policy}})
            case "options":
                self.site.change({"spec": {"logLevel": self.rng.choice([2, 4])}})
            case "drift":
                self._meddle()
            case "Unmanaged" | "Removed" as state:
                self.site.change({"spec": {"managementState": state}})
                self.worked = False
        return version

    def _meddle(self) -> None:
        """Let another client delete or change some of our objects."""
        self.worked = False
        ours = [
            ref
            for ref in self.cluster.objects
            if ref != FOREIGN and ref.kind not in {"Namespace", "CustomResourceDefinition"}
        ]
        for ref in self.rng.sample(ours, min(3, len(ours))):
            if self.rng.random() < 0.5:
                self.cluster.delete(ref)
            else:
                self.cluster.put(ref, self.cluster.objects[ref].obj())

    # What is observed

    async def _storm(self) -> None:
        """Let the operator make some passes while things go wrong."""
        self.site.danger, self.site.lag = self.rng.choice([(0.0, 0.3), (0.03, 0.3), (0.2, 0.5)])
        if self.rng.random() < 0.5:
            self.cluster.broken = frozenset(self.rng.sample(DEPLOYMENTS, 1))
        self.past = self.site.snapshot()
        for _ in range(self.rng.randint(2, 6)):
            await self._turn(self.rng.choice(PAUSES))
        self.site.danger, self.site.lag, self.cluster.broken = 0.0, 0.0, frozenset()
        if self.site.resource is not None:
            self.site.change({"spec": {"managementState": "Managed"}})
        rests = self.rng.random() < 0.5  # else the next wish comes in the middle
        if rests:
            await self._until_works()
        self.rested = rests

    async def _turn(self, pause: float) -> bool:
        """Make a pass and let time pass; return whether the pass was quiet."""
        writes = self.site.writes
        try:
            ended = await self.process.pass_over()
        except Killed:
            self.process, ended = ModelProcess(self.site, source(), self.past), False
        self._observe("after a pass")
        if ended and self.process.fresh and told(self.site.resource).get("Available") == "True":
            if idle := self.cluster.idle():
                self.wrong.append(f"at {self.cluster.now:.0f} s Available is not true: {idle}")
            elif not self._pending():
                self.worked = True
        self.cluster.pass_time(pause)
        self._observe("later")
        return ended and self.site.writes == writes

    def _pending(self) -> bool:
        """Return whether others have changed objects that the operator has not repaired yet."""
        return any(
            stored.applied is None for ref, stored in self.cluster.objects.items() if ref != FOREIGN
        )

    def _observe(self, when: str) -> None:
        """Note what the operator must not let happen once certificates could be issued."""
        mixed = self.cluster.mixed() if self.rested else []
        if len(mixed) > 1:
            self.wrong.append(f"{when}, at {self.cluster.now:.0f} s, pods are replaced of {mixed}")
        trouble = self.cluster.refusal() or self.cluster.missing_rights()
        if self.worked and trouble:
            self.wrong.append(f"{when}, at {self.cluster.now:.0f} s: {trouble}")
            self.worked = False

    async def _until_works(self) -> None:
        quiet = 0
        for _ in range(MOST_TURNS):
            quiet = quiet + 1 if await self._turn(max(PAUSES)) else 0
            self.cluster.pass_time(max(PAUSES))
            status = (self.site.resource or {}).get("status") or {}
            if self.site.resource is None or (
                quiet > 1 and "step" not in status and not self.cluster.idle()
            ):
                return
        self.wrong.append(f"it does not come to rest: {self.cluster.idle()}; {status}")

    async def _expect(self, version: str) -> None:
        """Expect that exactly a version is installed, or the one before after a roll-back."""
        await self._until_works()
        assert self.site.resource is not None
        status = self.site.resource["status"]
        if status.get("failedVersion") == version:
            version = status["installedVersion"]
        if (
            status.get("installedVersion") != version
            or told(self.site.resource)["Available"] != "True"
        ):
            self.wrong.append(f"{version} is not installed: {status}")
            return
        level = self.site.resource["spec"].get("logLevel")
        wanted = source().wanted(InstallRequest(version=version, log_level=level))
        refs = {one.ref for one in wanted.objects}
        surplus = {ref for ref in self.cluster.objects if ref not in refs} - {FOREIGN}
        self.wrong += [f"{ref} is left over" for ref in surplus]
        for one in wanted.objects:
            stored = self.cluster.objects.get(one.ref)
            if stored is None or stored.applied != one.obj:
                self.wrong.append(f"{one.ref} is not as wanted")

    async def _expect_removed(self) -> None:
        await self._until_works()
        kinds = {ref.kind for ref in self.cluster.objects if ref != FOREIGN}
        if self.site.resource is not None or kinds - {"CustomResourceDefinition", "Namespace"}:
            self.wrong.append(f"it is not removed: {kinds}")


def storm(seed: int) -> list[str]:
    """Return what went wrong under a seed."""
    run = InstallStorm(seed)
    asyncio.run(run.play())
    return [f"seed {seed}: {line}" for line in run.wrong]


@pytest.mark.parametrize("part", range(PARTS))
def test_installations_work_and_stay_true(part: int) -> None:
    """With ``--certwright-seeds`` as many storms as are asked for."""
    seeds = Replay.seeds(range(part, SEEDS, PARTS))
    wrong = [line for seed in seeds for line in storm(seed)]
    assert not wrong, "\n".join(wrong[:20])
