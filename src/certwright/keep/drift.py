"""From a change in the target cluster to the set it concerns.

An object names its set in an annotation. What might have to be repaired wakes the controller
that applies (and judges health on the way); what can only change how things are wakes the one
that judges health. An annotation that names no set of ours wakes none. Whether an object is as
declared is decided there, in `certwright.apply.engine.replace`.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, Generic, TypeAlias, TypeVar

from certwright.keep.state import SetState, SetStates
from certwright.keep.stores import TargetStores
from certwright.kube import JsonObject, Key, LabelSelector, Resource
from certwright.kube.kinds import CustomResourceDefinition, Deployment, StatefulSet
from certwright.runtime import Entry

Wake: TypeAlias = Callable[[Key], None]
S = TypeVar("S", bound=SetState)

_WORKLOADS: Final[Mapping[str, Resource]] = {kind.kind: kind for kind in (Deployment, StatefulSet)}
"""What autoscalers scale, by kind: every group that shows these shows the same objects."""


def could_be_drift(old: Entry | None, new: Entry | None) -> bool:
    """Return whether a change may concern what we applied, and is more than a status update.

    Kinds without a generation do not tell, and are looked at each time.
    """
    if old is None or new is None:
        return True
    before, after = old.meta, new.meta
    return (
        not after.generation
        or before.generation != after.generation
        or before.label_pairs != after.label_pairs
        or before.finalizers != after.finalizers
        or before.owners != after.owners
        or before.deletion_timestamp != after.deletion_timestamp
        or old.annotations != new.annotations
    )


def selects(workload: Entry, pod: Entry) -> bool:
    """Return whether a workload counts a pod among its own."""
    selector = _selector(workload)
    return selector is not None and selector.matches(pod.meta.labels)


@lru_cache(maxsize=1024)
def _selector(workload: Entry) -> LabelSelector | None:
    """Return what a workload selects; each pod is compared with all workloads around it."""
    spec: JsonObject = workload.obj().get("spec") or {}
    try:
        return LabelSelector.from_spec(spec.get("selector"))
    except ValueError:
        return None


class Drift(Generic[S]):
    """A `Watcher` of the target that wakes the sets a change concerns.

    *owner_of* returns the set that the annotations of an object name. *repair* wakes the
    controller that applies a set, *judge* the one that judges its health.
    """

    def __init__(
        self,
        stores: TargetStores,
        states: SetStates[S],
        owner_of: Callable[[JsonObject], Key | None],
        *,
        repair: Wake,
        judge: Wake,
    ) -> None:
        self._stores = stores
        self._states = states
        self._owner_of = owner_of
        self._repair = repair
        self._judge = judge

    def changed(self, resource: Resource, old: Entry | None, new: Entry | None) -> None:
        """Wake the set an object belongs to, and the one it belonged to."""
        if resource == CustomResourceDefinition:
            self.kinds_changed()  # its status says when the kind is served
        is_drift = could_be_drift(old, new)
        for key in self._owners(old, new):
            if new is None:
                self._states.unsettle(key)  # a store that is closed goes on holding it
            elif old is not None and not is_drift:
                self._states.follow(key, old, new)
            if is_drift:
                self._repair(key)
            else:
                self._wake_health(key)

    def scaled(self, kind: str, key: Key) -> None:
        """Wake the set whose workload an autoscaler scales from now on, or no longer."""
        workload = _WORKLOADS.get(kind)
        entry = self._stores.get(workload, key) if workload is not None else None
        for owner in self._owners(None, entry):
            self._states.unsettle(owner)
            self._repair(owner)

    def pod_changed(self, old: Entry | None, new: Entry | None) -> None:
        """Wake the sets whose Deployments count the pod."""
        pod = new or old
        if pod is None:
            return
        for workload in self._stores.siblings(Deployment, pod.key.namespace):
            if selects(workload, pod):
                for owner in self._owners(None, workload):
                    self._wake_health(owner)

    def kinds_changed(self) -> None:
        """Wake the sets that wait for a kind."""
        for key in list(self._states.awaiting_kinds()):
            self._repair(key)

    def namespace_appeared(self, name: str) -> None:
        """Wake the sets that wait for a namespace."""
        for key in list(self._states.awaiting_namespace(name)):
            self._repair(key)

    def _wake_health(self, key: Key) -> None:
        self._states.changed.add(key)
        self._judge(key)

    def _owners(self, old: Entry | None, new: Entry | None) -> list[Key]:
        found = dict.fromkeys(self._owner_of(e.annotations) for e in (old, new) if e is not None)
        return [owner for owner in found if owner is not None]
