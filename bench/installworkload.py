"""cert-manager on a real control plane whose node runs its releases, installed by Helm or by us."""

import asyncio
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from bench.auditlog import AuditedCalls, AuditLog
from bench.meter import Task
from bench.processes import Program
from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.apply import ObjectRef
from certwright.bundles.build import chart_of
from certwright.bundles.catalogue import Catalogue, load
from certwright.bundles.chart import NAME
from certwright.bundles.module import fetch
from certwright.bundles.tools import HELM
from certwright.client import Client, until_served
from certwright.kube import JsonObject, Key, crd_manifest
from certwright.kube.kinds import Deployment
from certwright.operators.certmanager.render import render
from certwright.operators.certmanager.request import InstallRequest
from certwright.testkit.certmanager.images import cert_manager_images
from certwright.testkit.certmanager.released import released_bundle
from certwright.testkit.controlplane.gobuild import cache_root
from certwright.testkit.node import NodeSettings
from certwright.testkit.node.plane import PlaneWithNode, control_plane_with_node

FIRST, NEXT = "v1.20.3", "v1.21.2"
CMD = CertManagerDeployment.resource
USER = "bench-subject"
LEASE = "bench"
WRITTEN_SECONDS = 0.5
"""After an answer, until the audit log has it."""
PATIENCE_SECONDS = 300
_COMPONENTS = (NAME, f"{NAME}-cainjector", f"{NAME}-webhook")


@dataclass(frozen=True)
class InstallPhase:
    """What one step cost the one that took it."""

    cpu: float
    calls: AuditedCalls
    seconds: float = 0.0


@dataclass(frozen=True)
class InstallWorld:
    """A control plane with a node, its audit log, and the kubeconfig of the measured user."""

    running: PlaneWithNode
    audit: AuditLog
    kubeconfig: Path

    @property
    def client(self) -> Client:
        """Of an administrator who is not measured."""
        return self.running.client

    async def calls(self) -> AuditedCalls:
        """Return what the subject asked for since the log was skipped last."""
        await asyncio.sleep(WRITTEN_SECONDS)
        return self.audit.calls(USER, lease=LEASE)


@asynccontextmanager
async def install_world() -> AsyncIterator[InstallWorld]:
    """Run a control plane without history whose node has the images of both versions."""
    images = await asyncio.to_thread(cert_manager_images, [FIRST[1:], NEXT[1:]])
    with tempfile.TemporaryDirectory(prefix="certwright-") as folder:
        audit = AuditLog(Path(folder), [USER])
        async with control_plane_with_node(
            images=images,
            settings=NodeSettings(probe_scale=0.05),
            apiserver_flags=audit.flags,
        ) as running:
            kubeconfig = running.plane.kubeconfig_for(USER, ["system:masters"])
            yield InstallWorld(running, audit, kubeconfig)


# Helm


@asynccontextmanager
async def charts() -> AsyncIterator[Mapping[str, Path]]:
    """Unpack the charts of both versions as they are packaged for a release."""
    with tempfile.TemporaryDirectory(prefix="certwright-") as folder:
        catalogue, found = load(), {}
        for version in (FIRST, NEXT):
            archive = await asyncio.to_thread(fetch, catalogue.version(version))
            found[version] = Path(folder) / version / NAME
            for path, content in chart_of(archive, version).items():
                target = found[version] / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
        yield found


async def helm(world: InstallWorld, chart: Path) -> InstallPhase:
    """Run ``helm upgrade --install`` with what a release is rendered with."""
    arguments = ["upgrade", "--install", NAME, str(chart), "--namespace", NAME]
    arguments += ["--create-namespace", "--kubeconfig", str(world.kubeconfig)]
    arguments += ["--set", "crds.enabled=true", "--set", "startupapicheck.enabled=false"]
    world.audit.skip()
    began = asyncio.get_running_loop().time()
    with tempfile.TemporaryDirectory(prefix="certwright-") as home:
        homes = {f"HELM_{what}_HOME": home for what in ("CACHE", "CONFIG", "DATA")}
        cpu = await asyncio.to_thread(_cpu_of, [HELM.find(), *arguments], {**os.environ, **homes})
    seconds = asyncio.get_running_loop().time() - began
    return InstallPhase(cpu, await world.calls(), seconds)


def _cpu_of(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """Run a command to its end; return the processor time of it and its children."""
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command[0]} ended with status {process.returncode}")
    return used.ru_utime + used.ru_stime


async def runs(world: InstallWorld, version: str) -> None:
    """Return when the Deployments of a version have all their pods."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        for name in _COMPONENTS:
            while not _rolled_out(await world.client.get(Deployment, Key(NAME, name)), version):
                await asyncio.sleep(0.2)


def _rolled_out(deployment: JsonObject, version: str) -> bool:
    status = deployment.get("status") or {}
    image = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    counts = [status.get(name) for name in ("updatedReplicas", "availableReplicas", "replicas")]
    current = status.get("observedGeneration") == deployment["metadata"]["generation"]
    return bool(image.endswith(version) and current and counts == [1, 1, 1])


# Ours


def operator_task(world: InstallWorld) -> str:
    """Return what our subject is asked to do."""
    task = Task(kubeconfig=str(world.kubeconfig), folder=str(cache_root() / "bundles"))
    return msgspec.json.encode(task).decode()


async def declared(world: InstallWorld) -> None:
    """Install the definition of our custom resource."""
    await until_served(world.client, await world.client.create(crd_manifest(CertManagerDeployment)))


async def request(world: InstallWorld, version: str) -> None:
    """Create the custom resource, or ask for another version."""
    wanted = {"apiVersion": CMD.api_version, "kind": CMD.kind, "metadata": {"name": "cluster"}}
    await world.client.apply({**wanted, "spec": {"version": version}}, field_manager="bench")


async def touch(world: InstallWorld) -> None:
    """Let the operator look at its custom resource again."""
    change = {"metadata": {"annotations": {"bench.certwright.dev/touched": "now"}}}
    await world.client.patch(CMD, Key("", "cluster"), change)


async def available(world: InstallWorld, version: str) -> None:
    """Return when the status says that a version works."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not _works(await world.client.get(CMD, Key("", "cluster")), version):
            await asyncio.sleep(0.1)


async def recovered(world: InstallWorld, version: str) -> None:
    """Return when the pods of a version run, and the status says that it works."""
    await runs(world, version)
    await available(world, version)


def _works(obj: JsonObject, version: str) -> bool:
    status = obj.get("status") or {}
    conditions = {one["type"]: one["status"] for one in status.get("conditions") or ()}
    return bool(
        status.get("installedVersion") == version
        and status.get("observedGeneration") == obj["metadata"]["generation"]
        and conditions.get("Available") == "True"
    )


async def probed(world: InstallWorld) -> None:
    """Return when the operator has tried whether certificates can be issued."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await world.calls()).dry_runs < 2:
            pass  # asking for the calls waits


@asynccontextmanager
async def phase(world: InstallWorld, program: Program) -> AsyncIterator[list[InstallPhase]]:
    """Measure what happens in the context."""
    found: list[InstallPhase] = []
    world.audit.skip()
    cpu, began = program.cpu(), asyncio.get_running_loop().time()
    yield found
    seconds = asyncio.get_running_loop().time() - began
    found.append(InstallPhase(program.cpu() - cpu, await world.calls(), seconds))


# What there is to do


@dataclass(frozen=True)
class Difference:
    """What lies between both versions."""

    objects: int
    """Of the first."""
    changed: int
    """In the second other than in the first, or new."""
    pruned: int


def difference() -> Difference:
    """Compare what both versions want."""
    catalogue = load()
    first, second = (_wanted(version, catalogue) for version in (FIRST, NEXT))
    changed = sum(first.get(ref) != obj for ref, obj in second.items())
    return Difference(len(first), changed, len(set(first) - set(second)))


def _wanted(version: str, catalogue: Catalogue) -> dict[ObjectRef, JsonObject]:
    request_ = InstallRequest(version=version)
    rendered = render(request_, released_bundle(version), catalogue)
    return {one.ref: one.obj for one in rendered.objects()}
