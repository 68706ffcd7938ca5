"""In which order objects are applied and deleted.

Applying goes from what others need to what needs others: policies of a namespace before what
they govern, identities and configuration before the pods that use them, definitions before
custom resources, webhooks last of the built-in kinds so that they do not handle their own
installation. Deleting goes the other way, so custom resources are gone before the definition
that would take them along, and pods before the configuration they still hold.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Final

from certwright.apply.refs import ObjectRef
from certwright.kube import JsonObject

_CORE: Final = ("",)
_APPS: Final = ("apps", "extensions")
_RBAC: Final = ("rbac.authorization.k8s.io",)
_WEBHOOKS: Final = ("admissionregistration.k8s.io",)

APPLY_ORDER: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("PriorityClass", ("scheduling.k8s.io",)),
    ("Namespace", _CORE),
    ("NetworkPolicy", ("networking.k8s.io", "extensions")),
    ("ResourceQuota", _CORE),
    ("LimitRange", _CORE),
    ("PodSecurityPolicy", ("policy", "extensions")),
    ("PodDisruptionBudget", ("policy",)),
    ("ServiceAccount", _CORE),
    ("Secret", _CORE),
    ("ConfigMap", _CORE),
    ("StorageClass", ("storage.k8s.io",)),
    ("PersistentVolume", _CORE),
    ("PersistentVolumeClaim", _CORE),
    ("CustomResourceDefinition", ("apiextensions.k8s.io",)),
    ("ClusterRole", _RBAC),
    ("ClusterRoleBinding", _RBAC),
    ("Role", _RBAC),
    ("RoleBinding", _RBAC),
    ("Service", _CORE),
    ("DaemonSet", _APPS),
    ("Pod", _CORE),
    ("ReplicationController", _CORE),
    ("ReplicaSet", _APPS),
    ("Deployment", _APPS),
    ("HorizontalPodAutoscaler", ("autoscaling",)),
    ("StatefulSet", _APPS),
    ("Job", ("batch",)),
    ("CronJob", ("batch",)),
    ("IngressClass", ("networking.k8s.io",)),
    ("Ingress", ("networking.k8s.io", "extensions")),
    ("APIService", ("apiregistration.k8s.io",)),
    ("MutatingWebhookConfiguration", _WEBHOOKS),
    ("ValidatingWebhookConfiguration", _WEBHOOKS),
)
"""Kinds and their groups, first to last. All other kinds, custom resources too, come after."""

_RANKS: Final = {
    (group, kind): rank for rank, (kind, groups) in enumerate(APPLY_ORDER) for group in groups
}
_LAST: Final = len(APPLY_ORDER)

_WAVE_STARTS: Final = (
    "Namespace",
    "NetworkPolicy",
    "CustomResourceDefinition",
    "ClusterRole",
    "DaemonSet",
    "IngressClass",
)
"""Kinds with which something begins that uses what comes before; so do kinds not in the order."""

_WAVE_RANKS: Final = (
    *(rank for rank, (kind, _) in enumerate(APPLY_ORDER) if kind in _WAVE_STARTS),
    _LAST,
)

_WORKLOADS: Final = _RANKS["apps", "DaemonSet"]
_CONTROLLED: Final = _RANKS["networking.k8s.io", "IngressClass"]
"""From here on come objects that a controller may have to let go."""

_SERVING: Final = frozenset({"CustomResourceDefinition", "APIService"})
"""What makes a group served; its name ends with that of the group."""

_AWAITED: Final = frozenset(
    {("", "Namespace"), ("apiextensions.k8s.io", "CustomResourceDefinition")}
)


def order_key(ref: ObjectRef) -> tuple[int, str, str, str, str]:
    """Return what to sort by for applying: by kind, then name, whatever the namespace."""
    rank = _RANKS.get((ref.group, ref.kind), _LAST)
    kind = ref.kind if rank == _LAST else ""
    return (rank, kind, ref.name, ref.namespace, ref.group)


def in_apply_order(objects: Iterable[JsonObject]) -> list[JsonObject]:
    """Return objects in the order in which they are applied."""
    return sorted(objects, key=lambda obj: order_key(ObjectRef.of(obj)))


def in_delete_order(refs: Iterable[ObjectRef]) -> list[ObjectRef]:
    """Return objects in the order in which they are deleted."""
    return sorted(refs, key=order_key, reverse=True)


def stages(refs: Iterable[ObjectRef]) -> list[list[ObjectRef]]:
    """Group objects that may be applied at the same time; one group after the other.

    Deleting takes the groups from the last to the first. Kinds that are not in the order make
    one group: what they need is not known.
    """
    ordered = sorted(refs, key=order_key)
    return [list(group) for _, group in groupby(ordered, key=lambda ref: order_key(ref)[0])]


def waves(refs: Iterable[ObjectRef]) -> list[list[ObjectRef]]:
    """Group objects that may be deleted at the same time, first to last.

    Custom resources go while their controllers and definitions are still there, pods before what
    they run with, everything before its namespace. What of a wave is not gone may hold back
    objects of the following ones: see `Lingering`.
    """
    ordered = in_delete_order(dict.fromkeys(refs))
    return [list(group) for _, group in groupby(ordered, key=lambda ref: _wave(order_key(ref)[0]))]


def _wave(rank: int) -> int:
    return sum(rank >= start for start in _WAVE_RANKS)


class Lingering:
    """Objects that are to go and are still there, and what has to stay as long as they are.

    A namespace stays while anything is in it, and a definition or an APIService while there are
    objects of its group. What custom resources, Ingresses and webhooks need in order to go is not
    known: a controller of any namespace, and all that it runs with. Workloads need what is in
    their own namespace, and what is in none. Nothing else needs anything.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[str, str], ObjectRef] = {}

    def add(self, ref: ObjectRef) -> None:
        """Take note of an object that is not gone, or is itself held back."""
        rank = order_key(ref)[0]
        reasons = [("in", ref.namespace)] if ref.namespace else []
        if rank == _LAST:
            reasons.append(("group", ref.group))
        if rank >= _CONTROLLED:
            reasons.append(("controlled", ""))
        elif rank >= _WORKLOADS:
            reasons += [("workload", ref.namespace), ("workload", "")]
        for reason in reasons:
            self._first.setdefault(reason, ref)

    def holds_back(self, ref: ObjectRef) -> ObjectRef | None:
        """Return what has to be gone before an object goes; None if it may."""
        rank = order_key(ref)[0]
        if rank == _LAST or not self._first:
            return None
        if ref.kind == "Namespace":
            return self._first.get(("in", ref.name))
        if ref.kind in _SERVING:
            return self._first.get(("group", ref.name.partition(".")[2]))
        if rank >= _CONTROLLED:
            return None
        found = self._first.get(("controlled", ""))
        if found is None and rank < _WORKLOADS:
            found = self._first.get(("workload", ref.namespace))
        return found


def is_awaited(ref: ObjectRef) -> bool:
    """Return whether what follows needs the object to be ready: definitions and namespaces."""
    return (ref.group, ref.kind) in _AWAITED
