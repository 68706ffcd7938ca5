"""From a change in the target cluster to the ManagedResource it concerns.

An object names its ManagedResource in an annotation. What might have to be repaired wakes the
controller that applies (and judges health on the way); what can only change how things are,
wakes the one that judges health. An origin of another source cluster, or none, wakes nobody.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from certwright.keep.stores import Targets
from certwright.kube import JsonObject, Key, LabelSelector, Resource
from certwright.kube.kinds import CustomResourceDefinition, Deployment, StatefulSet
from certwright.runtime import Entry

Wake: TypeAlias = Callable[[Key], None]

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


class Wakeups:
    """A `Watcher` of the target that wakes ManagedResources.

    *apply* and *judge* wake one of the two controllers, *unsettle* says that something changed
    which no object shows, and *follow* that an object changed which needs no repair; *waiting*
    yields who waits for a kind.
    """

    def __init__(
        self,
        targets: Targets,
        owner_of: Callable[[JsonObject], Key | None],
        *,
        apply: Wake,
        judge: Wake,
        unsettle: Wake,
        follow: Callable[[Key, Entry, Entry], None],
        waiting: Callable[[], Iterable[Key]],
    ) -> None:
        self._targets = targets
        self._owner_of = owner_of
        self._apply = apply
        self._judge = judge
        self._unsettle = unsettle
        self._follow = follow
        self._waiting = waiting

    def changed(self, resource: Resource, old: Entry | None, new: Entry | None) -> None:
        """Wake whose object it is, and whose it was."""
        if resource == CustomResourceDefinition:
            self.kinds_changed()  # its status says when the kind is served
        is_drift = could_be_drift(old, new)
        for key in self._owners(old, new):
            if new is None:
                self._unsettle(key)  # a store that is closed goes on holding it
            elif old is not None and not is_drift:
                self._follow(key, old, new)
            (self._apply if is_drift else self._judge)(key)

    def scaled(self, kind: str, key: Key) -> None:
        """Wake whose workload is scaled by others from now on, or no longer."""
        workload = _WORKLOADS.get(kind)
        entry = self._targets.get(workload, key) if workload is not None else None
        for owner in self._owners(None, entry):
            self._unsettle(owner)
            self._apply(owner)

    def pod_changed(self, old: Entry | None, new: Entry | None) -> None:
        """Wake whose Deployment counts the pod."""
        pod = new or old
        if pod is None:
            return
        for workload in self._targets.siblings(Deployment, pod.key.namespace):
            if selects(workload, pod):
                for owner in self._owners(None, workload):
                    self._judge(owner)

    def kinds_changed(self) -> None:
        """Wake those who wait for a kind."""
        for key in list(self._waiting()):
            self._apply(key)

    def _owners(self, old: Entry | None, new: Entry | None) -> set[Key]:
        found = (self._owner_of(e.annotations) for e in (old, new) if e is not None)
        return {owner for owner in found if owner is not None}
