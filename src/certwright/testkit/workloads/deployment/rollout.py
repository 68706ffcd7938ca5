"""What a Deployment does with its ReplicaSets: which one is new, and how large each should be.

Sizes are decided on `Revision` values, which are changed in the course of a decision and compared
with what was read at its end. Nothing here writes or waits.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.kube import JsonObject
from certwright.testkit.workloads.templates import (
    HASH_LABEL,
    child_name,
    safe_digest,
    same_template,
)

REVISION: Final = "deployment.kubernetes.io/revision"
HISTORY: Final = "deployment.kubernetes.io/revision-history"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MOST: Final = "deployment.kubernetes.io/max-replicas"
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_NOT_COPIED: Final = frozenset(
    {_LAST_APPLIED, REVISION, HISTORY, DESIRED, MOST, "deprecated.deployment.rollback.to"}
)
_LONGEST_HISTORY: Final = 2000
NO_LIMIT: Final = 2**31 - 1
"""What progressDeadlineSeconds and revisionHistoryLimit are if there is none."""


@dataclass(eq=False, slots=True)
class Revision:
    """A ReplicaSet of a Deployment, as it should become."""

    obj: JsonObject
    """As read, or as it is to be created."""
    replicas: int
    annotations: dict[str, str]
    min_ready_seconds: int
    exists: bool = True

    @classmethod
    def of(cls, replica_set: JsonObject) -> "Revision":
        """Return a ReplicaSet that was read."""
        metadata, spec = replica_set["metadata"], replica_set["spec"]
        return cls(
            replica_set,
            spec.get("replicas", 1),
            dict(metadata.get("annotations") or {}),
            spec.get("minReadySeconds", 0),
        )

    @property
    def name(self) -> str:
        """The name of the ReplicaSet."""
        name: str = self.obj["metadata"]["name"]
        return name

    @property
    def age_order(self) -> tuple[str, str]:
        """What ReplicaSets are sorted by, oldest first."""
        return self.obj["metadata"].get("creationTimestamp", "~"), self.name

    def count(self, field: str) -> int:
        """Return a number of its status."""
        number: int = (self.obj.get("status") or {}).get(field) or 0
        return number

    @property
    def was(self) -> int:
        """The size that was read."""
        size: int = self.obj["spec"].get("replicas", 1)
        return size if self.exists else 0

    def patch(self) -> JsonObject | None:
        """Return the change to write; None if there is none."""
        annotations = self.obj["metadata"].get("annotations") or {}
        spec: JsonObject = {}
        if self.replicas != self.was:
            spec["replicas"] = self.replicas
        if self.min_ready_seconds != self.obj["spec"].get("minReadySeconds", 0):
            spec["minReadySeconds"] = self.min_ready_seconds
        changed = {k: v for k, v in self.annotations.items() if annotations.get(k) != v}
        patch: JsonObject = {"metadata": {"annotations": changed}} if changed else {}
        return patch | ({"spec": spec} if spec else {}) or None


def scaled_value(value: int | str, total: int, *, up: bool) -> int:
    """Return a number, or the number that a percentage of *total* is."""
    if isinstance(value, int):
        return value
    exact = int(value.removesuffix("%")) * total / 100
    return math.ceil(exact) if up else math.floor(exact)


def limits(deployment: JsonObject) -> tuple[int, int]:
    """Return how many pods a rollout may add, and how many may be unavailable."""
    spec = deployment["spec"]
    strategy, replicas = spec.get("strategy") or {}, spec["replicas"]
    if strategy.get("type") != "RollingUpdate":
        return 0, 0
    rolling = strategy.get("rollingUpdate") or {}
    surge = scaled_value(rolling.get("maxSurge", 0), replicas, up=True)
    unavailable = scaled_value(rolling.get("maxUnavailable", 0), replicas, up=False)
    if not surge and not unavailable:
        unavailable = 1  # both round to zero: otherwise nothing could ever move
    return surge, min(unavailable, replicas)


def split(
    deployment: JsonObject, replica_sets: Iterable[JsonObject]
) -> tuple[Revision | None, list[Revision]]:
    """Return the ReplicaSet of the present template, if it exists, and the others, oldest first."""
    every = sorted(map(Revision.of, replica_sets), key=lambda each: each.age_order)
    template = deployment["spec"]["template"]
    new = next((r for r in every if same_template(r.obj["spec"]["template"], template)), None)
    return new, [each for each in every if each is not new]


def revision_number(revision: Revision) -> int:
    """Return the number in the revision annotation; 0 without one."""
    text = revision.annotations.get(REVISION, "")
    return int(text) if text.lstrip("-").isdecimal() else 0


def new_revision(deployment: JsonObject, old: Sequence[Revision]) -> Revision:
    """Return the ReplicaSet to create for the present template, with its size."""
    metadata, spec = deployment["metadata"], deployment["spec"]
    collisions = (deployment.get("status") or {}).get("collisionCount")
    digest = safe_digest(spec["template"], collisions)
    given = spec["template"].get("metadata") or {}
    labels = {**(given.get("labels") or {}), HASH_LABEL: digest}
    selector = spec["selector"]
    matched = {**(selector.get("matchLabels") or {}), HASH_LABEL: digest}
    template = {**spec["template"], "metadata": {**given, "labels": labels}}
    minimum = spec.get("minReadySeconds", 0)
    obj: JsonObject = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": child_name(metadata["name"], digest),
            "namespace": metadata["namespace"],
            "labels": labels,
        },
        "spec": {
            "minReadySeconds": minimum,
            "selector": {**selector, "matchLabels": matched},
            "template": template,
        },
    }
    created = Revision(obj, 0, {}, minimum, exists=False)
    created.replicas = _room(deployment, old, created)
    sync_annotations(deployment, created, old)
    _note_sizes(deployment, created)
    return created


def sync_annotations(deployment: JsonObject, new: Revision, old: Sequence[Revision]) -> None:
    """Give the new ReplicaSet the Deployment's annotations, and the highest revision."""
    own = deployment["metadata"].get("annotations") or {}
    new.annotations |= {k: v for k, v in own.items() if k not in _NOT_COPIED}
    new.min_ready_seconds = deployment["spec"].get("minReadySeconds", 0)
    before, number = new.annotations.get(REVISION), max(map(revision_number, old), default=0) + 1
    if revision_number(new) >= number:
        return
    new.annotations[REVISION] = str(number)
    if before:  # rolled back to
        history = [each for each in new.annotations.get(HISTORY, "").split(",") if each]
        history.append(before)
        while len(",".join(history)) > _LONGEST_HISTORY:
            del history[0]
        new.annotations[HISTORY] = ",".join(history)


def is_scaling(deployment: JsonObject, revisions: Iterable[Revision]) -> bool:
    """Return whether the wanted size changed since the ReplicaSets were last sized."""
    wanted = deployment["spec"]["replicas"]
    noted = (_annotated(each, DESIRED) for each in revisions if each.replicas)
    return any(number is not None and number != wanted for number in noted)


def scale(deployment: JsonObject, new: Revision | None, old: Sequence[Revision]) -> None:
    """Size ReplicaSets after the Deployment's size changed, or while it is paused."""
    wanted: int = deployment["spec"]["replicas"]
    every = [*reversed(old), *([new] if new else [])]
    active = [each for each in every if each.replicas > 0]
    if len(active) <= 1:
        chosen = active[0] if active else new or next(iter(every), None)
        if chosen is not None:
            _resize(deployment, chosen, wanted)
    elif new is not None and _is_saturated(deployment, new):
        for each in active:
            if each is not new:
                _resize(deployment, each, 0)
    elif _is_rolling(deployment):
        _scale_proportionally(deployment, active)


def roll(deployment: JsonObject, new: Revision, old: Sequence[Revision]) -> None:
    """Make one step of a rolling update: grow the new ReplicaSet, or shrink old ones."""
    wanted: int = deployment["spec"]["replicas"]
    if new.replicas != wanted:
        size = wanted if new.replicas > wanted else _room(deployment, old, new)
        if size != new.replicas:
            _resize(deployment, new, size)
            return
    if new.exists:
        _shrink_old(deployment, new, [each for each in old if each.replicas > 0])


def recreate(deployment: JsonObject, old: Sequence[Revision]) -> bool:
    """Shrink all old ReplicaSets to nothing; return whether any was larger."""
    active = [each for each in old if each.replicas > 0]
    for each in active:
        _resize(deployment, each, 0)
    return bool(active)


def grow(deployment: JsonObject, new: Revision) -> None:
    """Give the new ReplicaSet the whole size."""
    _resize(deployment, new, deployment["spec"]["replicas"])


def obsolete(deployment: JsonObject, old: Sequence[Revision]) -> list[JsonObject]:
    """Return the old ReplicaSets beyond the history limit that can be deleted."""
    limit: int = deployment["spec"].get("revisionHistoryLimit", NO_LIMIT)
    alive = [each for each in old if "deletionTimestamp" not in each.obj["metadata"]]
    alive.sort(key=lambda each: (revision_number(each), each.age_order))
    return [
        each.obj
        for each in alive[: max(len(alive) - limit, 0)]
        if not each.replicas
        and not each.count("replicas")
        and each.obj["metadata"]["generation"] <= each.count("observedGeneration")
    ]


def _shrink_old(deployment: JsonObject, new: Revision, old: Sequence[Revision]) -> None:
    wanted: int = deployment["spec"]["replicas"]
    enough = wanted - limits(deployment)[1]
    every = [*old, new]
    spare = (
        sum(each.replicas for each in every)
        - enough
        - (new.replicas - new.count("availableReplicas"))
    )
    if not old or spare <= 0:
        return
    for each in old:  # those that are not available are not missed
        unhealthy = each.replicas - each.count("availableReplicas")
        less = min(spare, unhealthy)
        if less > 0:
            spare -= less
            _resize(deployment, each, each.replicas - less)
    spare = sum(each.count("availableReplicas") for each in every) - enough
    for each in old:
        less = min(spare, each.replicas)
        if less > 0:
            spare -= less
            _resize(deployment, each, each.replicas - less)


def _scale_proportionally(deployment: JsonObject, active: list[Revision]) -> None:
    wanted: int = deployment["spec"]["replicas"]
    allowed = wanted + limits(deployment)[0] if wanted else 0
    more = allowed - sum(each.replicas for each in active)
    active.sort(key=lambda each: each.age_order, reverse=more > 0)
    active.sort(key=lambda each: -each.replicas)
    added = 0
    sizes = []
    for each in active:
        share = _share(deployment, each, more, added)
        sizes.append(each.replicas + share)
        added += share
    if more:
        sizes[0] = max(sizes[0] + more - added, 0)
    for each, size in zip(active, sizes, strict=True):
        _resize(deployment, each, size, always=True)


def _share(deployment: JsonObject, revision: Revision, more: int, added: int) -> int:
    if not more or more == added:
        return 0
    wanted: int = deployment["spec"]["replicas"]
    if not wanted:
        fraction = -revision.replicas
    else:
        before = _annotated(revision, MOST) or (deployment.get("status") or {}).get("replicas") or 0
        largest = wanted + limits(deployment)[0]
        exact = revision.replicas * largest / before if before else revision.replicas
        fraction = math.floor(exact + 0.5) - revision.replicas
    left = more - added
    return min(fraction, left) if more > 0 else max(fraction, left)


def _room(deployment: JsonObject, old: Sequence[Revision], new: Revision) -> int:
    """Return how large the new ReplicaSet may be for now."""
    wanted: int = deployment["spec"]["replicas"]
    if not _is_rolling(deployment):
        return wanted
    rolling = deployment["spec"]["strategy"].get("rollingUpdate") or {}
    most = wanted + scaled_value(rolling.get("maxSurge", 0), wanted, up=True)
    present = sum(each.replicas for each in old) + new.replicas
    return new.replicas + max(min(most - present, wanted - new.replicas), 0)


def _resize(deployment: JsonObject, revision: Revision, size: int, *, always: bool = False) -> None:
    if size == revision.replicas and not always:
        return
    revision.replicas = size
    _note_sizes(deployment, revision)


def _note_sizes(deployment: JsonObject, revision: Revision) -> None:
    wanted: int = deployment["spec"]["replicas"]
    revision.annotations[DESIRED] = str(wanted)
    revision.annotations[MOST] = str(wanted + limits(deployment)[0])


def _is_saturated(deployment: JsonObject, new: Revision) -> bool:
    wanted = deployment["spec"]["replicas"]
    sizes = (new.replicas, _annotated(new, DESIRED), new.count("availableReplicas"))
    return all(size == wanted for size in sizes)


def _is_rolling(deployment: JsonObject) -> bool:
    return bool((deployment["spec"].get("strategy") or {}).get("type") == "RollingUpdate")


def _annotated(revision: Revision, name: str) -> int | None:
    text = revision.annotations.get(name, "")
    return int(text) if text.isdecimal() else None
