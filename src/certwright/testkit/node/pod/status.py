"""The status of a pod as kubelet writes it, from its object, the facts and the time.

What kubelet does not write (conditions of others) stays. Times of transitions stay as long as the
status of their condition does.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from certwright.kube import JsonObject, format_time
from certwright.testkit.node.pod.facts import (
    ContainerFacts,
    PodFacts,
    Termination,
    Waiting,
    init_containers,
    is_deleted,
    is_sidecar,
    main_containers,
    restarts_after,
)
from certwright.testkit.node.pod.plan import PULL_BACKOFF_SHOWN, has_initialized, start_time

_TERMINAL: Final = ("Succeeded", "Failed")
_OWN_CONDITIONS: Final = (
    "PodReadyToStartContainers",
    "Initialized",
    "Ready",
    "ContainersReady",
    "PodScheduled",
)


def pod_status(pod: JsonObject, facts: PodFacts, host_ip: str, now: datetime) -> JsonObject:
    """Return the status of a pod on this node."""
    before: JsonObject = pod.get("status") or {}
    if facts.rejected:
        return _rejected_status(before, facts)
    inits = [_container_status(pod, one, facts, now) for one in init_containers(pod)]
    mains = [_container_status(pod, one, facts, now) for one in main_containers(pod)]
    phase = _phase(pod, facts, inits, mains, before)
    status: JsonObject = {
        "phase": phase,
        "conditions": _conditions(pod, facts, phase, inits, mains, now),
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "startTime": format_time(facts.start_time),
        "qosClass": before.get("qosClass") or qos_class(pod),
        "containerStatuses": mains,
    }
    if generation := pod["metadata"].get("generation"):
        status["observedGeneration"] = generation
    if inits:
        status["initContainerStatuses"] = inits
    if facts.ip:
        status |= {"podIP": facts.ip, "podIPs": [{"ip": facts.ip}]}
    if facts.failed is not None:
        status |= {"reason": facts.failed.reason, "message": facts.failed.message}
    return status


def _rejected_status(before: JsonObject, facts: PodFacts) -> JsonObject:
    assert facts.failed is not None, "a rejected pod has a reason"
    return {
        **before,
        "phase": "Failed",
        "reason": facts.failed.reason,
        "message": f"Pod was rejected: {facts.failed.message}",
        "startTime": format_time(facts.start_time),
    }


# Containers


def _container_status(
    pod: JsonObject, container: JsonObject, facts: PodFacts, now: datetime
) -> JsonObject:
    one = facts.containers[container["name"]]
    state, last = _states(pod, container, facts, now)
    ready = one.ready and one.started and one.running is not None
    if any(each is container for each in init_containers(pod)) and not is_sidecar(container):
        ready = one.ended is not None and one.ended.exit_code == 0
    status: JsonObject = {
        "name": container["name"],
        "image": container["image"],
        "imageID": image_id(container["image"]) if one.starts else "",
        "state": state,
        "lastState": {"terminated": _terminated(last)} if last else {},
        "ready": ready,
        "started": one.started and one.running is not None,
        "restartCount": one.restarts,
    }
    if one.container_id:
        status["containerID"] = f"certwright://{one.container_id}"
        status["resources"] = container.get("resources") or {}
        if requests := (container.get("resources") or {}).get("requests"):
            status["allocatedResources"] = requests
    if mounts := container.get("volumeMounts"):
        status["volumeMounts"] = [_mount_status(mount) for mount in mounts]
    return status


def image_id(image: str) -> str:
    """Return the identity of an image: there is no digest, so its name."""
    return f"certwright://{image}"


def _mount_status(mount: JsonObject) -> JsonObject:
    status = {"name": mount["name"], "mountPath": mount["mountPath"]}
    if mount.get("readOnly"):
        status |= {"readOnly": True, "recursiveReadOnly": "Disabled"}
    return status


def _states(
    pod: JsonObject, container: JsonObject, facts: PodFacts, now: datetime
) -> tuple[JsonObject, Termination | None]:
    """Return the state of a container, and how the run before that ended."""
    one = facts.containers[container["name"]]
    if one.running:
        return {"running": {"startedAt": format_time(one.running)}}, _last(one.ends)
    waiting = _waiting(pod, container, facts, now)
    ended = one.ended
    if ended is None:
        default = "PodInitializing" if init_containers(pod) else "ContainerCreating"
        return _waiting_state(waiting or Waiting(default)), None
    if waiting is None:
        return {"terminated": _terminated(ended)}, _last(one.ends[:-1])
    return _waiting_state(waiting), ended


def _last(ends: Sequence[Termination]) -> Termination | None:
    return ends[-1] if ends else None


def _waiting(
    pod: JsonObject, container: JsonObject, facts: PodFacts, now: datetime
) -> Waiting | None:
    """Return why a container waits for its start, if more than its turn."""
    one = facts.containers[container["name"]]
    if is_deleted(pod) or facts.failed is not None or facts.gone:
        return None
    if one.waiting is not None:
        return _pull_backoff(container, one, now)
    ended = one.ended
    if ended is None or not restarts_after(pod, container, ended.exit_code):
        return None
    due = start_time(one)
    if due is None or due <= now:
        return None
    return Waiting("CrashLoopBackOff", backoff_message(pod, container["name"], one))


def _pull_backoff(container: JsonObject, one: ContainerFacts, now: datetime) -> Waiting | None:
    waiting = one.waiting
    if waiting is None or waiting.reason != "ErrImagePull":
        return waiting
    if one.failed is None or now < one.failed + PULL_BACKOFF_SHOWN:
        return waiting
    image = container["image"]
    message = f'Back-off pulling image "{image}": ErrImagePull: {waiting.message}'
    return Waiting("ImagePullBackOff", message)


def backoff_message(pod: JsonObject, name: str, one: ContainerFacts) -> str:
    """Return what is said of a container that is started again later."""
    delay = go_duration(one.restart.delay)
    return f"back-off {delay} restarting failed container={name} pod={pod_title(pod)}"


def pod_title(pod: JsonObject) -> str:
    """Return a pod as kubelet's messages name it: ``name_namespace(uid)``."""
    metadata = pod["metadata"]
    return f"{metadata['name']}_{metadata['namespace']}({metadata['uid']})"


def go_duration(seconds: float) -> str:
    """Return a duration as Go prints it, such as ``10s``, ``1m20s`` or ``5m0s``."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(int(minutes), 60)
    text = f"{rest:g}s"
    if hours or minutes:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text


def _waiting_state(waiting: Waiting) -> JsonObject:
    state = {"reason": waiting.reason}
    if waiting.message:
        state["message"] = waiting.message
    return {"waiting": state}


def _terminated(ended: Termination) -> JsonObject:
    state: JsonObject = {
        "exitCode": ended.exit_code,
        "reason": ended.reason,
        "startedAt": format_time(ended.started) if ended.started else None,
        "finishedAt": format_time(ended.finished),
    }
    if ended.message:
        state["message"] = ended.message
    if ended.container_id:
        state["containerID"] = f"certwright://{ended.container_id}"
    return state


# Phase


def _phase(
    pod: JsonObject,
    facts: PodFacts,
    inits: Sequence[JsonObject],
    mains: Sequence[JsonObject],
    before: JsonObject,
) -> str:
    if facts.failed is not None:
        return "Failed"
    if before.get("phase") in _TERMINAL:
        return str(before["phase"])
    pending = False
    for container, status in zip(init_containers(pod), inits, strict=True):
        ended = _ended(status)
        if is_sidecar(container):
            pending = pending or (not status["started"] and not ended)
        elif ended and ended["exitCode"]:
            if not restarts_after(pod, container, ended["exitCode"]):
                return "Failed"
        elif not ended:
            pending = True
    waits = any("waiting" in status["state"] and not status["lastState"] for status in mains)
    if waits or (pending and not has_initialized(pod, facts)):
        return _phase_at_end(pod, facts, mains) if is_deleted(pod) else "Pending"
    if any(not status["ready"] for status in inits) and not has_initialized(pod, facts):
        return "Pending"  # an init container is tried again
    if facts.runs:
        return "Running"
    if not is_deleted(pod) and any(_comes_again(pod, *pair) for pair in _pairs(pod, mains)):
        return "Running"
    return _phase_at_end(pod, facts, mains)


def _phase_at_end(pod: JsonObject, facts: PodFacts, mains: Sequence[JsonObject]) -> str:
    """Return the phase of a pod whose containers are not started again."""
    if facts.runs:
        return "Running" if has_initialized(pod, facts) else "Pending"
    codes = [(_ended(status) or {"exitCode": 1})["exitCode"] for status in mains]
    return "Failed" if any(codes) else "Succeeded"


def _pairs(pod: JsonObject, statuses: Sequence[JsonObject]) -> list[tuple[JsonObject, JsonObject]]:
    return list(zip(main_containers(pod), statuses, strict=True))


def _comes_again(pod: JsonObject, container: JsonObject, status: JsonObject) -> bool:
    ended = _ended(status)
    return bool(ended) and restarts_after(pod, container, ended["exitCode"])


def _ended(status: JsonObject) -> JsonObject:
    state: JsonObject = status["state"].get("terminated") or {}
    if state or "running" in status["state"]:
        return state
    return status["lastState"].get("terminated") or {}


# Conditions


def _conditions(
    pod: JsonObject,
    facts: PodFacts,
    phase: str,
    inits: Sequence[JsonObject],
    mains: Sequence[JsonObject],
    now: datetime,
) -> list[JsonObject]:
    held: list[JsonObject] = (pod.get("status") or {}).get("conditions") or []
    others = [one for one in held if one["type"] not in _OWN_CONDITIONS]
    can_start = facts.mounted and (facts.runs or phase not in _TERMINAL)
    containers = _containers_ready(pod, phase, inits, mains)
    found: dict[str, JsonObject] = {
        "PodReadyToStartContainers": _condition(can_start),
        "Initialized": _initialized(pod, facts, phase, inits),
        "Ready": containers if containers["status"] == "False" else _gates(pod, others),
        "ContainersReady": containers,
        "PodScheduled": _condition(True),
    }
    before = {one["type"]: one for one in held}
    stamped = [
        _stamped(type_, found[type_], before.get(type_), pod, now) for type_ in _OWN_CONDITIONS
    ]
    return [*others, *stamped]


def _condition(holds: bool, reason: str = "", message: str = "") -> JsonObject:  # noqa: FBT001
    condition: JsonObject = {"status": "True" if holds else "False"}
    if reason:
        condition["reason"] = reason
    if message:
        condition["message"] = message
    return condition


def _stamped(
    type_: str, found: JsonObject, before: JsonObject | None, pod: JsonObject, now: datetime
) -> JsonObject:
    same = before is not None and before["status"] == found["status"]
    since = before.get("lastTransitionTime") if same and before else None
    condition = {
        "type": type_,
        "lastProbeTime": None,
        "lastTransitionTime": since or format_time(now),
        **found,
    }
    if generation := pod["metadata"].get("generation"):
        condition["observedGeneration"] = generation
    return condition


def _containers_ready(
    pod: JsonObject, phase: str, inits: Sequence[JsonObject], mains: Sequence[JsonObject]
) -> JsonObject:
    if phase == "Succeeded":
        return _condition(False, "PodCompleted")
    if phase == "Failed":
        return _condition(False, "PodFailed")
    sidecars = {one["name"] for one in init_containers(pod) if is_sidecar(one)}
    counted = [*(one for one in inits if one["name"] in sidecars), *mains]
    unready = [one["name"] for one in counted if not one["ready"]]
    if unready:
        names = " ".join(unready)
        return _condition(False, "ContainersNotReady", f"containers with unready status: [{names}]")
    return _condition(True)


def _gates(pod: JsonObject, others: Sequence[JsonObject]) -> JsonObject:
    """Return the Ready condition of a pod whose containers are ready: its gates decide."""
    held = {one["type"]: one["status"] for one in others}
    problems = []
    for gate in pod["spec"].get("readinessGates") or ():
        type_ = gate["conditionType"]
        if type_ not in held:
            problems.append(
                f'corresponding condition of pod readiness gate "{type_}" does not exist.'
            )
        elif held[type_] != "True":
            problems.append(
                f'the status of pod readiness gate "{type_}" is not "True", but {held[type_]}'
            )
    if problems:
        return _condition(False, "ReadinessGatesNotReady", ", ".join(problems))
    return _condition(True)


def _initialized(
    pod: JsonObject, facts: PodFacts, phase: str, inits: Sequence[JsonObject]
) -> JsonObject:
    if phase == "Succeeded":
        return _condition(True, "PodCompleted")
    if has_initialized(pod, facts):
        return _condition(True)
    incomplete = [
        status["name"]
        for container, status in zip(init_containers(pod), inits, strict=True)
        if not status["started" if is_sidecar(container) else "ready"]
    ]
    if not incomplete:
        return _condition(True)
    names = " ".join(incomplete)
    message = f"containers with incomplete status: [{names}]"
    return _condition(False, "ContainersNotInitialized", message)


def qos_class(pod: JsonObject) -> str:
    """Return how much a pod is guaranteed: by its requests and limits of CPU and memory."""
    containers: list[Any] = [*init_containers(pod), *main_containers(pod)]
    guaranteed, burstable = True, False
    for container in containers:
        resources = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        for name in ("cpu", "memory"):
            limit = limits.get(name)
            request = requests.get(name, limit)
            burstable = burstable or limit is not None or request is not None
            guaranteed = guaranteed and limit is not None and request == limit
    if guaranteed and containers:
        return "Guaranteed"
    return "Burstable" if burstable else "BestEffort"
