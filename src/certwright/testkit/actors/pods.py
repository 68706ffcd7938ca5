"""Pods without a node to run on: bound, started, ready, ended and deleted as a kubelet would say.

A controller plays them: it writes their status and starts nothing. How long things take, and what
fails, is said in the annotation of a pod, or of the workload it belongs to, see `PodPlay.parse`::

    metadata:
      annotations:
        testkit.certwright.dev/workload: start=5,ready=2     # or: fail, hang, pull=error …

Another node object or a real kubelet makes it superfluous: do not use it beside one.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

from certwright.kube import (
    AlreadyExists,
    Conflict,
    JsonObject,
    Key,
    NotFound,
    Resource,
    format_time,
    key_of,
)
from certwright.kube.kinds import DaemonSet, Deployment, Job, Node, Pod, ReplicaSet, StatefulSet
from certwright.runtime import (
    DONE,
    Channel,
    Context,
    Controller,
    Outcome,
    again,
    allow,
    annotations_changed,
    select,
)
from certwright.testkit.actors.podplay import NEVER, PodPlay, played_status, until_stopped
from certwright.testkit.workloads.placement import node_named_by
from certwright.testkit.workloads.podstate import has_ended, is_deleting

ANNOTATION: Final = "testkit.certwright.dev/workload"
NODE: Final = "played"
"""The node that pods are bound to; made if it does not exist."""
_WORKLOADS: Final = (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job)
_KINDS: Final = {kind.kind: kind for kind in _WORKLOADS}
_DEEPEST: Final = 4
_NOT_READY: Final = "node.kubernetes.io/not-ready"


def played_node(namespace: str = "") -> list[Controller]:
    """Return the controllers that play pods, of one namespace or all, on a node made for them."""
    channel = Channel()
    pods = Controller(
        select(Pod, namespace=namespace),
        _play,
        name="played-kubelet",
        reads=[*(select(kind, namespace=namespace) for kind in _WORKLOADS), Node],
        channels=[channel],
        rbac=[allow(Pod, "create", subresource="binding"), allow(Pod, "delete")],
        conditions=(),
    )
    wakers = [_annotation_watcher(kind, namespace, channel) for kind in _WORKLOADS]
    return [_node_controller(), pods, *wakers]


def _node_controller() -> Controller:
    return Controller(
        Node,
        _make_node,
        name="played-node",
        sources=[_once],
        rbac=[allow(Node, "create")],
        conditions=(),
    )


async def _once(_: Context) -> AsyncIterator[Key]:
    yield Key("", NODE)


async def _make_node(ctx: Context, key: Key) -> Outcome:
    if key.name != NODE:
        return DONE
    node = ctx.get(Node, key)
    if node is None:
        try:
            node = await ctx.create(_node_manifest())
        except AlreadyExists:
            return DONE
    await ctx.status(node, node_status(node, format_time(ctx.clock.now())))
    taints = (node.get("spec") or {}).get("taints") or []
    kept = [taint for taint in taints if taint["key"] != _NOT_READY]
    if kept != taints:  # the server gives it to new nodes, and no other controller takes it away
        await ctx.patch(node, {"spec": {"taints": kept or None}})
    return DONE


def _node_manifest() -> JsonObject:
    labels = {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux"}
    metadata = {"name": NODE, "labels": labels}
    return {"apiVersion": Node.api_version, "kind": Node.kind, "metadata": metadata, "spec": {}}


def node_status(node: JsonObject, instant: str) -> JsonObject:
    """Return the status of a node that is ready; once it has one, it stays."""
    before: JsonObject = node.get("status") or {}
    if before.get("conditions"):
        return before
    room = {"cpu": "64", "memory": "256Gi", "pods": "1000"}
    ready = {
        "type": "Ready",
        "status": "True",
        "lastHeartbeatTime": instant,
        "lastTransitionTime": instant,
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
    }
    addresses = [
        {"type": "InternalIP", "address": "127.0.0.1"},
        {"type": "Hostname", "address": NODE},
    ]
    return {
        **before,
        "capacity": room,
        "allocatable": room,
        "conditions": [ready],
        "addresses": addresses,
    }


async def _play(ctx: Context, key: Key) -> Outcome:
    pod = ctx.get(Pod, key)
    if pod is None:
        return DONE
    play = PodPlay.parse(_annotation(ctx, pod))
    if is_deleting(pod):
        return await _stop(ctx, pod, play)
    if not pod["spec"].get("nodeName"):
        await _bind(ctx, pod)
        return DONE  # the binding leads here again
    if has_ended(pod):
        return DONE
    played = played_status(pod, play, ctx.clock.now())
    await ctx.status(pod, played.status)
    return again(played.after) if played.after is not None else DONE


async def _bind(ctx: Context, pod: JsonObject) -> None:
    target = {"apiVersion": "v1", "kind": "Node", "name": node_named_by(pod) or NODE}
    binding = {"apiVersion": "v1", "kind": "Binding", "target": target}
    key = key_of(pod)
    named = {**binding, "metadata": {"name": key.name, "namespace": key.namespace}}
    with suppress(Conflict, NotFound):  # bound already, or gone
        await ctx.client.create_subresource(Pod, key, "binding", named)


async def _stop(ctx: Context, pod: JsonObject, play: PodPlay) -> Outcome:
    """Delete a pod for good, as a kubelet does when its containers have stopped."""
    if pod["spec"].get("nodeName"):
        left = until_stopped(pod, play, ctx.clock.now())
        if left > 0:
            return again(left) if left < NEVER else DONE
    if not pod["metadata"].get("deletionGracePeriodSeconds"):
        return DONE  # only finalizers hold it
    with suppress(NotFound, Conflict):
        await ctx.client.delete(Pod, key_of(pod), uid=pod["metadata"]["uid"], grace_seconds=0)
    return DONE


def _annotation(ctx: Context, obj: JsonObject) -> str:
    """Return the annotation of an object, or of the first of its controllers that has it."""
    seen = 0
    while seen < _DEEPEST:
        if text := (obj["metadata"].get("annotations") or {}).get(ANNOTATION):
            return str(text)
        owners = obj["metadata"].get("ownerReferences") or ()
        owner: JsonObject = next((each for each in owners if each.get("controller")), {})
        kind = _KINDS.get(owner.get("kind", ""))
        found = ctx.get(kind, Key(obj["metadata"]["namespace"], owner["name"])) if kind else None
        if found is None:
            return ""
        obj = found
        seen += 1
    return ""


def _annotation_watcher(kind: Resource, namespace: str, channel: Channel) -> Controller:
    """Return the controller that wakes the pods of a workload whose annotation changed."""

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        workload = ctx.get(kind, key)
        for owned in _pods_below(ctx, workload) if workload else ():
            channel.send(owned)
        return DONE

    return Controller(
        select(kind, namespace=namespace),
        reconcile,
        name=f"played-{kind.plural}",
        reads=[select(Pod, namespace=namespace), select(ReplicaSet, namespace=namespace)],
        predicate=annotations_changed,
        conditions=(),
    )


def _pods_below(ctx: Context, workload: JsonObject) -> list[Key]:
    uid = workload["metadata"]["uid"]
    owners = [uid, *(entry.uid for entry in ctx.store(ReplicaSet).by_owner(uid))]
    return [entry.key for owner in owners for entry in ctx.store(Pod).by_owner(owner)]
