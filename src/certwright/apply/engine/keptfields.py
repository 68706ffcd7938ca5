"""Which fields of a live object stay when it is written, whatever the manifest says: a table.

A kept object is replaced by its manifest. What the table lists is taken from the live object:
what the cluster allocated, what cannot change, and what a subresource or an injector rightly owns.
A set adds paths of its own with `Rules.ignored`. Metadata are merged in `leftovers`, and node ports
of Services, whose items have no names, in `preserve`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

from certwright.apply.engine.declared import Rules
from certwright.kube import JsonObject

EACH: Final = "*"
"""In a path of the table: each field of a map, each named item of a list."""
RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"


@dataclass(frozen=True, slots=True)
class Item:
    """An item of a list, by its ``name``."""

    name: str


Path: TypeAlias = Sequence[str | int | Item]


def value_at(obj: Any, path: Path) -> Any:
    """Return what stands at a path; None where it leads nowhere."""
    value = obj
    for element in path:
        if isinstance(element, str):
            value = value.get(element) if isinstance(value, Mapping) else None
        elif not isinstance(value, list):
            return None
        elif isinstance(element, int):
            value = value[element] if element < len(value) else None
        else:
            value = next((item for item in value if _is_named(item, element.name)), None)
    return value


def _is_named(item: Any, name: str) -> bool:
    return isinstance(item, dict) and item.get("name") == name


def parse_pointer(text: str) -> tuple[str, ...]:
    """Return the path of a JSON pointer; `ValueError` if it is none, or leads to what is not ours.

    In lists an item is named by its position or by its ``name``.
    """
    path = tuple(part.replace("~1", "/").replace("~0", "~") for part in text.split("/")[1:])
    if not text.startswith("/") or not all(path):
        raise ValueError(f'"{text}" is no JSON pointer, such as /spec/replicas')
    if path[0] in {"apiVersion", "kind"} or path == ("metadata",) or path[:2] in _IDENTITY:
        raise ValueError(f'"{text}" cannot be ignored: it says which object it is')
    return path


_IDENTITY: Final = frozenset(
    ("metadata", name) for name in ("name", "namespace", "uid", "resourceVersion")
)


def located(path: Sequence[str], live: Any) -> Path | None:
    """Return where a pointer leads in an object; None if it leads nowhere."""
    found: list[str | int | Item] = []
    value = live
    for part in path:
        element: str | int | Item = part
        if isinstance(value, list):
            element = int(part) if part.isascii() and part.isdigit() else Item(part)
        value = value_at(value, (element,))
        if value is None:
            return None
        found.append(element)
    return found


class Look(NamedTuple):
    """What a condition may look at."""

    rules: Rules
    wanted: JsonObject
    live: JsonObject


Condition: TypeAlias = Callable[[Look, tuple[str | int | Item, ...]], bool]


def always(_look: Look, _path: Path) -> bool:
    """Hold in any case."""
    return True


def absent(look: Look, path: Path) -> bool:
    """Hold if the manifest does not mention the field."""
    return value_at(look.wanted, path) is None


def empty(look: Look, path: Path) -> bool:
    """Hold if the manifest mentions what the field is in, and leaves the field empty."""
    inside = isinstance(value_at(look.wanted, path[:-1]), dict)
    return inside and value_at(look.wanted, path) in (None, "")


def scaled(look: Look, _path: Path) -> bool:
    """Hold if another client sets the number of replicas."""
    return look.rules.preserve_replicas


def sized(look: Look, path: Path) -> bool:
    """Hold if another client sets cpu and memory, for containers that the manifest has."""
    return look.rules.preserve_resources and value_at(look.wanted, path[:-3]) is not None


def aggregated(look: Look, _path: Path) -> bool:
    """Hold if the rules of a role are collected from others."""
    return bool(look.wanted.get("aggregationRule"))


def verified(look: Look, path: Path) -> bool:
    """Hold if an APIService is to be verified, and the manifest does not say by what."""
    return empty(look, path) and not value_at(look.wanted, ("spec", "insecureSkipTLSVerify"))


def of_account(look: Look, path: Path) -> bool:
    """Hold for what the cluster fills into the token Secret of a ServiceAccount."""
    return look.wanted.get("type") == "kubernetes.io/service-account-token" and absent(look, path)


def same_claim(look: Look, path: Path) -> bool:
    """Hold if a volume is reserved for the claim that has it, and the manifest says no more."""
    wanted, live = (value_at(obj, path[:-1]) for obj in (look.wanted, look.live))
    if not isinstance(wanted, dict) or not isinstance(live, dict):
        return False
    place = ("namespace", "name")
    return absent(look, path) and all(wanted.get(name) == live.get(name) for name in place)


def addressed(look: Look, _path: Path) -> bool:
    """Hold if a Service has an address and is to have one."""
    new, old = (type_of(obj.get("spec")) for obj in (look.wanted, look.live))
    headless = value_at(look.wanted, ("spec", "clusterIP")) == "None"
    return not headless and "ExternalName" not in (new, old)


def addressed_alike(look: Look, path: Path) -> bool:
    """Hold if, besides, the families of addresses stay what they are."""
    policy = ("spec", "ipFamilyPolicy")
    wanted, live = (value_at(obj, policy) or "SingleStack" for obj in (look.wanted, look.live))
    return addressed(look, path) and absent(look, path) and wanted == live


def exposed(look: Look, path: Path) -> bool:
    """Hold if a Service is reached from outside, and the manifest does not say where."""
    new = type_of(look.wanted.get("spec"))
    return new in {"LoadBalancer", "NodePort"} and not value_at(look.wanted, path)


def balanced(look: Look, path: Path) -> bool:
    """Hold if a Service has a load balancer and is to have one, which the manifest leaves open."""
    types = {type_of(obj.get("spec")) for obj in (look.wanted, look.live)}
    return types == {"LoadBalancer"} and not value_at(look.wanted, path)


def balanced_locally(look: Look, path: Path) -> bool:
    """Hold if, besides, traffic stays on its node."""
    policy = ("spec", "externalTrafficPolicy")
    local = {value_at(obj, policy) for obj in (look.wanted, look.live)} == {"Local"}
    return local and balanced(look, path)


def type_of(spec: Any) -> str:
    """Return the type of a Service; the default where it says nothing."""
    return str((spec.get("type") if isinstance(spec, dict) else "") or "ClusterIP")


class KeptField(NamedTuple):
    """One row of the table: of these kinds, this field stays, on this condition."""

    kinds: frozenset[tuple[str, str]]
    path: tuple[str, ...]
    when: Condition


def _row(kinds: str, pointer: str, when: Condition) -> KeptField:
    """Return a row; kinds are written ``apps/Deployment`` or ``Service``, any kind ``*``."""
    named = (kind.rpartition("/") for kind in kinds.split())
    return KeptField(
        frozenset((group, kind) for group, _, kind in named), parse_pointer(pointer), when
    )


_SCALABLE: Final = (
    "apps/Deployment apps/StatefulSet apps/ReplicaSet extensions/Deployment "
    "extensions/StatefulSet extensions/ReplicaSet ReplicationController"
)
_TEMPLATED: Final = (
    "apps/Deployment apps/StatefulSet apps/DaemonSet extensions/Deployment "
    "extensions/StatefulSet extensions/DaemonSet batch/Job"
)
_SETS: Final = "apps/StatefulSet extensions/StatefulSet"
_WEBHOOKS: Final = (
    "admissionregistration.k8s.io/MutatingWebhookConfiguration "
    "admissionregistration.k8s.io/ValidatingWebhookConfiguration"
)
_RESTARTED: Final = f"metadata/annotations/{RESTARTED_AT.replace('/', '~1')}"
_JOBS: Final = "/spec/jobTemplate"
_CONTAINERS: Final = "/spec/template/spec/containers/*/resources"
_SIZES: Final = ("requests/cpu", "requests/memory", "limits/cpu", "limits/memory")

TABLE: Final = (
    # How many, how large, restarted when
    _row(_SCALABLE, "/spec/replicas", absent),
    _row("*", "/spec/replicas", scaled),
    _row(_TEMPLATED, f"/spec/template/{_RESTARTED}", always),
    _row("batch/CronJob", f"{_JOBS}/spec/template/{_RESTARTED}", always),
    *(_row(_TEMPLATED, f"{_CONTAINERS}/{size}", sized) for size in _SIZES),
    *(_row("batch/CronJob", f"{_JOBS}{_CONTAINERS}/{size}", sized) for size in _SIZES),
    # What the cluster allocated, or cannot change any more
    _row(_SETS, "/spec/volumeClaimTemplates", always),
    _row("batch/Job", "/spec/selector", always),
    _row("batch/Job", "/spec/template/metadata/labels/*", absent),
    _row("Service", "/spec/clusterIP", addressed),
    _row("Service", "/spec/clusterIPs", addressed_alike),
    _row("Service", "/spec/ipFamilies", addressed_alike),
    _row("Service", "/spec/loadBalancerIP", exposed),
    _row("Service", "/spec/loadBalancerClass", balanced),
    _row("Service", "/spec/healthCheckNodePort", balanced_locally),
    _row("ServiceAccount", "/secrets", always),
    _row("ServiceAccount", "/imagePullSecrets", always),
    _row("Secret", "/data/*", of_account),
    _row("Namespace", "/spec/finalizers", absent),
    _row("Node", "/spec/podCIDR", absent),
    _row("Node", "/spec/podCIDRs", absent),
    _row("Node", "/spec/providerID", absent),
    _row("PersistentVolumeClaim", "/spec/volumeName", absent),
    _row("PersistentVolumeClaim", "/spec/storageClassName", absent),
    _row("PersistentVolumeClaim", "/spec/volumeMode", absent),
    _row("PersistentVolumeClaim", "/spec/dataSource", absent),
    _row("PersistentVolumeClaim", "/spec/dataSourceRef", absent),
    _row("PersistentVolume", "/spec/claimRef", absent),
    *(
        _row("PersistentVolume", f"/spec/claimRef/{name}", same_claim)
        for name in ("uid", "resourceVersion", "apiVersion", "kind")
    ),
    # What others fill in
    _row("rbac.authorization.k8s.io/ClusterRole", "/rules", aggregated),
    _row(_WEBHOOKS, "/webhooks/*/clientConfig/caBundle", empty),
    _row(
        "apiextensions.k8s.io/CustomResourceDefinition",
        "/spec/conversion/webhook/clientConfig/caBundle",
        empty,
    ),
    _row("apiregistration.k8s.io/APIService", "/spec/caBundle", verified),
)


def kept_paths(look: Look) -> Iterator[Path]:
    """Yield where the live object has what stays of it; in lists by the names of items."""
    for row in _rows_of(*group_kind(look.wanted)):
        if not look.rules.preserve_allocated and row.when not in (scaled, sized):
            continue
        for path in _concrete(row.path, look.live):
            if row.when(look, path):
                yield path


@lru_cache(maxsize=256)
def _rows_of(group: str, kind: str) -> tuple[KeptField, ...]:
    return tuple(row for row in TABLE if row.kinds & {(group, kind), ("", EACH)})


def group_kind(obj: JsonObject) -> tuple[str, str]:
    """Return group and kind of an object, whatever the version."""
    return str(obj.get("apiVersion") or "").rpartition("/")[0], str(obj.get("kind") or "")


def _concrete(
    path: tuple[str, ...], value: Any, before: tuple[str | Item, ...] = ()
) -> Iterator[tuple[str | Item, ...]]:
    """Yield the paths that a path of the table stands for in an object."""
    if not path:
        yield before
        return
    first, rest = path[0], path[1:]
    if first != EACH:
        if isinstance(value, dict) and value.get(first) is not None:
            yield from _concrete(rest, value[first], (*before, first))
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _concrete(rest, inner, (*before, name))
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, dict) and isinstance(item.get("name"), str):
                yield from _concrete(rest, item, (*before, Item(item["name"])))
