"""The operator that installs cert-manager on a real control plane, killed once in each step."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from certwright.bundles.bundle import Bundle, encode
from certwright.bundles.catalogue import load
from certwright.bundles.sources import BundleSet, PackedBundle
from certwright.cli.controllers import built_controllers
from certwright.client import (
    Client,
    Request,
    Response,
    Transport,
    TransportError,
    connect,
)
from certwright.clock import SYSTEM
from certwright.kube import JsonObject
from certwright.operators.certmanager.grants import operand_rules
from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator
from certwright.operators.certmanager.request import InstallRequest
from certwright.operators.certmanager.source import BundleSource
from certwright.runtime import policy_rules
from certwright.testkit.calls import is_write
from certwright.testkit.controlplane import ControlPlane
from certwright.testkit.faults.process import ControllerProcess

USER = "installer"
STATUS, PRUNE = "status", "prune"
"""Steps without objects of their own: the announcement of an upgrade, and its end."""


class OperatorKiller:
    """Lets a process die with the first write of each step; the server carries that write out.

    A step is named by *step_of*, empty for a write that belongs to none. Nothing dies unless
    `armed`.
    """

    def __init__(self, inner: Transport, step_of: Callable[[Request], str]) -> None:
        self._inner = inner
        self._step_of = step_of
        self.armed = False
        self.killed: list[str] = []
        """The steps in which it died, in this order."""
        self.refused: list[str] = []
        """What the operator was not allowed to do."""

    def connect(self) -> tuple[Transport, asyncio.Event]:
        """Return the transport of a new process, and the event of its death."""
        died = asyncio.Event()
        return _MortalTransport(self, self._inner, died), died

    def kills(self, request: Request) -> bool:
        """Return whether a write is the last one of its process, and note it."""
        step = self._step_of(request) if self.armed and is_write(request) else ""
        if not step or step in self.killed:
            return False
        self.killed.append(step)
        return True


class _MortalTransport:
    def __init__(self, killer: OperatorKiller, inner: Transport, died: asyncio.Event) -> None:
        self._killer = killer
        self._inner = inner
        self._died = died

    async def send(self, request: Request) -> Response:
        if self._died.is_set():
            raise TransportError("the process is dead")
        last = self._killer.kills(request)
        response = await self._inner.send(request)
        if last:
            self._died.set()
            await asyncio.Event().wait()  # the answer never arrives: the process is cancelled
        if response.status == 403 and ("dryRun", "All") not in request.query:
            self._killer.refused.append(f"{request.verb} {request.path}: {response.body!r}")
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Any]:
        return self._inner.stream(request)

    async def close(self) -> None:
        """Do nothing: connections outlive a process here."""


class StepMap:
    """Which write belongs to which step, by kind and name."""

    def __init__(self, source: BundleSource, versions: Sequence[str]) -> None:
        self._wanted = {one: source.wanted(InstallRequest(version=one)) for one in versions}
        self._steps = {
            (one.ref.kind, one.ref.name): str(step)
            for wanted in self._wanted.values()
            for step, objects in wanted.steps.items()
            for one in objects
        }

    def step_of(self, request: Request) -> str:
        """Return the step of a write."""
        kind = request.resource.kind if request.resource is not None else ""
        if kind == "CertManagerDeployment":
            return STATUS if request.subresource == "status" else ""
        step = self._steps.get((kind, _name(request)), "")
        return PRUNE if step and request.verb == "delete" else step

    def between(self, older: str, newer: str) -> set[str]:
        """Return the steps of an upgrade in which something is written."""
        before = {one.ref: one.obj for one in self._wanted[older].objects}
        after = {one.ref for one in self._wanted[newer].objects}
        changed = {
            str(step)
            for step, objects in self._wanted[newer].steps.items()
            if any(before.get(one.ref) != one.obj for one in objects)
        }
        return changed | {STATUS} | ({PRUNE} if set(before) - after else set())


def _name(request: Request) -> str:
    if request.method == "POST":
        return str(orjson.loads(request.body or b"{}").get("metadata", {}).get("name", ""))
    return request.path.rpartition("/")[2]


def source_of(bundles: Sequence[Bundle]) -> BundleSource:
    """Return where an operator gets the objects of some versions from."""
    packed = [PackedBundle.read(encode(one), one.version) for one in bundles]
    found = BundleSet({one.version: one for one in packed})
    return BundleSource(lambda: found, load())


@asynccontextmanager
async def killed_operator(
    plane: ControlPlane, admin: Client, bundles: Sequence[Bundle]
) -> AsyncIterator[tuple[OperatorKiller, StepMap]]:
    """Run the operator with the rights that ``certwright rbac`` prints for it, and no others."""
    source = source_of(bundles)
    operator = certmanager_operator(CertManagerSettings(source, {}, operand_rules(bundles)))
    for manifest in _grants(policy_rules(built_controllers([operator]))):
        await admin.apply(manifest)
    kubeconfig: Path = plane.kubeconfig_for(USER, ["system:authenticated"])
    steps = StepMap(source, [one.version for one in bundles])
    async with connect(kubeconfig=kubeconfig) as client, asyncio.TaskGroup() as group:
        killer = OperatorKiller(client.transport, steps.step_of)
        process = ControllerProcess([operator], killer.connect, SYSTEM)
        running = group.create_task(process.run())
        try:
            yield killer, steps
        finally:
            await process.stop()
            await running


def _grants(rules: Sequence[JsonObject]) -> list[JsonObject]:
    group = "rbac.authorization.k8s.io"
    head = {"apiVersion": f"{group}/v1", "metadata": {"name": USER}}
    reference = {"apiGroup": group, "kind": "ClusterRole", "name": USER}
    subject = {"apiGroup": group, "kind": "User", "name": USER}
    return [
        {**head, "kind": "ClusterRole", "rules": list(rules)},
        {**head, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [subject]},
    ]
