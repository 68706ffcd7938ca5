"""The containers of one pod as processes: started, probed, stopped, their ends reported.

Facts go to `PodFacts`, and *wake* is called, whenever something happened that calls for a new plan.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final
from uuid import uuid4

from certwright.kube import JsonObject
from certwright.testkit.node.events import PodEvent
from certwright.testkit.node.mounts import PodMounts
from certwright.testkit.node.pod.environment import (
    ContainerConfigError,
    PodAddress,
    Translation,
    command_line,
    environment,
    expand,
    referenced_by_variables,
)
from certwright.testkit.node.pod.facts import PodFacts, Waiting, init_containers
from certwright.testkit.node.pod.plan import LEAST_GRACE_SECONDS, StopContainer
from certwright.testkit.node.ports import PodPorts
from certwright.testkit.node.process.images import Program, find_program, pull_error
from certwright.testkit.node.process.probes import ProbeProgress, ProbeTimes, ask
from certwright.testkit.node.process.processes import Launch, LocalProcess, StartFailed
from certwright.testkit.node.services import NodeServices

_HOOK_SECONDS: Final = 60.0
_PROBES: Final = {
    "startupProbe": "Startup",
    "livenessProbe": "Liveness",
    "readinessProbe": "Readiness",
}
_MESSAGE_BYTES: Final = 4096
_LOG_BYTES: Final = 2048
_START_ERROR: Final = 128
_PATH: Final = os.environ.get("PATH", os.defpath)


class PodContainers:
    """Runs the containers of one pod."""

    def __init__(
        self,
        services: NodeServices,
        group: asyncio.TaskGroup,
        folder: Path,
        facts: PodFacts,
        mounts: PodMounts,
        wake: Callable[[], None],
    ) -> None:
        self._services = services
        self._group = group
        self._folder = folder
        self._facts = facts
        self._mounts = mounts
        self._wake = wake
        self._processes: dict[str, LocalProcess] = {}
        self._launches: dict[str, Launch] = {}
        self.ports = PodPorts("")

    # Start

    async def start(self, pod: JsonObject, name: str) -> None:
        """Pull the image of a container and start its process; what hinders that is a fact."""
        container = container_of(pod, name)
        program = self._pull(pod, container)
        if program is None:
            return
        facts, now = self._facts.containers[name], self._services.clock.now
        try:
            launch = await self._launch(pod, container, program)
        except ContainerConfigError as error:
            retry = now() + timedelta(seconds=self._services.settings.retry_seconds)
            facts.fail_to_start(Waiting("CreateContainerConfigError", str(error)), now(), retry)
            self._tell(pod, name, "Warning", "Failed", f"Error: {error}")
            return
        self._tell(pod, name, "Normal", "Created", "Container created")
        try:
            process = await self._services.processes.start(launch)
        except StartFailed as error:
            shown = launch.command[0] if launch.command else ""
            why = f'exec: "{shown}": {error}'
            facts.start(_new_id(), now())
            facts.end(_START_ERROR, now(), reason="StartError", message=why)
            self._tell(pod, name, "Warning", "Failed", f"Error: {why}")
            return
        facts.start(_new_id(), now())
        hook = (container.get("lifecycle") or {}).get("postStart")
        facts.started = not hook and not container.get("startupProbe")
        facts.ready = facts.started and not container.get("readinessProbe")
        self._processes[name], self._launches[name] = process, launch
        self._tell(pod, name, "Normal", "Started", "Container started")
        self._group.create_task(self._attend(pod, container, process))

    def _pull(self, pod: JsonObject, container: JsonObject) -> Program | None:
        """Return the program for a container's image; if there is none, that is a fact."""
        image, name = container["image"], container["name"]
        program = find_program(self._services.images, image)
        facts, now = self._facts.containers[name], self._services.clock.now()
        policy = container.get("imagePullPolicy") or "IfNotPresent"
        if program is not None:
            present = "already present on machine and can be accessed by the pod"
            message = f'Container image "{image}" {present}'
            self._tell(pod, name, "Normal", "Pulled", message)
            return program
        if policy == "Never":
            message = f'Container image "{image}" is not present with pull policy of Never'
            retry = now + timedelta(seconds=self._services.settings.retry_seconds)
            facts.fail_to_start(Waiting("ErrImageNeverPull", message), now, retry)
            self._tell(pod, name, "Warning", "ErrImageNeverPull", message)
            self._tell(pod, name, "Warning", "Failed", "Error: ErrImageNeverPull")
            return None
        error = pull_error(image)
        facts.pull = facts.pull.after_try(facts.failed or now, now)
        facts.fail_to_start(Waiting("ErrImagePull", error), now, facts.pull.retry_at(now))
        self._tell(pod, name, "Normal", "Pulling", f'Pulling image "{image}"')
        self._tell(pod, name, "Warning", "Failed", f'Failed to pull image "{image}": {error}')
        self._tell(pod, name, "Warning", "Failed", "Error: ErrImagePull")
        return None

    async def _launch(self, pod: JsonObject, container: JsonObject, program: Program) -> Launch:
        """Return what to run: the container's command, in words and paths of this machine."""
        services, name = self._services, container["name"]
        objects = await services.read(
            pod["metadata"]["namespace"], referenced_by_variables(container)
        )
        address = PodAddress(services.name, services.host_ip, self._facts.ip)
        links = await services.links(pod)
        variables = environment(pod, container, objects, address, links)
        own = self._folder / "containers" / name
        work = own / "work"
        work.mkdir(parents=True, exist_ok=True)
        message = own / "message"
        message.unlink(missing_ok=True)
        paths = self._mounts.paths(pod, container)
        inside = container.get("terminationMessagePath") or "/dev/termination-log"
        paths[inside] = str(message)
        translation = Translation(paths, self.ports.ports)
        given = {key: translation.translate(value) for key, value in variables.items()}
        every = {**self._base_variables(pod, container, paths), **program.environment, **given}
        entrypoint = [expand(word, every) for word in program.entrypoint]
        words = command_line(container, entrypoint, variables, fixed=program.fixed)
        own_words = len(entrypoint) if program.fixed or not container.get("command") else 0
        command = [*words[:own_words], *map(translation.translate, words[own_words:])]
        if not command:
            raise ContainerConfigError("no command specified")
        folder = translation.translate(container.get("workingDir") or "")
        return Launch(
            command,
            every,
            Path(folder) if folder.startswith(str(self._folder)) else work,
            self.log(name, self._facts.containers[name].starts),
        )

    def _base_variables(
        self, pod: JsonObject, container: JsonObject, paths: dict[str, str]
    ) -> dict[str, str]:
        """Return what a program gets beside the variables of its container."""
        variables = {
            "PATH": _PATH,
            "HOME": str(self._folder),
            "HOSTNAME": pod["spec"].get("hostname") or pod["metadata"]["name"],
            "CERTWRIGHT_PORTS": ",".join(f"{a}={b}" for a, b in self.ports.ports.items()),
            "CERTWRIGHT_MOUNTS": ":".join(f"{a}={b}" for a, b in paths.items()),
        }
        token = self._mounts.token_file(pod, container)
        if token is not None and self._services.api is not None:
            config = self._folder / "kubeconfig"
            config.touch(mode=0o600)
            config.write_bytes(self._services.kubeconfig(token))
            variables["KUBECONFIG"] = str(config)
        return variables

    def log(self, name: str, number: int) -> Path:
        """Return the log file of a run of a container, counted from 0."""
        return self._folder / "containers" / name / f"{number}.log"

    # Life

    async def _attend(self, pod: JsonObject, container: JsonObject, process: LocalProcess) -> None:
        """Run the hook and the probes of a container until its process ends; note how it did."""
        name = container["name"]
        async with asyncio.TaskGroup() as group:
            minding = group.create_task(self._mind(pod, container))
            code = await asyncio.shield(process.exited)
            minding.cancel()
        facts = self._facts.containers[name]
        message = self._last_words(container, code)
        facts.end(code, self._services.clock.now(), message=message)
        self._processes.pop(name, None)
        self._wake()

    async def _mind(self, pod: JsonObject, container: JsonObject) -> None:
        name = container["name"]
        facts = self._facts.containers[name]
        hook = (container.get("lifecycle") or {}).get("postStart")
        if hook and not await self._run_hook(pod, container, hook, _HOOK_SECONDS):
            self._tell(pod, name, "Warning", "FailedPostStartHook", "PostStartHook failed")
            facts.unhealthy = "FailedPostStartHook"
            self._wake()
            return
        if container.get("startupProbe") and not await self._probe(pod, container, "startupProbe"):
            return
        if not facts.started:
            facts.started = True
            facts.ready = not container.get("readinessProbe")
            self._wake()
        async with asyncio.TaskGroup() as group:
            for kind in ("livenessProbe", "readinessProbe"):
                if container.get(kind):
                    group.create_task(self._probe(pod, container, kind))

    async def _probe(self, pod: JsonObject, container: JsonObject, kind: str) -> bool:
        """Ask again and again; return when a startup probe succeeds or a restart is due."""
        name, probe = container["name"], container[kind]
        times = ProbeTimes.of(probe, self._services.settings.probe_scale)
        progress = ProbeProgress.of(probe)
        facts = self._facts.containers[name]
        started = facts.running or self._services.clock.now()
        passed = (self._services.clock.now() - started).total_seconds()
        await asyncio.sleep(max(times.delay - passed, 0))
        while True:
            answer = await ask(
                probe,
                lambda port: self.ports.resolve(pod, port),
                lambda command, seconds: self._exec(name, command, seconds),
                times.timeout,
                self._facts.ip,
            )
            if not answer.healthy and not facts.stopping:
                message = f"{_PROBES[kind]} probe failed: {answer.output}"
                self._tell(pod, name, "Warning", "Unhealthy", message)
            progress = progress.after(answer.healthy)
            if kind == "readinessProbe":
                if progress.verdict is not None and facts.ready != progress.verdict:
                    facts.ready = progress.verdict
                    self._wake()
            elif progress.verdict is False:
                if not facts.stopping:
                    lower = _PROBES[kind].lower()
                    facts.unhealthy = f"Container {name} failed {lower} probe, will be restarted"
                    self._wake()
                return False
            elif kind == "startupProbe" and progress.verdict:
                return True
            await asyncio.sleep(times.period)

    async def _run_hook(
        self, pod: JsonObject, container: JsonObject, hook: JsonObject, seconds: float
    ) -> bool:
        """Run a lifecycle hook to its end; return whether it succeeded."""
        if sleep := hook.get("sleep"):
            await asyncio.sleep(min(sleep["seconds"], seconds))
            return True
        answer = await ask(
            hook,
            lambda port: self.ports.resolve(pod, port),
            lambda command, limit: self._exec(container["name"], command, limit),
            seconds,
            self._facts.ip,
        )
        return answer.healthy

    async def _exec(self, name: str, command: list[str], seconds: float) -> tuple[int, str]:
        """Run a command beside a container, with its variables and paths."""
        launch = self._launches[name]
        output = self._folder / "containers" / name / f"exec-{_new_id()[:12]}"
        mounts = dict(
            pair.split("=", 1)
            for pair in launch.environment["CERTWRIGHT_MOUNTS"].split(":")
            if pair
        )
        translated = map(Translation(mounts, self.ports.ports).translate, command)
        beside = Launch(list(translated), launch.environment, launch.folder, output)
        try:
            code = await self._services.processes.run(beside, seconds)
            return code, output.read_text("utf-8", "replace")[:_MESSAGE_BYTES].strip()
        except StartFailed as error:
            return 126, f'exec: "{command[0]}": {error}'
        finally:
            output.unlink(missing_ok=True)

    def _last_words(self, container: JsonObject, code: int) -> str:
        """Return what a container said of its end: in its file, or in its log if it failed."""
        name: str = container["name"]
        message = self._folder / "containers" / name / "message"
        if message.is_file() and (text := message.read_bytes()[:_MESSAGE_BYTES]):
            return text.decode("utf-8", "replace")
        if container.get("terminationMessagePolicy") == "FallbackToLogsOnError" and code:
            log = self.log(name, max(self._facts.containers[name].starts - 1, 0))
            return log.read_bytes()[-_LOG_BYTES:].decode("utf-8", "replace")
        return ""

    # Stop

    def stop(self, pod: JsonObject, order: StopContainer) -> None:
        """Begin to stop a container; its end is a fact when it comes."""
        self._facts.containers[order.name].stopping = True
        process = self._processes.get(order.name)
        if process is not None:
            self._group.create_task(self._stop(pod, order, process))

    async def _stop(self, pod: JsonObject, order: StopContainer, process: LocalProcess) -> None:
        container = container_of(pod, order.name)
        message = order.message or f"Stopping container {order.name}"
        self._tell(pod, order.name, "Normal", "Killing", message)
        grace, started = order.grace_seconds, self._services.clock.monotonic()
        hook = (container.get("lifecycle") or {}).get("preStop")
        if hook and not await self._run_hook(pod, container, hook, grace):
            self._tell(pod, order.name, "Warning", "FailedPreStopHook", "PreStopHook failed")
        spent = self._services.clock.monotonic() - started if hook else 0.0
        process.send(signal.SIGTERM)
        try:
            async with asyncio.timeout(max(grace - spent, LEAST_GRACE_SECONDS)):
                await asyncio.shield(process.exited)
        except TimeoutError:
            process.send(signal.SIGKILL)

    def kill(self) -> None:
        """End every process at once."""
        for process in self._processes.values():
            process.send(signal.SIGKILL)

    def _tell(self, pod: JsonObject, name: str, type_: str, reason: str, message: str) -> None:
        event = PodEvent(type_, reason, message, field_path(pod, name))
        self._services.events.record(pod, event)


def container_of(pod: JsonObject, name: str) -> JsonObject:
    """Return a container of a pod by its name."""
    spec = pod["spec"]
    containers = [*(spec.get("initContainers") or ()), *spec["containers"]]
    return next(one for one in containers if one["name"] == name)


def field_path(pod: JsonObject, name: str) -> str:
    """Return where a container stands in its pod, as events name it."""
    init = any(one["name"] == name for one in init_containers(pod))
    return f"spec.{'initContainers' if init else 'containers'}{{{name}}}"


def _new_id() -> str:
    return uuid4().hex + uuid4().hex
