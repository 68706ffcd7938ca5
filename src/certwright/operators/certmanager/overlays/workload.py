"""How the pods of a component are run: how many, how large, how confined, on which nodes."""

from copy import deepcopy
from dataclasses import replace
from typing import Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.overlays.bundlecopy import (
    BundleCopy,
    ComponentObjects,
    child,
    merged,
)
from certwright.operators.certmanager.request import Component, InstallRequest

_REPLICAS: Final = {Component.CONTROLLER: 2, Component.CAINJECTOR: 2, Component.WEBHOOK: 3}
"""With high availability; the webhook is asked at every write."""


def with_high_availability(request: InstallRequest) -> InstallRequest:
    """Return a request in which high availability is spelt out for each component."""
    if not request.high_availability:
        return request
    components = {}
    for component in Component:
        wanted = request.component(component)
        replicas = _REPLICAS[component] if wanted.replicas is None else wanted.replicas
        budget = wanted.pod_disruption_budget
        components[component] = replace(
            wanted,
            replicas=replicas,
            pod_disruption_budget={} if budget is None and replicas > 1 else budget,
        )
    return replace(request, components=components)


def workloads(copy: BundleCopy, request: InstallRequest) -> None:
    """Set what a component says of its Deployment and pods."""
    for one in copy.components():
        _deployment(one, request)
        _pod(one, request)
        _container(one)


def _deployment(one: ComponentObjects, request: InstallRequest) -> None:
    wanted, spec = one.wanted, one.spec
    if wanted.replicas is not None:
        spec["replicas"] = wanted.replicas
    if wanted.strategy:
        spec["strategy"] = deepcopy(wanted.strategy)
    if request.revision_history_limit is not None:
        spec["revisionHistoryLimit"] = request.revision_history_limit


def _pod(one: ComponentObjects, request: InstallRequest) -> None:
    wanted, pod = one.wanted, one.pod
    if wanted.pod_security_context:
        pod["securityContext"] = merged(pod.get("securityContext"), wanted.pod_security_context)
    if wanted.host_network:
        pod["hostNetwork"] = True
        # Else names of the cluster are looked up at the node's own server.
        pod["dnsPolicy"] = "ClusterFirstWithHostNet"
    if request.host_users is not None:
        pod["hostUsers"] = request.host_users
    if wanted.enable_service_links is not None:
        pod["enableServiceLinks"] = wanted.enable_service_links
    if wanted.dns_policy:
        pod["dnsPolicy"] = wanted.dns_policy
    if wanted.dns_config:
        pod["dnsConfig"] = deepcopy(wanted.dns_config)
    if wanted.host_aliases:
        pod["hostAliases"] = deepcopy(list(wanted.host_aliases))
    if wanted.volumes:
        pod["volumes"] = [*(pod.get("volumes") or ()), *deepcopy(list(wanted.volumes))]
    if wanted.extra_containers:
        pod["containers"] = [*pod["containers"], *deepcopy(list(wanted.extra_containers))]


def _container(one: ComponentObjects) -> None:
    wanted, container = one.wanted, one.container
    if wanted.resources:
        container["resources"] = merged(container.get("resources"), wanted.resources)
    if wanted.container_security_context:
        context = merged(container.get("securityContext"), wanted.container_security_context)
        container["securityContext"] = context
    if wanted.volume_mounts:
        mounts = container.get("volumeMounts") or ()
        container["volumeMounts"] = [*mounts, *deepcopy(list(wanted.volume_mounts))]
    _probe(container, "livenessProbe", wanted.liveness_probe)
    _probe(container, "readinessProbe", wanted.readiness_probe)


def _probe(container: JsonObject, name: str, wanted: JsonObject | None) -> None:
    """Change a probe of the bundle; with ``enabled: false`` there is none."""
    if wanted is None or not container.get(name):
        return
    container[name] = merged(container[name], {**wanted, "enabled": None})
    if wanted.get("enabled") is False:
        del container[name]


def placement(copy: BundleCopy, request: InstallRequest) -> None:
    """Set selectors of nodes, tolerations, affinity, spread, priority and runtime class."""
    for one in copy.components():
        _placement(one, request)


def _placement(one: ComponentObjects, request: InstallRequest) -> None:
    wanted, pod = one.wanted, one.pod
    nodes = {**request.node_selector, **(wanted.node_selector or {})}
    if nodes:
        child(pod, "nodeSelector").update(nodes)
    tolerations = [*request.tolerations, *wanted.tolerations]
    if tolerations:
        pod["tolerations"] = deepcopy(tolerations)
    if wanted.affinity:
        pod["affinity"] = deepcopy(wanted.affinity)
    if wanted.topology_spread_constraints:
        pod["topologySpreadConstraints"] = deepcopy(list(wanted.topology_spread_constraints))
    if priority := wanted.priority_class_name or request.priority_class_name:
        pod["priorityClassName"] = priority
    if runtime := wanted.runtime_class_name or request.runtime_class_name:
        pod["runtimeClassName"] = runtime
