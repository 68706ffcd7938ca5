"""The controller of DaemonSets: one pod on every node that should have one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from certwright.kube import ApiError, JsonObject, Key
from certwright.kube.kinds import ControllerRevision, DaemonSet, Node, Pod
from certwright.runtime import (
    DONE,
    Channel,
    Context,
    Controller,
    Outcome,
    again,
    allow,
    select,
)
from certwright.testkit.workloads.adoption import claim
from certwright.testkit.workloads.deployment.rollout import scaled_value
from certwright.testkit.workloads.placement import bound_to, daemon_spec, node_named_by, place
from certwright.testkit.workloads.podstate import (
    has_ended,
    is_available,
    is_deleting,
    is_ready,
    next_availability,
)
from certwright.testkit.workloads.revisions import POD_LABEL, RevisionState, sync_revisions
from certwright.testkit.workloads.templates import pod_from

_GENERATION: Final = "deprecated.daemonset.template.generation"
_GENERATION_LABEL: Final = "pod-template-generation"


@dataclass(slots=True)
class DaemonPlan:
    """What one pass of a DaemonSet does."""

    create: list[str]
    """The nodes that get a pod."""
    delete: list[JsonObject]


def daemon_set_controller(namespace: str, channel: Channel) -> Controller:
    """Return the controller of DaemonSets, of one namespace or all."""
    return Controller(
        select(DaemonSet, namespace=namespace),
        _reconcile,
        name="daemonset-controller",
        owns=[select(Pod, namespace=namespace), select(ControllerRevision, namespace=namespace)],
        reads=[Node],
        channels=[channel],
        rbac=[allow(ControllerRevision, "get")],
        conditions=(),
    )


def node_watcher(namespace: str, channel: Channel) -> Controller:
    """Return the controller that wakes all DaemonSets when a node changes."""

    async def reconcile(ctx: Context, _: Key) -> Outcome:
        for entry in ctx.store(DaemonSet).items():
            channel.send(entry.key)
        return DONE

    reads = [select(DaemonSet, namespace=namespace)]
    return Controller(Node, reconcile, name="daemonset-nodes", reads=reads, conditions=())


async def _reconcile(ctx: Context, key: Key) -> Outcome:
    owner = ctx.get(DaemonSet, key)
    if owner is None or is_deleting(owner):
        return DONE
    revisions = await sync_revisions(ctx, owner, POD_LABEL)
    digest: str = revisions.present["metadata"]["labels"][POD_LABEL]
    pods = await claim(ctx, Pod, owner)
    nodes, now = ctx.list(Node), ctx.clock.now()
    plan = decide_daemon_set(owner, nodes, pods, digest, now)
    try:
        await _act(ctx, owner, plan, digest)
    finally:
        status = daemon_set_status(owner, nodes, pods, digest, now)
        if revisions.collisions:
            status["collisionCount"] = revisions.collisions
        await ctx.status(owner, status)
    for revision in _obsolete(owner, revisions, pods):
        await ctx.delete(revision)
    after = next_availability(pods, owner["spec"].get("minReadySeconds", 0), now)
    return again(after) if after else DONE


async def _act(ctx: Context, owner: JsonObject, plan: DaemonPlan, digest: str) -> None:
    for node in plan.create:
        try:
            created = await ctx.create(daemon_pod(owner, node, digest), owner=owner)
        except ApiError as error:
            ctx.event(owner, "Warning", "FailedCreate", f"Error creating: {error}")
            raise
        note = f"Created pod: {created['metadata']['name']}"
        ctx.event(owner, "Normal", "SuccessfulCreate", note)
    for pod in plan.delete:
        await ctx.delete(pod)
        note = f"Deleted pod: {pod['metadata']['name']}"
        ctx.event(owner, "Normal", "SuccessfulDelete", note)


def daemon_pod(owner: JsonObject, node: str, digest: str) -> JsonObject:
    """Return the pod of a DaemonSet for a node."""
    pod = pod_from(owner["spec"]["template"], owner)
    labels = {**(pod["metadata"].get("labels") or {}), POD_LABEL: digest}
    if generation := (owner["metadata"].get("annotations") or {}).get(_GENERATION):
        labels[_GENERATION_LABEL] = generation
    metadata = {**pod["metadata"], "labels": labels}
    return {**pod, "metadata": metadata, "spec": bound_to(daemon_spec(pod["spec"]), node)}


def decide_daemon_set(
    owner: JsonObject,
    nodes: Iterable[JsonObject],
    pods: Iterable[JsonObject],
    digest: str,
    now: datetime,
) -> DaemonPlan:
    """Decide which nodes get a pod and which pods go; *digest* is that of the present template."""
    by_node = _by_node(pods)
    spec = daemon_spec(owner["spec"]["template"].get("spec") or {})
    known = {node["metadata"]["name"]: node for node in nodes}
    surge = _limit(owner, "maxSurge", 1)
    create: list[str] = []
    delete: list[JsonObject] = []
    for name, node in known.items():
        where, present = place(spec, node), by_node.get(name)
        if where.runs and not present:
            create.append(name)
        elif where.stays and present:
            staying = [pod for pod in present if not is_deleting(pod) and not has_ended(pod)]
            delete += [pod for pod in present if not is_deleting(pod) and has_ended(pod)]
            if surge:
                create += [name] if not staying and where.runs else []
                delete += _surplus_of_surge(owner, staying, digest, now)
            else:
                delete += staying[1:]
        elif present:
            delete += [pod for pod in present if not is_deleting(pod)]
    for name, present in by_node.items():
        if name not in known:
            delete += [pod for pod in present if not pod["spec"].get("nodeName")]
    rolling = (owner["spec"].get("updateStrategy") or {}).get("type") == "RollingUpdate"
    if rolling and not create and not delete:
        wanted = sum(place(spec, node).runs for node in known.values())
        return _roll(owner, known, by_node, spec, digest, wanted, now)
    return DaemonPlan(create, delete)


def _surplus_of_surge(
    owner: JsonObject, staying: Sequence[JsonObject], digest: str, now: datetime
) -> list[JsonObject]:
    """Return the pods that are too many where an old and a new one may run side by side."""
    new = [pod for pod in staying if _is_updated(owner, pod, digest)]
    old = [pod for pod in staying if not _is_updated(owner, pod, digest)]
    surplus = [*new[1:], *old[1:]]
    if new and old:
        minimum = owner["spec"].get("minReadySeconds", 0)
        if not is_ready(old[0]) or is_available(new[0], minimum, now):
            surplus.append(old[0])
    return surplus


def _roll(
    owner: JsonObject, nodes: Mapping[str, JsonObject], by_node: Mapping[str, list[JsonObject]],
    spec: JsonObject, digest: str, wanted: int, now: datetime,
) -> DaemonPlan:  # fmt: skip
    """Replace pods of another template: those that are not available, and as many as may be."""
    minimum = owner["spec"].get("minReadySeconds", 0)
    surge, unavailable = _limit(owner, "maxSurge", wanted), _limit(owner, "maxUnavailable", wanted)
    if not surge and not unavailable:
        unavailable = 1
    busy = 0
    at_once: list[tuple[str, JsonObject]] = []
    candidates: list[tuple[str, JsonObject]] = []
    for name, present in by_node.items():
        staying = [pod for pod in present if not is_deleting(pod)]
        new = [pod for pod in staying if _is_updated(owner, pod, digest)]
        old = [pod for pod in staying if not _is_updated(owner, pod, digest)]
        if new or not old:
            waits = not new or any(not is_available(pod, minimum, now) for pod in new)
            busy += waits and (not surge or bool(new and old))
        elif is_available(old[0], minimum, now):
            candidates.append((name, old[0]))
        else:
            at_once.append((name, old[0]))
            busy += not surge
    allowed = max((surge or unavailable) - busy, 0)
    chosen = [*at_once, *candidates[:allowed]]
    if surge:
        runs = [name for name, _ in chosen if name in nodes and place(spec, nodes[name]).runs]
        return DaemonPlan(runs, [])
    return DaemonPlan([], [pod for _, pod in chosen])


def daemon_set_status(
    owner: JsonObject,
    nodes: Iterable[JsonObject],
    pods: Iterable[JsonObject],
    digest: str,
    now: datetime,
) -> JsonObject:
    """Return the status by the pods that were there before the pass changed their number."""
    by_node, spec = _by_node(pods), daemon_spec(owner["spec"]["template"].get("spec") or {})
    minimum = owner["spec"].get("minReadySeconds", 0)
    desired = misplaced = 0
    first: list[JsonObject] = []
    for node in nodes:
        present = by_node.get(node["metadata"]["name"])
        if place(spec, node).runs:
            desired += 1
            first += present[:1] if present else []
        else:
            misplaced += bool(present)
    available = sum(is_available(pod, minimum, now) for pod in first)
    counts = {
        "updatedNumberScheduled": sum(_is_updated(owner, pod, digest) for pod in first),
        "numberAvailable": available,
        "numberUnavailable": desired - available,
    }
    return {
        "currentNumberScheduled": len(first),
        "numberMisscheduled": misplaced,
        "desiredNumberScheduled": desired,
        "numberReady": sum(map(is_ready, first)),
        "observedGeneration": owner["metadata"]["generation"],
        **{name: count for name, count in counts.items() if count},
    }


def _by_node(pods: Iterable[JsonObject]) -> dict[str, list[JsonObject]]:
    """Return the pods of each node, those that run there and older ones first."""
    grouped: dict[str, list[JsonObject]] = {}
    for pod in pods:
        if not (is_deleting(pod) and has_ended(pod)):
            grouped.setdefault(node_named_by(pod), []).append(pod)
    for present in grouped.values():
        present.sort(key=_age)
    return grouped


def _age(pod: JsonObject) -> tuple[bool, str, str]:
    metadata = pod["metadata"]
    unbound = not pod["spec"].get("nodeName")
    return unbound, metadata.get("creationTimestamp", ""), metadata["name"]


def _is_updated(owner: JsonObject, pod: JsonObject, digest: str) -> bool:
    """Return whether a pod is of the present template: by its hash, or by its generation.

    Generations begin anew with a DaemonSet that adopts pods, so the second can be wrong; it is
    what Kubernetes does.
    """
    labels = pod["metadata"].get("labels") or {}
    generation = (owner["metadata"].get("annotations") or {}).get(_GENERATION)
    by_generation = generation is not None and labels.get(_GENERATION_LABEL) == generation
    return bool(labels.get(POD_LABEL) == digest or by_generation)


def _limit(owner: JsonObject, name: str, total: int) -> int:
    rolling = (owner["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return scaled_value(rolling.get(name, 0), total, up=True)


def _obsolete(
    owner: JsonObject, revisions: RevisionState, pods: Iterable[JsonObject]
) -> list[JsonObject]:
    """Return the old revisions beyond the limit of which no pod is left."""
    present = revisions.present["metadata"]["name"]
    old = [each for each in revisions.every if each["metadata"]["name"] != present]
    live = {(pod["metadata"].get("labels") or {}).get(POD_LABEL) for pod in pods}
    unused = [each for each in old if each["metadata"]["labels"].get(POD_LABEL) not in live]
    return unused[: max(len(old) - int(owner["spec"].get("revisionHistoryLimit", 10)), 0)]
