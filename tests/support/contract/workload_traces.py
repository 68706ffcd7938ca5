"""Random traces of operations on workloads, and what is compared of where they lead.

A trace is data: a manifest, then steps that change it or its pods. After each step both sides are
left alone until nothing moves, so what is compared are states at rest, not the way there.
"""

import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from typing import Any, Final

import orjson

from certwright.kube.kinds import (
    ControllerRevision,
    DaemonSet,
    Deployment,
    Endpoints,
    EndpointSlice,
    Job,
    PersistentVolumeClaim,
    Pod,
    ReplicaSet,
    StatefulSet,
)
from certwright.kube.objects import JsonObject, Resource
from certwright.testkit.actors import ANNOTATION
from certwright.testkit.builders import daemon_set, deployment, job, stateful_set

PLAYS = ("", "", "", "ready=never", "pull=error")
IMAGES = ("app:1", "app:2", "app:3")


@dataclass(frozen=True)
class Step:
    """One operation: a patch of the workload, or of its pod of a number, or a deletion."""

    verb: str
    """``patch``, ``delete-pod``, ``release-pod``, ``orphan`` or ``create``."""
    body: Any = None

    def __str__(self) -> str:
        return f"{self.verb} {self.body or ''}"


@dataclass(frozen=True)
class Trace:
    """A workload and what happens to it."""

    kind: Resource
    manifest: JsonObject
    steps: Sequence[Step]
    others: Sequence[JsonObject] = ()
    """Created first."""

    def __str__(self) -> str:
        return "\n".join([str(self.manifest["spec"]), *map(str, self.steps)])


def service() -> JsonObject:
    """Return the Service of a workload."""
    spec = {"selector": {"app": "w"}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "w"}, "spec": spec}


def deployment_trace(rng: Random) -> Trace:
    """Return a trace of a Deployment."""
    obj = deployment("w", replicas=rng.randint(0, 4), image="app:1")
    spec = obj["spec"]
    spec["strategy"] = _deployment_strategy(rng)
    spec["revisionHistoryLimit"] = rng.choice((0, 1, 10))
    spec["minReadySeconds"] = rng.choice((0, 0, 1))
    spec["progressDeadlineSeconds"] = rng.choice((600, 3))
    if spec["minReadySeconds"]:
        spec["progressDeadlineSeconds"] = 600
    changes: list[Callable[[Random], Step]] = [
        lambda rng: _patch(replicas=rng.randint(0, 6)),
        lambda rng: _patch(replicas=rng.randint(0, 6)),
        _template_change,
        _template_change,
        _template_change,
        lambda rng: Step(
            "patch", {"spec": {"replicas": rng.randint(1, 5), **_template_change(rng).body["spec"]}}
        ),
        lambda rng: _patch(paused=rng.choice((True, False))),
        lambda _: _patch(paused=False),
        lambda rng: Step("patch", {"metadata": {"annotations": {"note": rng.choice("abc")}}}),
        lambda rng: Step("delete-pod", rng.randint(0, 3)),
        lambda rng: Step("release-pod", rng.randint(0, 3)),
        lambda _: Step("orphan"),
    ]
    return Trace(Deployment, obj, _steps(rng, changes), [service()])


def stateful_set_trace(rng: Random) -> Trace:
    """Return a trace of a StatefulSet."""
    obj = stateful_set("w", replicas=rng.randint(0, 3), image="app:1")
    spec = obj["spec"]
    spec["podManagementPolicy"] = rng.choice(("OrderedReady", "Parallel"))
    spec["updateStrategy"] = rng.choice(
        (
            {"type": "OnDelete"},
            {"type": "RollingUpdate", "rollingUpdate": {"partition": rng.choice((0, 0, 1, 2))}},
        )
    )
    spec["revisionHistoryLimit"] = rng.choice((0, 1, 10))
    spec["minReadySeconds"] = rng.choice((0, 0, 1))
    if rng.random() < 0.5:
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
        policy = {name: rng.choice(("Retain", "Delete")) for name in ("whenDeleted", "whenScaled")}
        spec["persistentVolumeClaimRetentionPolicy"] = policy
    changes: list[Callable[[Random], Step]] = [
        lambda rng: _patch(replicas=rng.randint(0, 4)),
        lambda rng: _patch(replicas=rng.randint(0, 4)),
        _template_change,
        _template_change,
        lambda rng: _patch(
            updateStrategy={
                "type": "RollingUpdate",
                "rollingUpdate": {"partition": rng.randint(0, 2)},
            }
        ),
        lambda rng: Step("delete-pod", rng.randint(0, 3)),
        lambda _: Step("orphan"),
    ]
    return Trace(StatefulSet, obj, _steps(rng, changes), [service()])


def daemon_set_trace(rng: Random) -> Trace:
    """Return a trace of a DaemonSet."""
    obj = daemon_set("w", image="app:1")
    spec = obj["spec"]
    rolling = rng.choice(
        (
            {"maxUnavailable": 1, "maxSurge": 0},
            {"maxUnavailable": "50%", "maxSurge": 0},
            {"maxUnavailable": 0, "maxSurge": 1},
        )
    )
    spec["updateStrategy"] = rng.choice(
        ({"type": "OnDelete"}, *[{"type": "RollingUpdate", "rollingUpdate": rolling}] * 3)
    )
    spec["revisionHistoryLimit"] = rng.choice((0, 1, 10))
    changes: list[Callable[[Random], Step]] = [
        _template_change,
        _template_change,
        lambda rng: Step(
            "patch",
            {"spec": {"template": {"spec": {"nodeSelector": {"zone": rng.choice(("a", None))}}}}},
        ),
        lambda _: Step("patch", {"spec": {"template": {"spec": {"nodeSelector": {"zone": None}}}}}),
        lambda rng: Step("delete-pod", rng.randint(0, 3)),
        lambda rng: Step("release-pod", rng.randint(0, 3)),
        lambda _: Step("orphan"),
    ]
    return Trace(DaemonSet, obj, _steps(rng, changes))


def job_trace(rng: Random) -> Trace:
    """Return a trace of a Job."""
    obj = job("w", completions=rng.randint(1, 4), image="app:1")
    spec = obj["spec"]
    spec["parallelism"] = rng.randint(1, 3)
    spec["backoffLimit"] = rng.choice((0, 0, 1))
    spec["completionMode"] = rng.choice(("NonIndexed", "NonIndexed", "Indexed"))
    spec["suspend"] = rng.random() < 0.3
    spec["template"]["spec"]["restartPolicy"] = rng.choice(("Never", "Never", "OnFailure"))
    spec["template"]["metadata"] = {
        "annotations": {ANNOTATION: rng.choice(("", "run=never", "run=never", "fail"))}
    }
    endless = "never" in str(spec["template"]["metadata"])
    indexed = spec["completionMode"] == "Indexed"
    if rng.random() < 0.2 and endless:  # others may end before or after it, as they please
        spec["activeDeadlineSeconds"] = 2
    if rng.random() < 0.2:
        spec["ttlSecondsAfterFinished"] = 1
    changes: list[Callable[[Random], Step]] = [
        lambda rng: _patch(suspend=rng.choice((True, False))),
        lambda _: _patch(suspend=False),
        lambda rng: _patch(parallelism=rng.randint(0, 4)) if not indexed else _patch(suspend=True),
        lambda _: _patch(activeDeadlineSeconds=2 if endless else 600),
        lambda rng: Step("delete-pod", rng.randint(0, 2)),
    ]
    return Trace(Job, obj, _steps(rng, changes, most=4))


def _policy_trace(play: str, *rules: JsonObject) -> Trace:
    obj = job("w", completions=1, image="app:1")
    obj["spec"] |= {"backoffLimit": 0, "podFailurePolicy": {"rules": list(rules)}}
    template = obj["spec"]["template"]
    template["spec"]["restartPolicy"] = "Never"
    template["metadata"] = {"annotations": {ANNOTATION: play}}
    return Trace(Job, obj, [])


def _on_exit(action: str, operator: str, *codes: int, **more: str) -> JsonObject:
    return {"action": action, "onExitCodes": {"operator": operator, "values": codes, **more}}


def _success_trace(*rules: JsonObject) -> Trace:
    """Return a Job whose pods succeed one after the other, until a rule is met."""
    obj = job("w", completions=4, image="app:1")
    obj["spec"] |= {
        "parallelism": 1,
        "completionMode": "Indexed",
        "successPolicy": {"rules": list(rules)},
    }
    obj["spec"]["template"]["spec"]["restartPolicy"] = "Never"
    return Trace(Job, obj, [])


POLICIES = (
    _success_trace({"succeededIndexes": "0"}),
    _success_trace({"succeededCount": 2}),
    _success_trace({"succeededIndexes": "3"}, {"succeededIndexes": "1-2", "succeededCount": 1}),
    _success_trace({"succeededIndexes": "0,2"}, {"succeededCount": 4}),
    _policy_trace("exit=42", _on_exit("Count", "In", 7), _on_exit("FailJob", "In", 41, 42)),
    _policy_trace("exit=3", _on_exit("FailJob", "NotIn", 1, 2)),
    _policy_trace("exit=1", _on_exit("Count", "In", 1), _on_exit("FailJob", "In", 1)),
    _policy_trace("exit=1", _on_exit("FailJob", "In", 1, containerName="main")),
    _policy_trace(
        "exit=1",
        {
            "action": "FailJob",
            "onPodConditions": [{"type": "PodScheduled"}, {"type": "Ready", "status": "False"}],
        },
    ),
    _policy_trace(
        "exit=1",
        {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget"}]},
    ),
)
"""Jobs whose policy decides when they end: at a failure, or before all have succeeded."""


TRACES: dict[str, Callable[[Random], Trace]] = {
    "deployments": deployment_trace,
    "statefulsets": stateful_set_trace,
    "daemonsets": daemon_set_trace,
    "jobs": job_trace,
}


def trace_of(name: str, seed: int) -> Trace:
    """Return the trace of a number, of one of the `TRACES`."""
    return TRACES[name](Random(f"{name}-{seed}"))  # noqa: S311 - the same each time


def _steps(rng: Random, changes: Sequence[Callable[[Random], Step]], most: int = 6) -> list[Step]:
    return [rng.choice(changes)(rng) for _ in range(rng.randint(1, most))]


def _patch(**spec: Any) -> Step:
    return Step("patch", {"spec": spec})


def _template_change(rng: Random) -> Step:
    image, play = rng.choice(IMAGES), rng.choice(PLAYS)
    containers = [{"name": "main", "image": image}]
    metadata = {"annotations": {ANNOTATION: play or None}}
    return Step(
        "patch", {"spec": {"template": {"metadata": metadata, "spec": {"containers": containers}}}}
    )


def _deployment_strategy(rng: Random) -> JsonObject:
    limits = rng.choice(((1, 0), (0, 1), ("25%", "25%"), (2, 1), ("50%", 0), ("1%", "1%")))
    rolling = dict(zip(("maxSurge", "maxUnavailable"), limits, strict=True))
    return rng.choice(
        ({"type": "Recreate"}, *[{"type": "RollingUpdate", "rollingUpdate": rolling}] * 3)
    )


# What is compared

COMPARED: dict[Resource, tuple[Resource, ...]] = {
    Deployment: (Deployment, ReplicaSet, Pod, EndpointSlice, Endpoints),
    StatefulSet: (StatefulSet, ControllerRevision, Pod, PersistentVolumeClaim, EndpointSlice),
    DaemonSet: (DaemonSet, ControllerRevision, Pod),
    Job: (Job, Pod),
}
DIFFERENCES = {
    "hashes": "names and labels with the hash of a template: Kubernetes hashes Go's memory layout",
    "times": "all times, and the order of conditions, which follows from them",
    "generation": "of ReplicaSets: how many steps a rollout takes depends on what is seen when",
    "last-change-trigger-time": "annotation of Endpoints and EndpointSlices, a time",
    "managedFields": "who wrote a field is not compared",
    "nodes": "on which node an update of a DaemonSet begins: Kubernetes goes through them at random",
    "races": "a difference has to show twice: under load, Kubernetes' own writes can overtake each other",
    "revisions": "which of two unused revisions of a DaemonSet goes: the one whose pods ended first",
    "indexes": "which pods of an Indexed Job go when fewer may run: chosen by uid, so by chance",
}
"""What is left out of the comparison, and why."""
UNUSED: Final[JsonObject] = {"kind": ControllerRevision.kind, "name": "an unused revision"}


def normalized(found: dict[Resource, Sequence[JsonObject]]) -> list[Any]:
    """Return objects without what two runs can never have in common, in a stable order."""
    names: dict[str, str] = {}
    for kind, objects in found.items():
        for obj in objects:
            metadata = obj["metadata"]
            if kind in {ReplicaSet, ControllerRevision}:
                annotations = metadata.get("annotations") or {}
                number = annotations.get("deployment.kubernetes.io/revision", obj.get("revision"))
                names[metadata["name"]] = f"w-{number}"
                names[metadata["name"].rpartition("-")[2]] = f"hash-{number}"
            if kind is Job:
                names[metadata["uid"]] = "uid"
    result = []
    unused = _unused_revisions(found) if DaemonSet in found else set()
    for kind, objects in found.items():
        for obj in objects:
            is_unused = kind is ControllerRevision and obj["metadata"]["name"] in unused
            result.append(UNUSED if is_unused else _essence(kind, obj, names))
    return sorted(result, key=_canonical)


def _unused_revisions(found: dict[Resource, Sequence[JsonObject]]) -> set[str]:
    """Return the names of old revisions that no pod has: chance decides which of them are left."""
    live = {pod["metadata"].get("labels", {}).get("controller-revision-hash") for pod in found[Pod]}
    revisions = found[ControllerRevision]
    latest = max((one["revision"] for one in revisions), default=0)
    return {
        one["metadata"]["name"]
        for one in revisions
        if one["revision"] != latest
        and one["metadata"]["labels"]["controller-revision-hash"] not in live
    }


def _canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _essence(kind: Resource, obj: JsonObject, names: dict[str, str]) -> JsonObject:
    metadata = obj["metadata"]
    owners = [{**owner, "uid": ""} for owner in metadata.get("ownerReferences") or ()]
    kept: JsonObject = {
        "kind": kind.kind,
        "name": _name(kind, metadata),
        "deleting": "deletionTimestamp" in metadata,
        "labels": metadata.get("labels") or {},
        "annotations": {
            k: v
            for k, v in (metadata.get("annotations") or {}).items()
            if "last-change-trigger-time" not in k
        },
        "owners": owners,
        "finalizers": metadata.get("finalizers") or [],
    }
    content = {k: v for k, v in obj.items() if k not in {"metadata", "apiVersion", "kind"}}
    if kind is Pod:
        content = _pod_content(obj)
    if kind in {Endpoints, EndpointSlice}:
        content = _endpoints_content(obj)
    if kind is PersistentVolumeClaim:
        content = {}
    if kind is Deployment:
        kept["generation"] = metadata.get("generation")
    status = content.get("status")
    if kind is Job and isinstance(status, dict):
        content = {**content, "status": {**status, "conditions": _without_pod_names(status)}}
        status = content["status"]
    if isinstance(status, dict) and "observedGeneration" in status:
        observed = status["observedGeneration"] == metadata.get("generation")
        content = {**content, "status": {**status, "observedGeneration": observed}}
    renamed: JsonObject = _renamed({**kept, **deepcopy(content)}, names)
    for label in _HASHES & renamed["labels"].keys():
        if renamed["labels"][label] == metadata["labels"][label]:
            renamed["labels"][label] = "of a revision that is gone"
            renamed["name"] = renamed["labels"][label] if kind is Pod else renamed["name"]
    return renamed


def _without_pod_names(status: JsonObject) -> list[JsonObject]:
    """Return conditions whose messages do not name a pod, which has another name each time."""
    return [
        {**each, "message": re.sub(r"[\w-]+/w-\w+", "ns/pod", each.get("message", ""))}
        for each in status.get("conditions") or ()
    ]


def _name(kind: Resource, metadata: JsonObject) -> str:
    if kind in {Pod, EndpointSlice} and metadata.get("generateName"):
        return str(metadata["generateName"])
    return str(metadata["name"])


def _pod_content(pod: JsonObject) -> JsonObject:
    spec, status = pod["spec"], pod.get("status") or {}
    volumes = [each for each in spec.get("volumes") or () if "persistentVolumeClaim" in each]
    return {
        "images": [each["image"] for each in spec["containers"]],
        "env": [each.get("env") for each in spec["containers"]],
        "bound": bool(spec.get("nodeName")),
        "affine": bool(spec.get("affinity")),
        "host": [spec.get("hostname"), spec.get("subdomain")],
        "volumes": volumes,
        "phase": status.get("phase"),
    }


def _endpoints_content(obj: JsonObject) -> JsonObject:
    """Return how many addresses there are of which sort: which ones is up to chance."""
    subsets = obj.get("subsets") or []
    count = {
        name: sum(len(each.get(name) or ()) for each in subsets)
        for name in ("addresses", "notReadyAddresses")
    }
    conditions = [str(each.get("conditions")) for each in obj.get("endpoints") or ()]
    ports = obj.get("ports") or [each.get("ports") for each in subsets]
    return {"count": count, "conditions": sorted(conditions), "ports": ports}


_HASHES = {"pod-template-hash", "controller-revision-hash", "controller.kubernetes.io/hash"}
_TIMES = (
    "startTime", "completionTime", "lastTransitionTime", "lastUpdateTime", "lastProbeTime",
)  # fmt: skip


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            k: _renamed(v, names) for k, v in value.items() if k not in _TIMES and v is not None
        }
    if isinstance(value, list):
        inner = [_renamed(each, names) for each in value]
        if inner and isinstance(inner[0], dict) and "type" in inner[0]:
            return sorted(inner, key=_canonical)
        return inner
    if isinstance(value, str):
        for name, plain in sorted(names.items(), key=lambda pair: -len(pair[0])):
            value = value.replace(name, plain)
    return value
