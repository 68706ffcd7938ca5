"""The pods of a StatefulSet: their identity, their claims, and what a pass does with them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from certwright.kube import JsonObject
from certwright.runtime.writes.writer import controller_reference
from certwright.testkit.workloads.podstate import (
    has_ended,
    is_available,
    is_deleting,
    is_ready,
    phase_of,
)
from certwright.testkit.workloads.revisions import POD_LABEL, template_of
from certwright.testkit.workloads.templates import pod_from

_NAME_LABEL: Final = "statefulset.kubernetes.io/pod-name"
_INDEX_LABEL: Final = "apps.kubernetes.io/pod-index"
_NUMBERED: Final = re.compile(r"(.*)-([0-9]+)")


@dataclass(slots=True)
class StatefulPlan:
    """What one pass of a StatefulSet does."""

    status: JsonObject
    create: list[JsonObject] = field(default_factory=list)
    relabel: list[JsonObject] = field(default_factory=list)
    """Pods that lost the labels of their identity."""
    delete: list[JsonObject] = field(default_factory=list)
    settled: list[JsonObject] = field(default_factory=list)
    """Pods whose claims get the owners that the retention policy wants."""


def ordinal_of(pod: JsonObject) -> int:
    """Return the number in the name of a pod; -1 without one."""
    found = _NUMBERED.fullmatch(pod["metadata"]["name"])
    return int(found[2]) if found else -1


def is_member(owner: JsonObject, pod: JsonObject) -> bool:
    """Return whether a pod is named after a StatefulSet."""
    found = _NUMBERED.fullmatch(pod["metadata"]["name"])
    return found is not None and found[1] == owner["metadata"]["name"]


def stateful_pod(owner: JsonObject, revision: JsonObject, ordinal: int) -> JsonObject:
    """Return the pod of an ordinal, by the template of a revision."""
    name = f"{owner['metadata']['name']}-{ordinal}"
    pod = pod_from(template_of(revision), owner)
    metadata = pod["metadata"]
    labels = {**(metadata.get("labels") or {}), **identity_labels(name, ordinal)}
    metadata |= {"name": name, "labels": {**labels, POD_LABEL: revision["metadata"]["name"]}}
    claims = {each["metadata"]["name"]: each for each in _claim_templates(owner)}
    volumes: list[JsonObject] = [
        {"name": claim, "persistentVolumeClaim": {"claimName": f"{claim}-{name}"}}
        for claim in claims
    ]
    spec = {**pod["spec"], "hostname": name, "subdomain": owner["spec"].get("serviceName", "")}
    volumes += [each for each in spec.get("volumes") or () if each["name"] not in claims]
    if volumes:
        spec["volumes"] = volumes
    return {**pod, "spec": spec}


def identity_labels(name: str, ordinal: int) -> dict[str, str]:
    """Return the labels by which one pod of a StatefulSet is found."""
    return {_NAME_LABEL: name, _INDEX_LABEL: str(ordinal)}


def claims_of(owner: JsonObject, pod: JsonObject) -> list[JsonObject]:
    """Return the PersistentVolumeClaims of a pod, as they are created."""
    selected = (owner["spec"].get("selector") or {}).get("matchLabels") or {}
    claims = []
    for template in _claim_templates(owner):
        metadata = template["metadata"]
        labels = {**(metadata.get("labels") or {}), **selected}
        named = f"{metadata['name']}-{pod['metadata']['name']}"
        kept = {"annotations": metadata["annotations"]} if metadata.get("annotations") else {}
        place = {"name": named, "namespace": owner["metadata"]["namespace"], "labels": labels}
        claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
        claims.append({**claim, "metadata": {**kept, **place}, "spec": template["spec"]})
    return claims


def claim_owners(owner: JsonObject, pod: JsonObject, claim: JsonObject) -> list[JsonObject]:
    """Return the owners a claim should have by the retention policy: the set, the pod, or none."""
    policy = owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    scaled_down = not _in_range(owner, ordinal_of(pod))
    ours = {("StatefulSet", owner["metadata"]["name"]), ("Pod", pod["metadata"]["name"])}
    before = claim["metadata"].get("ownerReferences") or ()
    others: list[JsonObject] = [each for each in before if (each["kind"], each["name"]) not in ours]
    goes_with_pod = policy.get("whenScaled") == "Delete" and scaled_down
    if goes_with_pod:
        return [*others, controller_reference(pod)]
    if policy.get("whenDeleted") == "Delete":
        return [*others, controller_reference(owner)]
    return others


def is_stale(owner: JsonObject, pod: JsonObject, claim: JsonObject) -> bool:
    """Return whether a claim still goes with an earlier pod of the name of a new one."""
    policy = owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    return policy.get("whenScaled") == "Delete" and any(
        (each["kind"], each["name"]) == ("Pod", pod["metadata"]["name"])
        for each in claim["metadata"].get("ownerReferences") or ()
    )


def decide_stateful_set(
    owner: JsonObject,
    pods: Sequence[JsonObject],
    current: JsonObject,
    update: JsonObject,
    now: datetime,
) -> StatefulPlan:
    """Decide which pods are made and deleted; *current* and *update* are the two revisions."""
    spec = owner["spec"]
    minimum, ordered = spec.get("minReadySeconds", 0), spec.get("podManagementPolicy") != "Parallel"
    numbers = range(_start(owner), _start(owner) + spec["replicas"])
    present = {ordinal_of(pod): pod for pod in pods}
    replicas = [present.get(n) or _new_pod(owner, current, update, n) for n in numbers]
    condemned = [present[n] for n in sorted(present, reverse=True) if n >= 0 and n not in numbers]
    plan = StatefulPlan(_status(owner, pods, current, update, now))
    if is_deleting(owner):
        return plan
    if _fill(plan, replicas, minimum, now, ordered=ordered):
        plan.settled += condemned
        unhealthy = _first_unavailable([*replicas, *reversed(condemned)], minimum, now)
        if _drain(plan, condemned, unhealthy, minimum, now, ordered=ordered):
            _replace(plan, owner, replicas, update, now)
    return plan


def _fill(
    plan: StatefulPlan, replicas: Sequence[JsonObject], minimum: int, now: datetime,
    *, ordered: bool,
) -> bool:  # fmt: skip
    """Make missing pods, in order if so wanted; return whether all are well enough to go on."""
    for pod in replicas:
        if not _exists(pod):
            plan.create.append(pod)
            if ordered:
                return False
            continue
        if has_ended(pod):
            plan.delete += [] if is_deleting(pod) else [pod]
            if ordered:
                return False
            continue
        if ordered and (is_deleting(pod) or not _is_well(pod, minimum, now)):
            return False
        wanted = identity_labels(pod["metadata"]["name"], ordinal_of(pod))
        labels = pod["metadata"].get("labels") or {}
        if labels.get(_NAME_LABEL) != wanted[_NAME_LABEL]:
            plan.relabel.append(pod)
        plan.settled.append(pod)
    return True


def _drain(
    plan: StatefulPlan, condemned: Sequence[JsonObject], unhealthy: JsonObject | None,
    minimum: int, now: datetime, *, ordered: bool,
) -> bool:  # fmt: skip
    """Delete pods beyond the size, the last first; return whether the pass may go on."""
    for pod in condemned:
        if is_deleting(pod):
            if ordered:
                return False
            continue
        if ordered and pod is not unhealthy and not _is_well(pod, minimum, now):
            return False
        plan.delete.append(pod)
        if ordered:
            return False
    return True


def _replace(
    plan: StatefulPlan, owner: JsonObject, replicas: Sequence[JsonObject], update: JsonObject,
    now: datetime,
) -> None:  # fmt: skip
    """Delete the last pod of another revision, if all behind it are available."""
    strategy = owner["spec"].get("updateStrategy") or {}
    if strategy.get("type") == "OnDelete":
        return
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    minimum, name = owner["spec"].get("minReadySeconds", 0), update["metadata"]["name"]
    for pod in reversed(replicas[partition:]):
        if revision_name(pod) != name and not is_deleting(pod):
            plan.delete.append(pod)
            return
        if is_deleting(pod) or not is_available(pod, minimum, now):
            return


def revision_name(pod: JsonObject) -> str:
    """Return the name of the revision that a pod was made from."""
    name: str = (pod["metadata"].get("labels") or {}).get(POD_LABEL, "")
    return name


def _new_pod(
    owner: JsonObject, current: JsonObject, update: JsonObject, ordinal: int
) -> JsonObject:
    strategy = owner["spec"].get("updateStrategy") or {}
    partition = (strategy.get("rollingUpdate") or {}).get("partition") or 0
    revision = current if ordinal < _start(owner) + partition else update
    return stateful_pod(owner, revision, ordinal)


def _status(
    owner: JsonObject, pods: Iterable[JsonObject], current: JsonObject, update: JsonObject,
    now: datetime,
) -> JsonObject:  # fmt: skip
    spec, every = owner["spec"], [pod for pod in pods if phase_of(pod)]
    staying = [revision_name(pod) for pod in every if not is_deleting(pod)]
    ready = [pod for pod in every if phase_of(pod) == "Running" and is_ready(pod)]
    minimum = spec.get("minReadySeconds", 0)
    names = (current["metadata"]["name"], update["metadata"]["name"])
    counts = {
        "readyReplicas": len(ready),
        "currentReplicas": staying.count(names[0]),
        "updatedReplicas": staying.count(names[1]),
    }
    rolling = (spec.get("updateStrategy") or {}).get("type") == "RollingUpdate"
    sizes = {len(every), len(ready), counts["updatedReplicas"]}
    if rolling and sizes == {spec["replicas"]}:
        names = (names[1], names[1])
        counts["currentReplicas"] = counts["updatedReplicas"]
    return {
        "observedGeneration": owner["metadata"]["generation"],
        "replicas": len(every),
        **{name: count for name, count in counts.items() if count},
        "availableReplicas": sum(is_available(pod, minimum, now) for pod in ready),
        "currentRevision": names[0],
        "updateRevision": names[1],
    }


def _first_unavailable(
    pods: Iterable[JsonObject], minimum: int, now: datetime
) -> JsonObject | None:
    return next(
        (pod for pod in pods if is_deleting(pod) or not is_available(pod, minimum, now)), None
    )


def _is_well(pod: JsonObject, minimum: int, now: datetime) -> bool:
    return phase_of(pod) == "Running" and is_available(pod, minimum, now)


def _exists(pod: JsonObject) -> bool:
    return "uid" in pod["metadata"]


def _start(owner: JsonObject) -> int:
    start: int = (owner["spec"].get("ordinals") or {}).get("start") or 0
    return start


def _in_range(owner: JsonObject, ordinal: int) -> bool:
    return _start(owner) <= ordinal < _start(owner) + int(owner["spec"]["replicas"])


def _claim_templates(owner: JsonObject) -> list[JsonObject]:
    return owner["spec"].get("volumeClaimTemplates") or []
