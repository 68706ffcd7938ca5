"""The controller of EndpointSlices and Endpoints: where the pods of a Service are reached."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from certwright.kube import JsonObject, Key
from certwright.kube.kinds import Endpoints, EndpointSlice, Pod, Service
from certwright.runtime import DONE, Channel, Context, Controller, Outcome, allow, select
from certwright.testkit.workloads.podstate import has_ended, is_deleting, is_ready

MANAGED_BY: Final = "endpointslice.kubernetes.io/managed-by"
SERVICE_NAME: Final = "kubernetes.io/service-name"
_MANAGER: Final = "endpointslice-controller.k8s.io"
_HEADLESS: Final = "service.kubernetes.io/headless"
_MOST: Final = 100
"""Endpoints in one slice."""

Ports = tuple[tuple[str, int, str, str], ...]
"""Name, number, protocol and application protocol of each."""


@dataclass(frozen=True, slots=True)
class SlicePlan:
    """What one pass does with the slices of a Service."""

    create: Sequence[JsonObject]
    change: Sequence[tuple[JsonObject, JsonObject]]
    """Slices, and what is merged into them."""
    delete: Sequence[JsonObject]


def endpoint_slice_controller(namespace: str, channel: Channel) -> Controller:
    """Return the controller of EndpointSlices and Endpoints, of one namespace or all."""
    return Controller(
        select(Service, namespace=namespace),
        _reconcile,
        name="endpointslice-controller",
        owns=[select(EndpointSlice, namespace=namespace)],
        reads=[select(Pod, namespace=namespace), select(Endpoints, namespace=namespace)],
        channels=[channel],
        rbac=[allow(Endpoints, "create", "patch", "delete")],
        conditions=(),
    )


def pod_watcher(namespace: str, channel: Channel) -> Controller:
    """Return the controller that wakes the Services of a namespace when a pod of it changes."""

    async def reconcile(ctx: Context, key: Key) -> Outcome:
        for entry in ctx.store(Service).by_namespace(key.namespace):
            channel.send(entry.key)
        return DONE

    watched, reads = select(Pod, namespace=namespace), [select(Service, namespace=namespace)]
    return Controller(watched, reconcile, name="endpointslice-pods", reads=reads, conditions=())


async def _reconcile(ctx: Context, key: Key) -> Outcome:
    service = ctx.get(Service, key)
    if service is None and (left := ctx.get(Endpoints, key)) is not None:
        await ctx.delete(left)  # slices have an owner, these have none
    if service is None or not service["spec"].get("selector") or is_deleting(service):
        return DONE
    wanted = service["spec"]["selector"].items()
    pods = [
        entry.obj()
        for entry in ctx.store(Pod).by_namespace(key.namespace)
        if wanted <= entry.meta.labels.items()
    ]
    owned = [each for each in ctx.owned(EndpointSlice, service) if _is_ours(each)]
    plan = decide_slices(service, owned, pods)
    for created in plan.create:
        await ctx.create(created, owner=service)
    for found, change in plan.change:
        await ctx.patch(found, change)
    for found in plan.delete:
        await ctx.delete(found)
    await _write_endpoints(ctx, service, pods)
    return DONE


def decide_slices(
    service: JsonObject, owned: Sequence[JsonObject], pods: Iterable[JsonObject]
) -> SlicePlan:
    """Decide what becomes of the slices of a Service, given the pods that it selects."""
    groups: dict[Ports, list[JsonObject]] = {}
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        if not has_ended(pod) and (pod.get("status") or {}).get("podIP"):
            groups.setdefault(_ports(service, pod), []).append(endpoint_of(service, pod))
    chunks = [
        (ports, found[start : start + _MOST])
        for ports, found in groups.items()
        for start in range(0, len(found), _MOST)
    ]
    free = list(owned)
    create: list[JsonObject] = []
    change: list[tuple[JsonObject, JsonObject]] = []
    for ports, endpoints in chunks or [((), [])]:
        content = {"endpoints": endpoints, "ports": [_port(*each) for each in ports]}
        found = _best(free, content["ports"])
        labels = _labels(service)
        if found is None:
            create.append(_slice(service, labels, content))
            continue
        free.remove(found)
        same = (found.get("endpoints") or [], found.get("ports") or []) == tuple(content.values())
        if not same or found["metadata"].get("labels") != labels:
            change.append((found, {"metadata": {"labels": labels}, **content}))
    return SlicePlan(create, change, free)


def _best(free: Sequence[JsonObject], ports: Sequence[JsonObject]) -> JsonObject | None:
    """Return a slice of the same ports, or else any that is left."""
    same = [each for each in free if (each.get("ports") or []) == ports]
    return next(iter([*same, *free]), None)


def endpoint_of(service: JsonObject, pod: JsonObject) -> JsonObject:
    """Return a pod as an endpoint."""
    serving, terminating = is_ready(pod), is_deleting(pod)
    ready = service["spec"].get("publishNotReadyAddresses") or (serving and not terminating)
    metadata, spec = pod["metadata"], pod["spec"]
    endpoint: JsonObject = {
        "addresses": [pod["status"]["podIP"]],
        "conditions": {"ready": bool(ready), "serving": serving, "terminating": terminating},
        "targetRef": _reference(metadata),
    }
    if spec.get("nodeName"):
        endpoint["nodeName"] = spec["nodeName"]
    if spec.get("hostname") and spec.get("subdomain") == service["metadata"]["name"]:
        endpoint["hostname"] = spec["hostname"]
    return endpoint


def _reference(metadata: JsonObject) -> JsonObject:
    named = {name: metadata[name] for name in ("namespace", "name", "uid")}
    return {"kind": "Pod", **named}


def _ports(service: JsonObject, pod: JsonObject) -> Ports:
    """Return the ports of a Service as a pod has them; those it does not have are left out."""
    found = []
    for port in service["spec"].get("ports") or ():
        target, protocol = port.get("targetPort", port["port"]), port.get("protocol", "TCP")
        number = target or port["port"]
        if isinstance(target, str):
            number = _named(pod, target, protocol)
        if number:
            found.append((port.get("name", ""), number, protocol, port.get("appProtocol", "")))
    return tuple(found)


def _named(pod: JsonObject, name: str, protocol: str) -> int:
    for container in pod["spec"].get("containers") or ():
        for port in container.get("ports") or ():
            if port.get("name") == name and port.get("protocol", "TCP") == protocol:
                number: int = port["containerPort"]
                return number
    return 0


def _port(name: str, number: int, protocol: str, application: str) -> JsonObject:
    port: JsonObject = {"name": name, "port": number, "protocol": protocol}
    return port | ({"appProtocol": application} if application else {})


def _labels(service: JsonObject) -> dict[str, str]:
    own: Mapping[str, str] = service["metadata"].get("labels") or {}
    labels = {name: value for name, value in own.items() if name not in _RESERVED}
    if service["spec"].get("clusterIP", "") in {"", "None"}:
        labels[_HEADLESS] = ""
    return {**labels, SERVICE_NAME: service["metadata"]["name"], MANAGED_BY: _MANAGER}


_RESERVED: Final = frozenset({SERVICE_NAME, MANAGED_BY, _HEADLESS})


def _slice(service: JsonObject, labels: dict[str, str], content: JsonObject) -> JsonObject:
    metadata = service["metadata"]
    families = service["spec"].get("ipFamilies") or ["IPv4"]
    prefix = f"{metadata['name']}-"
    place = {"generateName": prefix, "namespace": metadata["namespace"], "labels": labels}
    kind = {"apiVersion": EndpointSlice.api_version, "kind": EndpointSlice.kind}
    return {**kind, "metadata": place, "addressType": families[0], **content}


def _is_ours(found: JsonObject) -> bool:
    return bool((found["metadata"].get("labels") or {}).get(MANAGED_BY) == _MANAGER)


async def _write_endpoints(ctx: Context, service: JsonObject, pods: list[JsonObject]) -> None:
    """Write the object by which old clients find the pods of a Service."""
    metadata, wanted = service["metadata"], endpoints_of(service, pods)
    key = Key(metadata["namespace"], metadata["name"])
    found = ctx.get(Endpoints, key)
    if found is None:
        kind = {"apiVersion": Endpoints.api_version, "kind": Endpoints.kind}
        place = {"name": key.name, "namespace": key.namespace}
        labels = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
        own = {**(metadata.get("labels") or {}), **labels}
        await ctx.create({**kind, "metadata": {**place, "labels": own}, "subsets": wanted})
    elif (found.get("subsets") or []) != wanted:
        await ctx.patch(found, {"subsets": wanted or None})


def endpoints_of(service: JsonObject, pods: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the subsets of a Service's Endpoints: its pods, by ports and readiness."""
    early = service["spec"].get("publishNotReadyAddresses", False)
    groups: dict[Ports, dict[str, list[JsonObject]]] = {}
    for pod in sorted(pods, key=lambda pod: str(pod["metadata"]["name"])):
        status = pod.get("status") or {}
        if has_ended(pod) or not status.get("podIP") or (is_deleting(pod) and not early):
            continue
        address = {"ip": status["podIP"], "targetRef": _reference(pod["metadata"])}
        if pod["spec"].get("nodeName"):
            address["nodeName"] = pod["spec"]["nodeName"]
        which = "addresses" if early or is_ready(pod) else "notReadyAddresses"
        groups.setdefault(_ports(service, pod), {}).setdefault(which, []).append(address)
    return [
        {**addresses, "ports": [_without_empty(_port(*each)) for each in ports]}
        for ports, addresses in groups.items()
    ]


def _without_empty(port: JsonObject) -> JsonObject:
    return {name: value for name, value in port.items() if value}
