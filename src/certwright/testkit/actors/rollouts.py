"""Deployments, their ReplicaSets and pods, played with few writes: for simulations by the thousand.

The decisions are those of the controllers of workloads (`certwright.testkit.workloads`). Left out
is what passes within an instant: statuses are written when nothing else is left to do.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from certwright.apiserver.server import ApiServer
from certwright.client import Client, Selection
from certwright.clock import Clock
from certwright.kube import AlreadyExists, Conflict, JsonObject, NotFound, Resource, key_of
from certwright.kube.kinds import Deployment, Pod, ReplicaSet, ServiceAccount
from certwright.runtime.writes.patches import status_patch
from certwright.runtime.writes.writer import controller_reference
from certwright.testkit.actors.podplay import NEVER, PodPlay, played_status, until_stopped
from certwright.testkit.workloads.deployment import rollout
from certwright.testkit.workloads.deployment import status as states
from certwright.testkit.workloads.deployment.controller import decide_deployment
from certwright.testkit.workloads.podstate import has_ended, is_active, is_deleting, is_terminating
from certwright.testkit.workloads.replicasets import pods_to_delete, replica_set_status
from certwright.testkit.workloads.templates import pod_from

NODE: Final = "played"
"""The node that pods are bound to; there is no such object."""

Owned = Mapping[str, Sequence[JsonObject]]
"""Objects by the uid of their controller."""


class PlayedDeployments:
    """Plays all Deployments of an embedded server; *play* says how a pod lives."""

    KINDS: Final = (Deployment, ReplicaSet, Pod, ServiceAccount)

    def __init__(
        self, server: ApiServer, client: Client, clock: Clock, play: Callable[[JsonObject], PodPlay]
    ) -> None:
        self._server = server
        self._client = client
        self._clock = clock
        self._play = play
        self._due = NEVER

    async def step(self) -> float | None:
        """Do everything that is due; return the seconds until there is more."""
        self._due = NEVER
        while await self._advance():
            self._due = NEVER
        return self._due

    async def _advance(self) -> bool:
        """Do what is due of pods, else of ReplicaSets, else of Deployments."""
        pods = self._held(Pod)
        changed = [await self._live(pod) for pod in pods if _is_ours(pod)]
        if any(changed):
            return True
        owned = _by_controller(pods)
        sets = self._held(ReplicaSet)
        changed = [await self._fill(each, owned) for each in sets if not is_deleting(each)]
        if any(changed):
            return True
        owned = _by_controller([*sets, *pods])
        return any([await self._roll(each, owned) for each in self._held(Deployment)])

    async def _live(self, pod: JsonObject) -> bool:
        play, now = self._play(pod), self._clock.now()
        if is_deleting(pod):
            return await self._stop(pod, play)
        if has_ended(pod):
            return False
        played = played_status(pod, play, now)
        self._due = min(self._due, played.after if played.after is not None else NEVER)
        return await self._write_status(Pod, pod, played.status)

    async def _stop(self, pod: JsonObject, play: PodPlay) -> bool:
        metadata = pod["metadata"]
        if not metadata.get("deletionGracePeriodSeconds"):
            return False  # only finalizers hold it
        left = until_stopped(pod, play, self._clock.now())
        if left > 0:
            self._due = min(self._due, left)
            return False
        with suppress(NotFound, Conflict):
            await self._client.delete(Pod, key_of(pod), uid=metadata["uid"], grace_seconds=0)
        return True

    async def _fill(self, replica_set: JsonObject, owned: Owned) -> bool:
        """Make or delete pods of a ReplicaSet, or else write its status."""
        pods = owned.get(replica_set["metadata"]["uid"], ())
        active = [pod for pod in pods if is_active(pod)]
        missing = replica_set["spec"].get("replicas", 1) - len(active)
        refusal = self._refusal(replica_set) if missing > 0 else ""
        if missing > 0 and not refusal:
            for _ in range(missing):
                await self._client.create(_bound_pod(replica_set))
            return True
        if missing < 0:
            for pod in pods_to_delete(active, pods, -missing):
                await self._client.delete(Pod, key_of(pod), uid=pod["metadata"]["uid"])
            return True
        terminating = sum(map(is_terminating, pods))
        now = self._clock.now()
        status = replica_set_status(replica_set, active, terminating, refusal, now)
        return await self._write_status(ReplicaSet, replica_set, status)

    def _refusal(self, replica_set: JsonObject) -> str:
        """Return why pods cannot be created; empty if they can."""
        name = replica_set["spec"]["template"]["spec"].get("serviceAccountName") or "default"
        namespace = replica_set["metadata"]["namespace"]
        chosen = Selection(namespace, fields=f"metadata.name={name}")
        if name == "default" or self._server.held(ServiceAccount, chosen):
            return ""
        return (
            f'pods "{replica_set["metadata"]["name"]}-" is forbidden: error looking up service '
            f'account {namespace}/{name}: serviceaccount "{name}" not found'
        )

    async def _roll(self, deployment: JsonObject, owned: Owned) -> bool:
        """Change the ReplicaSets of a Deployment, or else write its status."""
        sets = owned.get(deployment["metadata"]["uid"], ())
        now = self._clock.now()
        pods = [pod for each in sets for pod in owned.get(each["metadata"]["uid"], ())]
        plan = decide_deployment(deployment, sets, lambda: pods, now)
        wrote = False
        for revision in plan.change:
            if (patch := revision.patch()) is not None:
                await self._client.patch(ReplicaSet, key_of(revision.obj), patch)
                wrote = True
        for each in plan.delete:
            await self._client.delete(ReplicaSet, key_of(each), uid=each["metadata"]["uid"])
            wrote = True
        if plan.create is not None:
            await self._create(deployment, plan.create)  # and say so, since progress counts anew
        elif wrote:
            return True
        after = states.next_check(deployment, plan.status, now)
        self._due = min(self._due, after or NEVER)
        annotations = deployment["metadata"].get("annotations") or {}
        numbered = plan.revision and annotations.get(rollout.REVISION) != plan.revision
        revised = {rollout.REVISION: plan.revision} if numbered else {}
        return await self._write_status(Deployment, deployment, plan.status, revised)

    async def _create(self, deployment: JsonObject, new: rollout.Revision) -> None:
        owners = [controller_reference(deployment)]
        metadata = {
            **new.obj["metadata"], "annotations": new.annotations, "ownerReferences": owners
        }  # fmt: skip
        spec = {**new.obj["spec"], "replicas": new.replicas}
        with suppress(AlreadyExists):
            await self._client.create({**new.obj, "metadata": metadata, "spec": spec})

    async def _write_status(
        self,
        kind: Resource,
        obj: JsonObject,
        status: JsonObject,
        annotations: Mapping[str, str] | None = None,
    ) -> bool:
        patch = status_patch(obj, status)
        change: JsonObject = {"status": patch["status"]} if patch else {}
        if annotations:
            change["metadata"] = {"annotations": annotations}
        if not change:
            return False
        with suppress(NotFound):
            await self._client.patch(kind, key_of(obj), change, subresource="status")
        return True

    def _held(self, kind: Resource) -> list[JsonObject]:
        return self._server.held(kind, Selection())


def _is_ours(pod: JsonObject) -> bool:
    return bool(pod["spec"].get("nodeName") == NODE)


def _bound_pod(replica_set: JsonObject) -> JsonObject:
    pod = pod_from(replica_set["spec"]["template"], replica_set)
    metadata = {**pod["metadata"], "ownerReferences": [controller_reference(replica_set)]}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "nodeName": NODE}}


def _by_controller(objects: Sequence[JsonObject]) -> Owned:
    found: dict[str, list[JsonObject]] = defaultdict(list)
    for obj in objects:
        for owner in obj["metadata"].get("ownerReferences") or ():
            if owner.get("controller"):
                found[owner["uid"]].append(obj)
    return found
