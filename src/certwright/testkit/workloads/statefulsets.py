"""The controller of StatefulSets: pods with names and claims of their own, in order."""

from typing import Final

from certwright.kube import AlreadyExists, ApiError, JsonObject, Key, key_of
from certwright.kube.kinds import ControllerRevision, PersistentVolumeClaim, Pod, StatefulSet
from certwright.runtime import (
    DONE,
    Channel,
    Context,
    Controller,
    Outcome,
    RequeueAfter,
    again,
    allow,
    select,
)
from certwright.testkit.workloads.adoption import claim
from certwright.testkit.workloads.podstate import is_deleting, next_availability
from certwright.testkit.workloads.revisions import obsolete_revisions, sync_revisions
from certwright.testkit.workloads.statefulpods import (
    StatefulPlan,
    claim_owners,
    claims_of,
    decide_stateful_set,
    identity_labels,
    is_member,
    is_stale,
    ordinal_of,
    revision_name,
)

_STALE_SECONDS: Final = 1.0


def stateful_set_controller(namespace: str, channel: Channel) -> Controller:
    """Return the controller of StatefulSets, of one namespace or all."""
    claims = select(PersistentVolumeClaim, namespace=namespace)
    return Controller(
        select(StatefulSet, namespace=namespace),
        _reconcile,
        name="statefulset-controller",
        owns=[select(Pod, namespace=namespace), select(ControllerRevision, namespace=namespace)],
        reads=[claims],
        channels=[channel],
        rbac=[allow(PersistentVolumeClaim, "create", "patch"), allow(ControllerRevision, "get")],
        conditions=(),
    )


async def _reconcile(ctx: Context, key: Key) -> Outcome:
    owner = ctx.get(StatefulSet, key)
    if owner is None:
        return DONE
    revisions = await sync_revisions(ctx, owner)
    named = (owner.get("status") or {}).get("currentRevision", "")
    current = revisions.named(named) or revisions.present
    pods = await claim(ctx, Pod, owner, lambda pod: is_member(owner, pod))
    now = ctx.clock.now()
    plan = decide_stateful_set(owner, pods, current, revisions.present, now)
    status = {**plan.status, "collisionCount": revisions.collisions}
    try:
        await _act(ctx, owner, plan)
    finally:
        await ctx.status(owner, status)
    live = {revision_name(pod) for pod in pods} | {current["metadata"]["name"]}
    limit: int = owner["spec"].get("revisionHistoryLimit", 10)
    for revision in obsolete_revisions(revisions, live, limit):
        await ctx.delete(revision)
    after = next_availability(pods, owner["spec"].get("minReadySeconds", 0), now)
    return again(after) if after else DONE


async def _act(ctx: Context, owner: JsonObject, plan: StatefulPlan) -> None:
    waiting = [pod for pod in plan.create if _waits_for_claims(ctx, owner, pod)]
    for pod in plan.create:
        if pod not in waiting:
            await _create(ctx, owner, pod)
    for pod in plan.relabel:
        labels = identity_labels(pod["metadata"]["name"], ordinal_of(pod))
        await ctx.patch(pod, {"metadata": {"labels": labels}})
    for pod in plan.settled:
        await _own_claims(ctx, owner, pod)
    for pod in plan.delete:
        await ctx.delete(pod)
        _tell(ctx, owner, "delete", pod)
    if waiting:
        names = ", ".join(pod["metadata"]["name"] for pod in waiting)
        raise RequeueAfter(f"claims of {names} are about to be deleted", after=_STALE_SECONDS)


def _waits_for_claims(ctx: Context, owner: JsonObject, pod: JsonObject) -> bool:
    found = [ctx.get(PersistentVolumeClaim, key_of(wanted)) for wanted in claims_of(owner, pod)]
    return any(claim is not None and is_stale(owner, pod, claim) for claim in found)


async def _create(ctx: Context, owner: JsonObject, pod: JsonObject) -> None:
    name, set_name = pod["metadata"]["name"], owner["metadata"]["name"]
    for wanted in claims_of(owner, pod):
        if ctx.get(PersistentVolumeClaim, key_of(wanted)) is None:
            await _create_claim(ctx, owner, wanted, name)
    try:
        created = await ctx.create(pod, owner=owner)
    except AlreadyExists:
        raise
    except ApiError as error:
        note = f"create Pod {name} in StatefulSet {set_name} failed error: {error}"
        ctx.event(owner, "Warning", "FailedCreate", note)
        raise
    await _own_claims(ctx, owner, created)
    _tell(ctx, owner, "create", pod)


async def _create_claim(ctx: Context, owner: JsonObject, wanted: JsonObject, pod: str) -> None:
    try:
        await ctx.create(wanted)
    except AlreadyExists:
        return
    name = f"{wanted['metadata']['name']} Pod {pod} in StatefulSet {owner['metadata']['name']}"
    ctx.event(owner, "Normal", "SuccessfulCreate", f"create Claim {name} success")


async def _own_claims(ctx: Context, owner: JsonObject, pod: JsonObject) -> None:
    for wanted in claims_of(owner, pod):
        found = ctx.get(PersistentVolumeClaim, key_of(wanted))
        if found is None or is_deleting(found):
            continue
        owners = claim_owners(owner, pod, found)
        if owners != (found["metadata"].get("ownerReferences") or []):
            await ctx.patch(found, {"metadata": {"ownerReferences": owners or None}})


def _tell(ctx: Context, owner: JsonObject, verb: str, pod: JsonObject) -> None:
    name = f"{pod['metadata']['name']} in StatefulSet {owner['metadata']['name']}"
    note = f"{verb} Pod {name} successful"
    ctx.event(owner, "Normal", f"Successful{verb.capitalize()}", note)
