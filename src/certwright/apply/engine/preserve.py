"""What of a live object stays as it is, although the manifest says otherwise or nothing.

Server-side apply leaves fields of others alone and removes those of ours that are not sent any
more. Some fields must survive both a manifest that mentions them and our having owned them:
replicas that an autoscaler sets, addresses and ports the cluster allocated, what cannot be
changed at all. For each of them one rule holds while the live object has the field: where it
is ours the live value is sent, where it is not the field is left out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from certwright.apply.engine.declared import Rules
from certwright.kube import JsonObject
from certwright.kube.comparison import contains
from certwright.kube.ownership import FieldSet, project

Path = Sequence[str | int]


class _Draft:
    """What is going to be applied; starts as the manifest, which stays untouched.

    *own* is what we own of the live object.
    """

    def __init__(self, desired: JsonObject, live: JsonObject, own: FieldSet | None) -> None:
        self.desired = desired
        self.obj = desired
        self.guarded = False
        """Whether it repeats live values that the manifest does not have."""
        self.ignored: list[str] = []
        self._live = live
        self._own = own

    @cached_property
    def _mine(self) -> JsonObject:
        return project(self._live, self._own) if self._own is not None else {}

    def wanted(self, path: Path) -> Any:
        """Return what the manifest says; None if nothing."""
        return value_at(self.desired, path)

    def have(self, path: Path) -> Any:
        """Return what the live object holds; None if nothing."""
        return value_at(self._live, path)

    def ours(self, path: Path) -> Any:
        """Return what we own of that; None if nothing."""
        return value_at(self._mine, path) if self.have(path) is not None else None

    def leave(self, path: Path) -> None:
        """Leave a field as it is in the cluster, if it is there."""
        self.leave_value(path, have=self.have(path), ours=self.ours(path))

    def carry(self, path: Path) -> None:
        """Send what is ours of a field as it is in the cluster, whatever the manifest says."""
        self.leave_value(path, have=True, ours=self.ours(path))

    def leave_value(self, path: Path, *, have: Any, ours: Any) -> None:
        """Leave a field whose live value, and our part of it, were found by other means."""
        if have is None:
            return  # nobody set it yet: the manifest counts
        if ours is None:
            self.drop(path)
        else:
            self.set(path, ours)

    def set(self, path: Path, value: Any) -> None:
        """Send a live value; the draft then holds for this state of the object only."""
        if value_at(self.obj, path) != value:
            self.obj = _replaced(self.obj, path, value)
            self.guarded = True

    def drop(self, path: Path) -> None:
        """Leave a field out, and what is empty without it."""
        if value_at(self.obj, path) is not None:
            self.obj = _removed(self.obj, path)


def value_at(obj: Any, path: Path) -> Any:
    """Return what stands at a path; None where it leads nowhere."""
    value = obj
    for element in path:
        if isinstance(element, str):
            value = value.get(element) if isinstance(value, Mapping) else None
        elif isinstance(value, list) and element < len(value):
            value = value[element]
        else:
            return None
    return value


def _replaced(obj: Any, path: Path, value: Any) -> Any:
    """Return *obj* with another value at a path; as it is where the path cannot be."""
    if not path:
        return value
    element, rest = path[0], path[1:]
    if isinstance(element, int):
        if not isinstance(obj, list):
            return obj
        return [
            _replaced(item, rest, value) if position == element else item
            for position, item in enumerate(obj)
        ]
    if obj is not None and not isinstance(obj, dict):
        return obj
    inner = obj or {}
    return {**inner, element: _replaced(inner.get(element), rest, value)}


def _removed(obj: Any, path: Path) -> Any:
    element, rest = path[0], path[1:]
    if isinstance(element, int):
        return [
            _removed(item, rest) if position == element else item
            for position, item in enumerate(obj)
        ]
    if rest:
        inner = _removed(obj[element], rest)
        if inner:
            return {**obj, element: inner}
    return {name: value for name, value in obj.items() if name != element}


_CLUSTER_IP: Final = ("spec", "clusterIP")
_PORTS: Final = ("spec", "ports")


def keep_service(draft: _Draft) -> None:
    """Keep node ports, load balancer address, cluster address and health check port."""
    old, new = type_of(draft.have(("spec",))), type_of(draft.wanted(("spec",)))
    if new in {"LoadBalancer", "NodePort"}:
        _keep_node_ports(draft)
        if not draft.wanted(("spec", "loadBalancerIP")):
            draft.leave(("spec", "loadBalancerIP"))
    if new == "ExternalName":
        return
    if draft.wanted(_CLUSTER_IP) != "None" and old != "ExternalName":
        draft.leave(_CLUSTER_IP)
    both_local = _is_local(draft.have(("spec",))) and _is_local(draft.wanted(("spec",)))
    if both_local and not draft.wanted(("spec", "healthCheckNodePort")):
        draft.leave(("spec", "healthCheckNodePort"))


def becomes_headless(live: JsonObject, desired: JsonObject) -> bool:
    """Return whether a Service gives up its address, which only a new one can."""
    have, wants = value_at(live, _CLUSTER_IP), value_at(desired, _CLUSTER_IP)
    return wants == "None" and have not in (None, "", "None")


def type_of(spec: Any) -> str:
    """Return the type of a Service; the default where it says nothing."""
    return str((spec.get("type") if isinstance(spec, dict) else "") or "ClusterIP")


def _is_local(spec: Any) -> bool:
    local = isinstance(spec, dict) and spec.get("externalTrafficPolicy") == "Local"
    return local and type_of(spec) == "LoadBalancer"


def _keep_node_ports(draft: _Draft) -> None:
    """Give ports without a node port the one they have, under their number or their name."""
    live, ours = _ports(draft.have(_PORTS)), _ports(draft.ours(_PORTS))
    wanted = _ports(draft.wanted(_PORTS))
    taken = {_number(port) for port in wanted}
    for position, port in enumerate(wanted):
        if port.get("nodePort"):
            continue
        match = _match(port, live, taken)
        if match is None or not match.get("nodePort"):
            continue
        same_item = _number(match) == _number(port)
        own = any(_number(p) == _number(port) and p.get("nodePort") for p in ours)
        if own or not same_item:
            draft.set((*_PORTS, position, "nodePort"), match["nodePort"])


def _match(
    port: JsonObject, live: list[JsonObject], taken: set[tuple[Any, str]]
) -> JsonObject | None:
    """Return the live port that is the same: by number and protocol, by name, by number.

    One that is the same as another wanted port by number is not given away by name.
    """
    name = port.get("name")
    free = [candidate for candidate in live if _number(candidate) not in taken]
    exact = [candidate for candidate in live if _number(candidate) == _number(port)]
    named = [candidate for candidate in free if name and candidate.get("name") == name]
    numbered = [candidate for candidate in free if candidate.get("port") == port.get("port")]
    for found in (exact, named, numbered):
        if found:
            return found[-1]
    return None


def _number(port: JsonObject) -> tuple[Any, str]:
    return port.get("port"), port.get("protocol") or "TCP"


def _ports(ports: Any) -> list[JsonObject]:
    return [p for p in (ports if isinstance(ports, list) else ()) if isinstance(p, dict)]


RESTARTED_AT: Final = "kubectl.kubernetes.io/restartedAt"

_APPS: Final = frozenset({"apps", "extensions"})
_SIZED: Final = ("cpu", "memory")
_TEMPLATE: Final = ("spec", "template")
_CRON_TEMPLATE: Final = ("spec", "jobTemplate", "spec", "template")
_CLAIMS: Final = ("spec", "volumeClaimTemplates")


@dataclass(frozen=True, slots=True)
class Sent:
    """What is applied for an object."""

    obj: JsonObject = field(repr=False)  # it may be a Secret
    guarded: bool = False
    """It repeats live values, so it only holds for the very state they were read from."""
    ignored: tuple[str, ...] = ()
    """Fields in which the manifest was not followed, because they cannot change."""


def preserve(desired: JsonObject, live: JsonObject, own: FieldSet | None, rules: Rules) -> Sent:
    """Return what to apply so that *live* becomes *desired* but for what is to be preserved."""
    draft = _Draft(desired, live, own)
    if rules.preserve_allocated:
        # Finalizers and status are left to those who work with them; on creation both were set.
        draft.carry(("metadata", "finalizers"))
        draft.carry(("status",))
        _keep_by_kind(draft)
    else:
        draft.drop(("status",))
    if rules.preserve_replicas:
        draft.leave(("spec", "replicas"))
    if rules.preserve_resources and (template := _template_of(desired)):
        _keep_resources(draft, template)
    return Sent(draft.obj, draft.guarded, tuple(draft.ignored))


def _keep_by_kind(draft: _Draft) -> None:
    group, kind = _group_kind(draft.desired)
    if kind in {"Deployment", "StatefulSet"} and group in _APPS:
        if draft.wanted(("spec", "replicas")) is None:
            draft.leave(("spec", "replicas"))
        if kind == "StatefulSet":
            _keep_claims(draft)
    elif (group, kind) == ("batch", "Job"):
        _keep_job(draft)
    elif (group, kind) == ("", "Service"):
        keep_service(draft)
    elif (group, kind) == ("", "ServiceAccount"):
        draft.leave(("secrets",))
        draft.leave(("imagePullSecrets",))
    if template := _template_of(draft.desired):
        draft.leave((*template, "metadata", "annotations", RESTARTED_AT))


def _keep_claims(draft: _Draft) -> None:
    wanted, have = draft.wanted(_CLAIMS), draft.have(_CLAIMS)
    if wanted and have and not contains(have, wanted):
        draft.ignored.append(".".join(_CLAIMS))
    draft.leave(_CLAIMS)


def _keep_job(draft: _Draft) -> None:
    draft.leave(("spec", "selector"))
    path = (*_TEMPLATE, "metadata", "labels")
    wanted = draft.wanted(path)
    ours = draft.ours(path)
    if isinstance(ours, dict):
        draft.set(path, {**ours, **(wanted if isinstance(wanted, dict) else {})})


def _keep_resources(draft: _Draft, template: tuple[str, ...]) -> None:
    containers = (*template, "spec", "containers")
    live = _by_name(draft.have(containers))
    ours = _by_name(draft.ours(containers))
    for position, container in enumerate(draft.wanted(containers) or ()):
        name = container.get("name") if isinstance(container, dict) else None
        if name not in live:
            continue
        for part in ("requests", "limits"):
            for amount in _SIZED:
                draft.leave_value(
                    (*containers, position, "resources", part, amount),
                    have=_amount(live[name], part, amount),
                    ours=_amount(ours.get(name), part, amount),
                )


def _template_of(obj: JsonObject) -> tuple[str, ...]:
    """Return where the kind keeps the template of its pods; empty if it has none."""
    group, kind = _group_kind(obj)
    if (group, kind) == ("batch", "CronJob"):
        return _CRON_TEMPLATE
    if (group, kind) == ("batch", "Job"):
        return _TEMPLATE
    workload = kind in {"Deployment", "StatefulSet", "DaemonSet"} and group in _APPS
    return _TEMPLATE if workload else ()


def _group_kind(obj: JsonObject) -> tuple[str, str]:
    return str(obj.get("apiVersion") or "").rpartition("/")[0], str(obj.get("kind") or "")


def _by_name(containers: Any) -> dict[str, JsonObject]:
    return {
        container["name"]: container
        for container in (containers if isinstance(containers, list) else ())
        if isinstance(container, dict) and isinstance(container.get("name"), str)
    }


def _amount(container: Any, part: str, amount: str) -> Any:
    value = container
    for name in ("resources", part, amount):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
