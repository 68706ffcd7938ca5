"""Which built-in kinds are served, and how: one line per kind, shapes and rules joined on."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from certwright.apiserver.builtins.columns import COLUMNS
from certwright.apiserver.builtins.decode import decoder
from certwright.apiserver.builtins.notation import CORE, definitions
from certwright.apiserver.builtins.rules.kinds import rules_for
from certwright.apiserver.builtins.rules.services import ServiceAllocator
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.schema.schema import Schema
from certwright.kube import kinds
from certwright.kube.objects import Resource

_REPLICAS: Final = ("spec.replicas", "status.replicas", "spec.selector")
_EVENT_OBJECT: Final = (
    "kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Entry:
    resource: Resource
    short: str = ""
    subresources: str = ""
    generation: bool = False
    category: str = ""
    fields: tuple[str, ...] = ()
    create_only: bool = False


_ENTRIES: Final = (
    _Entry(kinds.ConfigMap, "cm"),
    _Entry(kinds.Secret, fields=("type",)),
    _Entry(kinds.Service, "svc", "status", category="all", fields=("spec.clusterIP", "spec.type")),
    _Entry(kinds.ServiceAccount, "sa", "token"),
    _Entry(kinds.Endpoints, "ep"),
    _Entry(
        kinds.Pod,
        "po",
        "status binding eviction",
        generation=True,
        category="all",
        fields=(
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.hostNetwork",
            "spec.serviceAccountName",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ),
    ),
    _Entry(
        kinds.ReplicationController,
        "rc",
        "status scale",
        generation=True,
        category="all",
        fields=("status.replicas",),
    ),
    _Entry(kinds.PodTemplate, generation=True),
    _Entry(kinds.LimitRange, "limits"),
    _Entry(kinds.ResourceQuota, "quota", "status"),
    _Entry(kinds.PersistentVolumeClaim, "pvc", "status"),
    _Entry(kinds.PersistentVolume, "pv", "status"),
    _Entry(kinds.Namespace, "ns", "status finalize", fields=("status.phase",)),
    _Entry(kinds.Node, "no", "status", fields=("spec.unschedulable",)),
    _Entry(
        kinds.CoreEvent,
        "ev",
        fields=(
            *(f"involvedObject.{part}" for part in _EVENT_OBJECT),
            "reason",
            "reportingComponent",
            "source",
            "type",
        ),
    ),
    _Entry(
        kinds.Event,
        "ev",
        fields=(
            *(f"regarding.{part}" for part in _EVENT_OBJECT),
            "reason",
            "reportingController",
            "type",
        ),
    ),
    _Entry(kinds.Deployment, "deploy", "status scale", generation=True, category="all"),
    _Entry(
        kinds.ReplicaSet,
        "rs",
        "status scale",
        generation=True,
        category="all",
        fields=("status.replicas",),
    ),
    _Entry(kinds.StatefulSet, "sts", "status scale", generation=True, category="all"),
    _Entry(kinds.DaemonSet, "ds", "status", generation=True, category="all"),
    _Entry(kinds.ControllerRevision),
    _Entry(kinds.Job, "", "status", generation=True, category="all", fields=("status.successful",)),
    _Entry(kinds.CronJob, "cj", "status", generation=True, category="all"),
    _Entry(kinds.HorizontalPodAutoscaler, "hpa", "status", category="all"),
    _Entry(kinds.PodDisruptionBudget, "pdb", "status", generation=True),
    _Entry(kinds.Ingress, "ing", "status", generation=True),
    _Entry(kinds.IngressClass, generation=True),
    _Entry(kinds.NetworkPolicy, "netpol", generation=True),
    _Entry(kinds.EndpointSlice, generation=True),
    _Entry(kinds.StorageClass, "sc"),
    _Entry(kinds.PriorityClass, "pc", generation=True),
    _Entry(kinds.Role),
    _Entry(kinds.RoleBinding),
    _Entry(kinds.ClusterRole),
    _Entry(kinds.ClusterRoleBinding),
    _Entry(kinds.MutatingWebhookConfiguration, generation=True, category="api-extensions"),
    _Entry(kinds.ValidatingWebhookConfiguration, generation=True, category="api-extensions"),
    _Entry(
        kinds.CustomResourceDefinition,
        "crd crds",
        "status",
        generation=True,
        category="api-extensions",
    ),
    _Entry(kinds.APIService, "", "status", category="api-extensions"),
    _Entry(kinds.CertificateSigningRequest, "csr", "status approval", fields=("spec.signerName",)),
    _Entry(kinds.Lease),
    _Entry(kinds.SelfSubjectAccessReview, create_only=True),
    _Entry(kinds.SubjectAccessReview, create_only=True),
    _Entry(kinds.SelfSubjectRulesReview, create_only=True),
    _Entry(kinds.SelfSubjectReview, create_only=True),
    _Entry(kinds.TokenReview, create_only=True),
)

_PREFIXES: Final = {
    "": CORE,
    "apiextensions.k8s.io": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1",
    "apiregistration.k8s.io": "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
}


def served_kinds(services: ServiceAllocator | None = None) -> list[ServedKind]:
    """Return every built-in kind, in the order of discovery.

    *services* hands out cluster IPs and node ports; a fresh one by default.
    """
    shapes = definitions()
    allocator = services or ServiceAllocator()
    return [_served(entry, shapes, allocator) for entry in _ENTRIES]


def definition_name(resource: Resource) -> str:
    """Return the OpenAPI name of a built-in kind, such as io.k8s.api.apps.v1.Deployment."""
    group = resource.group.partition(".")[0]
    prefix = _PREFIXES.get(resource.group) or f"io.k8s.api.{group}.{resource.version}"
    return f"{prefix}.{resource.kind}"


def _served(entry: _Entry, shapes: Mapping[str, Schema], allocator: ServiceAllocator) -> ServedKind:
    resource = entry.resource
    schema = shapes[definition_name(resource)]
    subresources = frozenset(entry.subresources.split())
    rules = rules_for(resource, allocator)
    every = ServedKind(resource, schema, "", "").verbs
    if resource.qualified == "namespaces":
        every = tuple(verb for verb in every if verb != "deletecollection")
    return ServedKind(
        resource=resource,
        schema=schema,
        singular=resource.kind.lower(),
        list_kind=f"{resource.kind}List",
        short_names=tuple(entry.short.split()),
        categories=(entry.category,) if entry.category else (),
        verbs=("create",) if entry.create_only else every,
        subresources=subresources,
        scale_paths=_REPLICAS if "scale" in subresources else ("", "", ""),
        counts_generation=entry.generation,
        selectable_fields=entry.fields,
        columns=COLUMNS.get(resource.qualified, ()),
        decode=decoder(schema, resource.kind, resource.version),
        complete=rules.complete,
        prepare=rules.prepare,
        validate=rules.validate,
        warnings=rules.warnings,
    )
