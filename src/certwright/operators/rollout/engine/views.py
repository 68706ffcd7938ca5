"""What is kept of workloads: what policies, decisions and patches need, and no more.

A Deployment has several kilobytes, of which restarts need a few hundred bytes. What is left has the
shape of the API, so that a `Workload` can be read from a reduced object and from a whole one alike.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import orjson

from certwright.kube import JsonObject, Key, Resource, kinds
from certwright.kube.objects import exact_json
from certwright.operators.rollout.references import (
    CONTAINER_LISTS,
    CSI_DRIVER,
    at,
    containers,
    maps,
    text,
    uses_of,
)
from certwright.operators.rollout.workload import (
    RolloutProgress,
    Workload,
    WorkloadKind,
    WorkloadRef,
)
from certwright.runtime.cache.compression import Compression

ARGO_ROLLOUT: Final = Resource("argoproj.io", "v1alpha1", "Rollout", "rollouts")
RESOURCES: Final[Mapping[WorkloadKind, Resource]] = {
    WorkloadKind.DEPLOYMENT: kinds.Deployment,
    WorkloadKind.STATEFUL_SET: kinds.StatefulSet,
    WorkloadKind.DAEMON_SET: kinds.DaemonSet,
    WorkloadKind.CRON_JOB: kinds.CronJob,
    WorkloadKind.JOB: kinds.Job,
    WorkloadKind.ROLLOUT: ARGO_ROLLOUT,
}
VARIABLES: Final = "STAKATER_"
"""Plain variables whose names begin so are kept: Reloader's marks."""

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_METADATA: Final = (
    "name", "namespace", "uid", "resourceVersion", "generation", "deletionTimestamp", "labels",
)  # fmt: skip
_SPEC: Final = ("replicas", "paused", "restartAt")
_COUNTS: Final = (
    "observedGeneration", "replicas", "updatedReplicas", "availableReplicas", "currentRevision",
    "updateRevision", "updatedNumberScheduled", "desiredNumberScheduled", "numberAvailable",
    "phase",
)  # fmt: skip


COMPRESSION: Final = Compression(
    rb'"ownerReferences":[{"restartAt":"updateStrategy":{"type":"RollingUpdate"},"numberAvailable":1'
    rb'"currentRevision":"updateRevision":"desiredNumberScheduled":1,"updatedNumberScheduled":1'
    rb'"csi":{"driver":"secrets-store.csi.k8s.io","volumeAttributes":{"secretProviderClass":"'
    rb'"projected":{"sources":[{"configMap":{"name":"items":[{"key":"","path":""}],"optional":true'
    rb'"initContainers":[{"envFrom":[{"secretRef":{"configMapRef":{"name":"subPath":"'
    rb'"env":[{"name":"","valueFrom":{"configMapKeyRef":{"secretKeyRef":{"name":"","key":""}}}]'
    rb'reloader.stakater.com/auto":"true"secret.reloader.stakater.com/reload":"'
    rb'meta.helm.sh/release-name":"meta.helm.sh/release-namespace":"StatefulSetDaemonSet'
    rb'{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"","namespace":"default","uid":"'
    rb'","resourceVersion":"","generation":1,"labels":{"app.kubernetes.io/managed-by":"Helm",'
    rb'"app.kubernetes.io/instance":"","app.kubernetes.io/name":"","app":""},"annotations":{'
    rb'"deployment.kubernetes.io/revision":"1","rollout.certwright.dev/restarted-at":"20'
    rb'rollout.certwright.dev/restart":"true","rollout.certwright.dev/consumed":"{\"key\":\"\",'
    rb'\"sources\":{\"ConfigMap/\":{\"*\":\"\",\"@\":\"\"},\"Secret/\":{\"*\":\"\",\"@\":\"\"}}}"}},'
    rb'"spec":{"replicas":1,"template":{"metadata":{"labels":{"app":""},"annotations":{'
    rb'"rollout.certwright.dev/digest":""}},"spec":{"volumes":[{"name":"","secret":{"secretName":"'
    rb'"}},{"name":"","configMap":{"name":""}},{"name":"","secret":{"secretName":""}}],'
    rb'"containers":[{"name":"","volumeMounts":[{"name":""},{"name":""}]}]}}},"status":{'
    rb'"observedGeneration":1,"replicas":1,"updatedReplicas":1,"availableReplicas":1,"conditions":['
    rb'{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"}]}}'
)
"""What reduced workloads have in common. Any text would do; the nearer to them, the smaller."""


def template_path(kind: WorkloadKind) -> tuple[str, ...]:
    """Return where in an object of a kind the pod template is."""
    if kind is WorkloadKind.CRON_JOB:
        return ("spec", "jobTemplate", "spec", "template")
    return ("spec", "template")


# Reducing


class ReducedWorkload:
    """A transform: of a workload of one kind, keeps what is read here."""

    def __init__(self, kind: WorkloadKind) -> None:
        self._kind = kind

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReducedWorkload) and other._kind is self._kind

    def __hash__(self) -> int:
        return hash(self._kind)

    def __call__(self, raw: bytes) -> bytes:
        """Return the reduced object as JSON."""
        return exact_json(reduce_workload(self._kind, orjson.loads(raw)))


def reduce_workload(kind: WorkloadKind, obj: JsonObject) -> JsonObject:
    """Return an object with nothing but what `read_workload` reads."""
    template = at(obj, *template_path(kind))
    reduced: JsonObject = {
        "apiVersion": obj.get("apiVersion"),
        "kind": obj.get("kind"),
        "metadata": _kept(obj.get("metadata"), *_METADATA) | _annotations(obj.get("metadata")),
        "spec": _kept(obj.get("spec"), *_SPEC),
        "status": _kept(obj.get("status"), *_COUNTS),
    }
    if kind is WorkloadKind.JOB:
        reduced["metadata"] |= _kept(obj.get("metadata"), "ownerReferences")
    spec = reduced["spec"]
    if (strategy := at(obj, "spec", "updateStrategy")) is not None:
        partition = at(strategy, "rollingUpdate", "partition")
        spec["updateStrategy"] = _kept(strategy, "type")
        if partition:
            spec["updateStrategy"]["rollingUpdate"] = {"partition": partition}
    progressing = [
        c for c in maps(at(obj, "status", "conditions")) if c.get("type") == "Progressing"
    ]
    if progressing:
        reduced["status"]["conditions"] = [
            _kept(c, "type", "status", "reason") for c in progressing
        ]
    holder = reduced
    for member in template_path(kind)[:-1]:
        holder = holder.setdefault(member, {})
    holder["template"] = {
        "metadata": _kept(at(template, "metadata"), "labels")
        | _annotations(at(template, "metadata")),
        "spec": _reduced_pod(at(template, "spec")),
    }
    return reduced


def _reduced_pod(pod_spec: Any) -> JsonObject:
    volumes = [_reduced_volume(volume) for volume in maps(at(pod_spec, "volumes"))]
    volumes = [volume for volume in volumes if len(volume) > 1]
    mounted = {text(volume.get("name")) for volume in volumes}
    reduced: JsonObject = {"volumes": volumes} if volumes else {}
    for member in CONTAINER_LISTS:
        if found := [_reduced_container(one, mounted) for one in maps(at(pod_spec, member))]:
            reduced[member] = found
    return reduced


def _reduced_volume(volume: JsonObject) -> JsonObject:
    csi = ("csi",) if at(volume, "csi", "driver") == CSI_DRIVER else ()
    reduced = _kept(volume, "name", "projected", *csi)
    for member in ("secret", "configMap"):
        if member in volume:
            reduced[member] = _kept(volume[member], "secretName", "name", "items", "optional")
    return reduced


def _reduced_container(container: JsonObject, mounted: set[str]) -> JsonObject:
    reduced = _kept(container, "name", "envFrom")
    mounts = [
        _kept(mount, "name", "subPath", "subPathExpr")
        for mount in maps(container.get("volumeMounts"))
        if text(mount.get("name")) in mounted
    ]
    variables = [
        _kept(variable, "name", "value", "valueFrom")
        for variable in maps(container.get("env"))
        if at(variable, "valueFrom", "secretKeyRef") or at(variable, "valueFrom", "configMapKeyRef")
        or text(variable.get("name")).startswith(VARIABLES)
    ]  # fmt: skip
    return (
        reduced
        | ({"volumeMounts": mounts} if mounts else {})
        | ({"env": variables} if variables else {})
    )


def _kept(value: Any, *names: str) -> JsonObject:
    return {name: value[name] for name in names if name in value} if isinstance(value, dict) else {}


def _annotations(metadata: Any) -> JsonObject:
    found = strings(at(metadata, "annotations"))
    found.pop(_LAST_APPLIED, None)  # it repeats the object
    return {"annotations": found} if found else {}


# Reading


def read_workload(kind: WorkloadKind, obj: JsonObject, key: Key | None = None) -> Workload:
    """Return what restarts need of a workload, reduced or whole; of wrong types, nothing.

    With the *key* of its entry, what remembers the workload has no copy of its name.
    """
    metadata = obj.get("metadata") or {}
    if key is None:
        key = Key(text(metadata.get("namespace")), text(metadata.get("name")))
    template = at(obj, *template_path(kind))
    pod_spec = at(template, "spec")
    return Workload(
        ref=WorkloadRef(kind, key),
        api_version=text(obj.get("apiVersion")),
        uid=text(metadata.get("uid")),
        resource_version=text(metadata.get("resourceVersion")),
        generation=number(metadata.get("generation")),
        deleting="deletionTimestamp" in metadata,
        labels=strings(metadata.get("labels")),
        annotations=strings(metadata.get("annotations")),
        template_labels=strings(at(template, "metadata", "labels")),
        template_annotations=strings(at(template, "metadata", "annotations")),
        containers=tuple(text(one.get("name")) for one in maps(at(pod_spec, "containers"))),
        environment={
            text(one.get("name")): found
            for one in containers(pod_spec)
            if (found := dict(_marks(one)))
        },
        uses=uses_of(key.namespace, pod_spec),
        progress=progress_of(kind, obj),
        replicas=_wanted_replicas(obj),
        controlled=kind is WorkloadKind.JOB
        and any(one.get("controller") is True for one in maps(metadata.get("ownerReferences"))),
    )


def identity_of(workload: Workload) -> JsonObject:
    """Return as much of the object of a workload as names it, in the state that was read."""
    key = workload.ref.key
    return {
        "apiVersion": workload.api_version,
        "kind": workload.ref.kind.value,
        "metadata": {
            "namespace": key.namespace,
            "name": key.name,
            "uid": workload.uid,
            "resourceVersion": workload.resource_version,
        },
    }


def progress_of(kind: WorkloadKind, obj: JsonObject) -> RolloutProgress:
    """Return how far the pods of a workload are. One without a status is at rest."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    paused = at(spec, "paused") is True
    observed = at(status, "observedGeneration")
    if observed is None:
        return RolloutProgress(paused=paused)
    behind = str(observed) != str(at(obj, "metadata", "generation"))
    match kind:
        case WorkloadKind.DEPLOYMENT:
            return _deployment(obj, behind=behind, paused=paused)
        case WorkloadKind.STATEFUL_SET:
            return _stateful_set(obj, behind=behind)
        case WorkloadKind.DAEMON_SET:
            return _daemon_set(obj, behind=behind)
        case WorkloadKind.ROLLOUT:
            phase = text(at(status, "phase"))
            return RolloutProgress(
                rolling=behind or phase in {"Progressing", "Paused"},
                healthy=not behind and phase == "Healthy",
                stalled=not behind and phase == "Degraded",
                paused=paused,
            )
        case WorkloadKind.CRON_JOB | WorkloadKind.JOB:
            return RolloutProgress()


def _deployment(obj: JsonObject, *, behind: bool, paused: bool) -> RolloutProgress:
    status, wanted = obj.get("status") or {}, _wanted_replicas(obj)
    updated, total = number(at(status, "updatedReplicas")), number(at(status, "replicas"))
    rolling = behind or updated < wanted or total > updated
    gave_up = any(
        one.get("status") == "False" and one.get("reason") == "ProgressDeadlineExceeded"
        for one in maps(at(status, "conditions"))
    )
    return RolloutProgress(
        rolling=rolling,
        healthy=not rolling and number(at(status, "availableReplicas")) >= wanted,
        stalled=gave_up and not behind,
        paused=paused,
        done=updated + number(at(status, "availableReplicas")),
    )


def _stateful_set(obj: JsonObject, *, behind: bool) -> RolloutProgress:
    status, wanted = obj.get("status") or {}, _wanted_replicas(obj)
    strategy = at(obj, "spec", "updateStrategy")
    on_delete = at(strategy, "type") == "OnDelete"
    due = wanted - number(at(strategy, "rollingUpdate", "partition"))
    same = at(status, "currentRevision") == at(status, "updateRevision")
    updated, available = (
        number(at(status, f"{name}Replicas")) for name in ("updated", "available")
    )
    rolling = behind or not (on_delete or same or updated >= due)
    healthy = not rolling and available >= wanted
    return RolloutProgress(rolling, healthy, on_delete=on_delete, done=updated + available)


def _daemon_set(obj: JsonObject, *, behind: bool) -> RolloutProgress:
    status = obj.get("status") or {}
    on_delete = at(obj, "spec", "updateStrategy", "type") == "OnDelete"
    wanted = number(at(status, "desiredNumberScheduled"))
    updated = number(at(status, "updatedNumberScheduled"))
    available = number(at(status, "numberAvailable"))
    rolling = behind or not (on_delete or updated >= wanted)
    healthy = not rolling and available >= wanted
    return RolloutProgress(rolling, healthy, on_delete=on_delete, done=updated + available)


def _wanted_replicas(obj: JsonObject) -> int:
    replicas = at(obj, "spec", "replicas")
    return 1 if replicas is None else number(replicas)


def _marks(container: JsonObject) -> Iterator[tuple[str, str]]:
    for variable in maps(container.get("env")):
        if (name := text(variable.get("name"))).startswith(VARIABLES):
            yield name, text(variable.get("value"))


def strings(value: Any) -> dict[str, str]:
    """Return the members of an object that are strings."""
    found = value.items() if isinstance(value, dict) else ()
    return {name: member for name, member in found if isinstance(member, str)}


def number(value: Any) -> int:
    """Return a whole number as it is, and anything else as 0."""
    return value if isinstance(value, int) else 0
