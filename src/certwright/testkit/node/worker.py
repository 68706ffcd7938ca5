"""One pod on the node: gather facts, let `plan` decide, carry it out, report the status."""

import asyncio
import shutil
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from certwright.client import TransportError
from certwright.kube import ApiError, Conflict, JsonObject, Key, NotFound
from certwright.kube.kinds import Pod
from certwright.testkit.node.containers import PodContainers, field_path
from certwright.testkit.node.events import PodEvent
from certwright.testkit.node.mounts import PodMounts
from certwright.testkit.node.pod.environment import PodAddress
from certwright.testkit.node.pod.facts import PodFacts, Waiting, is_deleted
from certwright.testkit.node.pod.plan import (
    FailPod,
    MountVolumes,
    PodPlan,
    StartContainer,
    StopContainer,
    plan,
)
from certwright.testkit.node.pod.status import pod_status, pod_title
from certwright.testkit.node.pod.volumes import VolumeError
from certwright.testkit.node.ports import HostPortTaken
from certwright.testkit.node.services import NodeServices

_API_RETRY_SECONDS: Final = 1.0
_LONGEST_MOUNT_RETRY_SECONDS: Final = 122.0
_NO_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"


class PodWorker:
    """Runs one pod from the moment it is bound until its object is gone."""

    def __init__(self, services: NodeServices, pod: JsonObject) -> None:
        now = services.clock.now()
        self.pod = pod
        self.uid: str = pod["metadata"]["uid"]
        self.key = Key(pod["metadata"]["namespace"], pod["metadata"]["name"])
        self.facts = PodFacts.of(pod, now, services.settings.backoff)
        self.folder: Path = services.folder / self.uid
        self._services = services
        self._mounts = PodMounts(services, self.folder)
        self._containers: PodContainers | None = None
        self._changed = asyncio.Event()
        self._mount_seconds = services.settings.mount_retry_seconds
        self._announced: set[tuple[str, int, datetime | None]] = set()
        self._reported: JsonObject | None = None

    def update(self, pod: JsonObject) -> None:
        """Take a newer state of the pod's object."""
        self.pod = pod
        self._changed.set()

    def remove(self) -> None:
        """Take note that the pod's object is gone: end what runs."""
        self.facts.gone = True
        if self._containers is not None:
            self._containers.kill()
        self._changed.set()

    def log(self, container: str, *, previous: bool) -> Path | None:
        """Return the log file of the current or previous run of a container; None without one."""
        facts = self.facts.containers.get(container)
        if facts is None or self._containers is None:
            return None
        number = facts.starts - (2 if previous else 1)
        return self._containers.log(container, number) if number >= 0 else None

    async def run(self) -> None:
        """Run the pod; return when nothing of it is left on the node."""
        self.folder.mkdir(mode=0o700)
        try:
            async with asyncio.TaskGroup() as group:
                self._containers = PodContainers(
                    self._services, group, self.folder, self.facts, self._mounts, self._changed.set
                )
                refresh = group.create_task(self._refresh_volumes())
                await self._work(self._containers)
                refresh.cancel()
        finally:
            if self._containers is not None:
                self._containers.kill()
            self._clean_up()

    def _clean_up(self) -> None:
        self._services.ports.release(self.uid)
        shutil.rmtree(self.folder, ignore_errors=True)

    async def _work(self, containers: PodContainers) -> None:
        while True:
            self._changed.clear()
            decided = plan(self.pod, self.facts, self._services.clock.now())
            self._announce_backoff(decided)
            ended = decided.over and (is_deleted(self.pod) or self.facts.gone)
            try:
                await self._report()
                if ended and await self._finish():
                    return
                for action in decided.actions:
                    await self._carry_out(action, containers)
            except (ApiError, TransportError):
                await asyncio.sleep(_API_RETRY_SECONDS)
                continue
            if not decided.actions and not ended:
                await self._wait(decided.wake)

    async def _wait(self, until: datetime | None) -> None:
        seconds = None
        if until is not None:
            seconds = max((until - self._services.clock.now()).total_seconds(), 0.0)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    async def _carry_out(self, action: object, containers: PodContainers) -> None:
        match action:
            case MountVolumes():
                await self._mount(containers)
            case StartContainer(name):
                await containers.start(self.pod, name)
            case StopContainer():
                if self.facts.killed is None:
                    self.facts.killed = self._services.clock.now()
                containers.stop(self.pod, action)
            case FailPod(reason, message):
                self.facts.failed = Waiting(reason, message)
                self._tell(PodEvent("Normal", reason, message))

    # Volumes

    async def _mount(self, containers: PodContainers) -> None:
        """Give the pod its address and volumes; if that fails, it is tried again later."""
        if not self.facts.ip:
            try:
                containers.ports = self._services.ports.assign(self.pod)
            except HostPortTaken:
                message = f"Predicate NodePorts failed: {_NO_PORTS}"
                self.facts.failed, self.facts.rejected = Waiting("NodePorts", message), True
                self._tell(PodEvent("Warning", "NodePorts", message))
                return
            self.facts.ip = containers.ports.ip
        try:
            await self._mounts.mount(self.pod, self._address())
        except VolumeError as error:
            self._tell(PodEvent("Warning", "FailedMount", str(error)))
            retry = timedelta(seconds=self._mount_seconds)
            self.facts.mount_retry = self._services.clock.now() + retry
            self._mount_seconds = min(2 * self._mount_seconds, _LONGEST_MOUNT_RETRY_SECONDS)
        else:
            self.facts.mounted = True

    async def _refresh_volumes(self) -> None:
        """Bring volumes up to date from time to time; what is missing now stays as it was."""
        while True:
            await asyncio.sleep(self._services.settings.volume_lag_seconds)
            if not self.facts.mounted or is_deleted(self.pod):
                continue
            try:
                await self._mounts.mount(self.pod, self._address())
            except VolumeError as error:
                self._tell(PodEvent("Warning", "FailedMount", str(error)))
            except (ApiError, TransportError):
                continue

    def _address(self) -> PodAddress:
        return PodAddress(self._services.name, self._services.host_ip, self.facts.ip)

    # Reports

    async def _report(self) -> None:
        """Write the status if it differs from what the API shows."""
        if self.facts.gone:
            return
        now = self._services.clock.now()
        status = pod_status(self.pod, self.facts, self._services.host_ip, now)
        if status == self._reported:
            return
        identity = {
            "uid": self.uid,
            "resourceVersion": self.pod["metadata"]["resourceVersion"],
        }
        patch: JsonObject = {"metadata": identity, "status": status}
        try:
            written = await self._services.client.patch(Pod, self.key, patch, subresource="status")
        except NotFound:
            return  # the watch will tell
        except Conflict:
            await self._read_again()
            return
        self.pod = _newer(self.pod, written)
        self._reported = status

    async def _read_again(self) -> None:
        """Read the object after another client changed it; the next pass uses that."""
        with suppress(NotFound):
            found = await self._services.client.get(Pod, self.key)
            if found["metadata"]["uid"] == self.uid:
                self.pod = _newer(self.pod, found)
                self._changed.set()

    async def _finish(self) -> bool:
        """Remove the object of a pod of which nothing runs any more; return whether it is gone."""
        if self.facts.gone:
            return True
        if not self.pod["metadata"].get("finalizers"):
            self._clean_up()  # nothing is left on the node when the object goes
        try:
            await self._services.client.delete(Pod, self.key, uid=self.uid, grace_seconds=0)
        except (NotFound, Conflict):
            return True
        if self.pod["metadata"].get("finalizers"):
            await self._wait(None)
            return self.facts.gone
        return True

    def _announce_backoff(self, decided: PodPlan) -> None:
        """Tell once of each wait for a start or a pull."""
        for name in decided.backing_off:
            facts = self.facts.containers[name]
            if (topic := (name, facts.starts, facts.failed)) in self._announced:
                continue
            self._announced.add(topic)
            path = field_path(self.pod, name)
            if facts.waiting is None:
                message = (
                    f"Back-off restarting failed container {name} in pod {pod_title(self.pod)}"
                )
                self._tell(PodEvent("Warning", "BackOff", message, path))
            else:
                image = next(
                    one["image"]
                    for part in ("initContainers", "containers")
                    for one in self.pod["spec"].get(part) or ()
                    if one["name"] == name
                )
                self._tell(PodEvent("Normal", "BackOff", f'Back-off pulling image "{image}"', path))
                self._tell(PodEvent("Warning", "Failed", "Error: ImagePullBackOff", path))

    def _tell(self, event: PodEvent) -> None:
        self._services.events.record(self.pod, event)


def _newer(held: JsonObject, written: JsonObject) -> JsonObject:
    """Return what was written, unless the watch has brought something newer."""
    older = int(written["metadata"]["resourceVersion"]) < int(held["metadata"]["resourceVersion"])
    return held if older else written
