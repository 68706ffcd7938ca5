"""From a request and a bundle to the objects wanted, by the step in which they are applied.

Nothing here reads a cluster. What is wrong with a request becomes a problem; the component it
concerns is then left as it runs, and everything else is rendered.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from certwright.apply import Declared, ObjectRef, Rules
from certwright.apply.engine.declared import CLIENT_SIDE_APPLY, HELM
from certwright.bundles.bundle import Bundle
from certwright.kube import JsonObject
from certwright.operators.certmanager.flags.checks import STRUCTURAL
from certwright.operators.certmanager.flags.table import FlagTables
from certwright.operators.certmanager.overlays.access import (
    AGGREGATION,
    metrics_authorities,
    pull_secrets,
    roles,
    service_accounts,
)
from certwright.operators.certmanager.overlays.arguments import arguments
from certwright.operators.certmanager.overlays.bundlecopy import (
    DEFINITION,
    REGISTRATIONS,
    BundleCopy,
    component_of,
)
from certwright.operators.certmanager.overlays.configfile import config_files
from certwright.operators.certmanager.overlays.environment import environment, trusted_authorities
from certwright.operators.certmanager.overlays.followers import follow_flags
from certwright.operators.certmanager.overlays.images import image_places
from certwright.operators.certmanager.overlays.labels import labels
from certwright.operators.certmanager.overlays.legacynames import legacy_names
from certwright.operators.certmanager.overlays.monitors import GROUP, monitors
from certwright.operators.certmanager.overlays.namespace import move_to_namespace
from certwright.operators.certmanager.overlays.policies import disruption_budgets, network_policies
from certwright.operators.certmanager.overlays.registrations import registrations, webhook_service
from certwright.operators.certmanager.overlays.shapes import sound
from certwright.operators.certmanager.overlays.workload import (
    placement,
    with_high_availability,
    workloads,
)
from certwright.operators.certmanager.request import Component, InstallRequest, Naming, Problem


class InstallStep(StrEnum):
    """What is applied together, in the order of the steps."""

    NAMESPACE = "Namespace"
    DEFINITIONS = "CRDs"
    ROLES = "RBAC"
    """ServiceAccounts, roles and bindings of all components."""
    CAINJECTOR = "cainjector"
    WEBHOOK = "webhook"
    REGISTRATIONS = "registrations"
    """After the webhook: until it answers, they would block writes."""
    CONTROLLER = "controller"
    MONITORS = "monitors"
    """Kinds that the cluster may not serve; nothing waits for them."""


_STEPS: Final = {
    Component.CAINJECTOR: InstallStep.CAINJECTOR,
    Component.WEBHOOK: InstallStep.WEBHOOK,
    Component.CONTROLLER: InstallStep.CONTROLLER,
}
_ACCESS: Final = ("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")
_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")
_FOR_USERS: Final = tuple(f"{AGGREGATION}{role}" for role in ("admin", "edit", "view"))
_POD: Final = ("spec", "template")
_MESHES: Final = (
    # what service meshes add to pods: containers, containers that run before, volumes
    ("containers", ("istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane")),
    ("initContainers", ("istio-init", "istio-validation", "istio-proxy", "linkerd-init",
                        "linkerd-proxy", "kuma-init", "kuma-sidecar")),
    ("volumes", ("istio-data", "istio-envoy", "istio-podinfo", "istio-token", "istiod-ca-cert",
                 "workload-socket", "workload-certs", "credential-socket",
                 "linkerd-identity-end-entity", "linkerd-identity-token",
                 "linkerd-proxy-init-xtables-lock")),
)  # fmt: skip
SIDECARS: Final = (
    *((*_POD, "spec", part, name) for part, names in _MESHES for name in names),
    (*_POD, "metadata", "annotations", "sidecar.istio.io/status"),
)
"""Paths of a Deployment that a mesh may own."""


@dataclass(frozen=True, slots=True)
class StructuralFlag:
    """A flag of a request that other objects had to follow; the user is warned."""

    component: Component
    flag: str


@dataclass(frozen=True, slots=True)
class RenderedObjects:
    """What is wanted in the cluster."""

    version: str
    steps: Mapping[InstallStep, tuple[Declared, ...]]
    problems: tuple[Problem, ...] = ()
    held: frozenset[ObjectRef] = frozenset()
    """Objects of components with a problem: they belong to the installation, and are neither
    written nor pruned until the request is mended."""
    structural: tuple[StructuralFlag, ...] = ()

    def objects(self) -> Iterator[Declared]:
        """Yield all objects, in the order of the steps."""
        for step in InstallStep:
            yield from self.steps.get(step, ())


def render(request: InstallRequest, bundle: Bundle, catalogue: FlagTables) -> RenderedObjects:
    """Return the objects that a request wants of a bundle, and what is wrong with the request."""
    request, problems, harmless = sound(with_high_availability(request))
    copy = BundleCopy(bundle, request)
    _leave_out(copy, request)
    if request.naming is Naming.LEGACY:
        legacy_names(copy)
    move_to_namespace(copy, request.namespace)
    service_accounts(copy)
    pull_secrets(copy, request)
    roles(copy, request)
    problems += image_places(copy, request.images)
    flags = arguments(copy, request, catalogue)
    problems += [problem for one in flags.values() for problem in one.problems]
    follow_flags(copy, flags, request.namespace)
    metrics_authorities(copy, flags, request.namespace)
    config_files(copy)
    environment(copy, request)
    workloads(copy, request)
    trusted_authorities(copy, request)
    placement(copy, request)
    registrations(copy, request)
    webhook_service(copy, request)
    problems += disruption_budgets(copy)
    network_policies(copy)
    harmless += monitors(copy, request)
    problems += labels(copy, request)
    held = {id(obj) for obj in _held(copy, _components(problems))}
    return RenderedObjects(
        bundle.version,
        _by_step((obj for obj in copy.objects if id(obj) not in held), request),
        (*problems, *harmless),
        frozenset(ObjectRef.of(obj) for obj in copy.objects if id(obj) in held),
        tuple(_structural(request)),
    )


def _leave_out(copy: BundleCopy, request: InstallRequest) -> None:
    """Take out components that are not wanted, with all that belongs to them."""
    for obj in list(copy.objects):
        belongs = obj["kind"] not in {DEFINITION, "Namespace"}
        if belongs and not request.component(component_of(obj)).enabled:
            copy.remove(obj)


def _components(problems: Iterable[Problem]) -> set[Component]:
    """Return the components that have a problem; one that names none concerns all."""
    found: set[Component] = set()
    for problem in problems:
        found |= set(Component) if problem.component is None else {problem.component}
    return found


def _held(copy: BundleCopy, wrong: set[Component]) -> Iterator[JsonObject]:
    """Yield what must stay as it is while a request is wrong.

    That is the Deployment with its file. What follows flags stays too if the request sets such a
    flag: half of a change would be worse than none.
    """
    for one in copy.components():
        if one.component not in wrong:
            continue
        yield one.deployment
        yield from copy.of_component(one.component, "ConfigMap", "PodDisruptionBudget")
        if any(name in one.wanted.flags for name in STRUCTURAL):
            yield from copy.of_component(one.component, "Service", "Role", "RoleBinding")
            if one.component is Component.WEBHOOK:
                yield from copy.of(*REGISTRATIONS)


def _structural(request: InstallRequest) -> Iterator[StructuralFlag]:
    for component in Component:
        for name in STRUCTURAL:
            if name in request.component(component).flags:
                yield StructuralFlag(component, name)


def _by_step(
    objects: Iterable[JsonObject], request: InstallRequest
) -> dict[InstallStep, tuple[Declared, ...]]:
    steps: dict[InstallStep, list[Declared]] = {step: [] for step in InstallStep}
    for obj in objects:
        steps[step_of(obj)].append(Declared(obj, _rules(obj, request)))
    return {step: tuple(found) for step, found in steps.items()}


def step_of(obj: JsonObject) -> InstallStep:
    """Return the step in which an object is applied."""
    kind = obj["kind"]
    if kind == "Namespace":
        return InstallStep.NAMESPACE
    if kind == DEFINITION:
        return InstallStep.DEFINITIONS
    if kind in _ACCESS:
        return InstallStep.ROLES
    if kind in REGISTRATIONS:
        return InstallStep.REGISTRATIONS
    if obj["apiVersion"] == GROUP:
        return InstallStep.MONITORS
    return _STEPS[component_of(obj)]


def _rules(obj: JsonObject, request: InstallRequest) -> Rules:
    """Return what of an object others may own, and how far we go to have it as declared."""
    kind = obj["kind"]
    taken = (HELM, CLIENT_SIDE_APPLY) if request.adopt else ()
    if kind == "Deployment":
        autoscaled = request.component(component_of(obj)).autoscaled
        return Rules(take_over_from=taken, preserve_replicas=autoscaled, ignored=SIDECARS)
    # An earlier operator left roles for Secrets open to all users: they are closed.
    dropped = _FOR_USERS if kind == "ClusterRole" else ()
    # The role of a binding cannot be changed.
    return Rules(take_over_from=taken, recreate=kind in _BINDINGS, drop_labels=dropped)
