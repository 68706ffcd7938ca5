"""A Pod with its sidecar: what is missing is added, what is there already is left.

Injecting twice is injecting once: another webhook may change the Pod and have this one asked
again, and a Pod may be created from one that was injected.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from certwright.kube import JsonObject
from certwright.kube.comparison import contains
from certwright.operators.discoveryservice.injection.annotations import (
    PREFIX,
    InjectionDenied,
    ShutdownManager,
    SidecarDefaults,
    SidecarRequest,
    read_annotations,
)
from certwright.operators.discoveryservice.injection.sidecar import (
    brings_own_node,
    envoy_container,
    shutdown_container,
    shutdown_hook,
    volumes,
)

CONTAINERS, INIT_CONTAINERS = "containers", "initContainers"


@dataclass(frozen=True, slots=True)
class Injected:
    """A Pod as it shall be created, and what its client should know."""

    pod: JsonObject
    warnings: tuple[str, ...] = ()


def inject(pod: JsonObject, defaults: SidecarDefaults) -> Injected:
    """Return a Pod with its sidecar; `InjectionDenied` says why it cannot have one.

    The Pod that is passed stays as it is.
    """
    request = read_annotations(_annotations(pod), defaults)
    warnings = [*request.warnings, *_warnings(request)]
    spec: JsonObject = dict(pod.get("spec") or {})
    place = INIT_CONTAINERS if request.native else CONTAINERS
    wanted = [envoy_container(request)]
    if request.shutdown is not None:
        # Native sidecars end in reverse order: this one is needed until Envoy has ended.
        shutdown = shutdown_container(request, request.shutdown)
        wanted = [shutdown, *wanted] if request.native else [*wanted, shutdown]
    for container in wanted:
        _refuse_elsewhere(spec, place, container["name"])
        spec[place] = _added(spec.get(place) or (), container, "container", "container-name")
    for volume in volumes(request):
        about = "tls-volume" if volume["name"] == request.tls_volume else "config-volume"
        spec["volumes"] = _added(spec.get("volumes") or (), volume, "volume", about)
    if request.shutdown is not None:
        spec[CONTAINERS] = _with_hooks(spec.get(CONTAINERS) or (), request.shutdown)
        grace = spec.get("terminationGracePeriodSeconds") or 0
        spec["terminationGracePeriodSeconds"] = max(int(grace), request.shutdown.drain_seconds)
    return Injected({**pod, "spec": spec}, tuple(warnings))


def _annotations(pod: JsonObject) -> Mapping[str, str]:
    metadata = pod.get("metadata") or {}
    return metadata.get("annotations") or {}


def _warnings(request: SidecarRequest) -> Iterable[str]:
    if brings_own_node(request):
        yield (
            f"annotation {PREFIX}envoy-extra-args: with an own --config-yaml the discovery service "
            "does not learn which Pod this is, and admin.* has no effect"
        )


def _added(
    found: Iterable[JsonObject], wanted: JsonObject, what: str, annotation: str
) -> list[JsonObject]:
    """Return a list with one more item, or as it is if the item is there.

    Raises:
        InjectionDenied: there is another of that name.
    """
    items = list(found)
    for item in items:
        if item.get("name") != wanted["name"]:
            continue
        if contains(item, wanted):
            return items
        raise InjectionDenied(
            f"the Pod has another {what} {wanted['name']!r}; rename it, or choose another name for "
            f"that of the sidecar with annotation {PREFIX}{annotation}",
            PREFIX + annotation,
        )
    return [*items, wanted]


def _refuse_elsewhere(spec: JsonObject, place: str, name: str) -> None:
    """Deny a Pod that has a container of this name in the other list."""
    other = CONTAINERS if place == INIT_CONTAINERS else INIT_CONTAINERS
    if any(one.get("name") == name for one in spec.get(other) or ()):
        raise InjectionDenied(
            f"the Pod has another container {name!r} among its {other}; rename it, or choose "
            f"another name for the sidecar with annotation {PREFIX}container-name",
            f"{PREFIX}container-name",
        )


def _with_hooks(found: Iterable[JsonObject], shutdown: ShutdownManager) -> list[Any]:
    """Return containers of which some are kept until Envoy is drained."""
    containers = list(found)
    key = f"{PREFIX}shutdown-manager.extra-lifecycle-hooks"
    names = {one.get("name") for one in containers}
    if missing := [name for name in shutdown.hooks if name not in names]:
        raise InjectionDenied(
            f"annotation {key} is wrong: the Pod has no container {', '.join(map(repr, missing))}",
            key,
        )
    hook = shutdown_hook(shutdown)
    for number, container in enumerate(containers):
        if container.get("name") not in shutdown.hooks:
            continue
        lifecycle = container.get("lifecycle") or {}
        if lifecycle.get("preStop") and not contains(lifecycle["preStop"], hook):
            raise InjectionDenied(
                f"annotation {key} is wrong: container {container['name']!r} has a preStop hook of "
                "its own",
                key,
            )
        if not lifecycle.get("preStop"):
            containers[number] = {**container, "lifecycle": {**lifecycle, "preStop": hook}}
    return containers
