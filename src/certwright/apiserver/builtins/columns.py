"""What ``kubectl get`` prints about built-in kinds."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from certwright.apiserver.builtins import cells
from certwright.apiserver.builtins.cells import NONE, dig
from certwright.apiserver.gotext import age
from certwright.apiserver.kinds.kind import PrinterColumn
from certwright.kube.objects import JsonObject

Cell = Callable[[JsonObject], Any]

_NAME: Final = PrinterColumn("Name", ".metadata.name", format="name")
_AGE: Final = PrinterColumn("Age", ".metadata.creationTimestamp", type="date")


def _column(name: str, value: Cell, kind: str = "string") -> PrinterColumn:
    return PrinterColumn(name, type=kind, value=value)


def _wide(name: str, value: Cell, kind: str = "string") -> PrinterColumn:
    return PrinterColumn(name, type=kind, priority=1, value=value)


def _path(path: str, default: Any = "") -> Cell:
    return lambda obj: dig(obj, path, default)


def _or_none(path: str) -> Cell:
    return lambda obj: dig(obj, path) or NONE


def _count(path: str) -> Cell:
    return lambda obj: len(dig(obj, path) or ())


_CONTAINERS: Final = (
    _wide("Containers", cells.container_names),
    _wide("Images", cells.container_images),
)
_SELECTOR: Final = _wide("Selector", cells.selector)


def _scaled(*extra: PrinterColumn) -> tuple[PrinterColumn, ...]:
    return (
        _NAME,
        _column("Desired", _path("spec.replicas", 0), "integer"),
        _column("Current", _path("status.replicas", 0), "integer"),
        _column("Ready", _path("status.readyReplicas", 0), "integer"),
        _AGE,
        *_CONTAINERS,
        *extra,
    )


_EVENTS: Final = (
    _column("Last Seen", lambda obj: cells.event_seen(obj, first=False), "date"),
    _column("Type", _path("type")),
    _column("Reason", _path("reason")),
    _column("Object", cells.event_object),
    _wide(
        "Subobject",
        lambda obj: dig(obj, "involvedObject.fieldPath") or dig(obj, "regarding.fieldPath", ""),
    ),
    _wide("Source", cells.event_source),
    _column("Message", lambda obj: (obj.get("message") or obj.get("note") or "").strip()),
    _wide("First Seen", lambda obj: cells.event_seen(obj, first=True), "date"),
    _wide("Count", cells.event_count),
    PrinterColumn("Name", ".metadata.name", format="name", priority=1),
)
_BINDING: Final = (
    _NAME,
    _column("Role", lambda obj: f"{dig(obj, 'roleRef.kind')}/{dig(obj, 'roleRef.name')}"),
    _AGE,
    _wide("Users", lambda obj: cells.subjects(obj, "User")),
    _wide("Groups", lambda obj: cells.subjects(obj, "Group")),
    _wide("ServiceAccounts", lambda obj: cells.subjects(obj, "ServiceAccount")),
)
_WEBHOOKS: Final = (_NAME, _column("Webhooks", _count("webhooks"), "integer"), _AGE)


def _data(obj: JsonObject) -> int:
    return len(obj.get("data") or ()) + len(obj.get("binaryData") or ())


def _claim_capacity(obj: JsonObject) -> str:
    return str(dig(obj, "status.capacity.storage", "")) if dig(obj, "spec.volumeName") else ""


def _phase(obj: JsonObject) -> str:
    if dig(obj, "metadata.deletionTimestamp"):
        return "Terminating"
    return str(dig(obj, "status.phase", ""))


def _claim_of(obj: JsonObject) -> str:
    ref = dig(obj, "spec.claimRef")
    return f"{ref.get('namespace')}/{ref.get('name')}" if ref else ""


def _requested_duration(obj: JsonObject) -> str:
    seconds = dig(obj, "spec.expirationSeconds")
    start = datetime(1970, 1, 1, tzinfo=UTC)
    return NONE if seconds is None else age(start, start + timedelta(seconds=seconds))


def _api_service(obj: JsonObject) -> str:
    ref = dig(obj, "spec.service")
    return f"{ref.get('namespace')}/{ref.get('name')}" if ref else "Local"


def _available(obj: JsonObject) -> str:
    for condition in dig(obj, "status.conditions") or ():
        if condition.get("type") == "Available":
            reason = "" if condition["status"] == "True" else f" ({condition.get('reason')})"
            return f"{condition['status']}{reason}"
    return "Unknown"


COLUMNS: Final[dict[str, tuple[PrinterColumn, ...]]] = {
    "configmaps": (_NAME, _column("Data", _data), _AGE),
    "secrets": (_NAME, _column("Type", _path("type")), _column("Data", _count("data")), _AGE),
    "serviceaccounts": (_NAME, _AGE),
    "namespaces": (_NAME, _column("Status", _path("status.phase")), _AGE),
    "services": (
        _NAME,
        _column("Type", _path("spec.type")),
        _column("Cluster-IP", lambda obj: (dig(obj, "spec.clusterIPs") or [NONE])[0]),
        _column("External-IP", cells.external_ip),
        _column("Port(s)", cells.service_ports),
        _AGE,
        _wide("Selector", lambda obj: cells.labels(obj, "spec.selector")),
    ),
    "endpoints": (_NAME, _column("Endpoints", cells.endpoints), _AGE),
    "pods": (
        _NAME,
        _column("Ready", cells.pod_ready),
        _column("Status", cells.pod_status),
        _column("Restarts", cells.pod_restarts),
        _AGE,
        _wide("IP", _or_none("status.podIP")),
        _wide("Node", _or_none("spec.nodeName")),
        _wide("Nominated Node", _or_none("status.nominatedNodeName")),
        _wide("Readiness Gates", lambda _obj: NONE),
    ),
    "podtemplates": (
        _NAME,
        _column("Containers", lambda obj: cells.container_names(obj, "template.spec")),
        _column("Images", lambda obj: cells.container_images(obj, "template.spec")),
        _column("Pod Labels", lambda obj: cells.labels(obj, "template.metadata.labels")),
    ),
    "replicationcontrollers": _scaled(
        _wide("Selector", lambda obj: cells.labels(obj, "spec.selector"))
    ),
    "replicasets.apps": _scaled(_SELECTOR),
    "deployments.apps": (
        _NAME,
        _column("Ready", cells.ready_replicas),
        _column("Up-to-date", _path("status.updatedReplicas", 0)),
        _column("Available", _path("status.availableReplicas", 0)),
        _AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    "statefulsets.apps": (_NAME, _column("Ready", cells.ready_replicas), _AGE, *_CONTAINERS),
    "daemonsets.apps": (
        _NAME,
        _column("Desired", _path("status.desiredNumberScheduled", 0), "integer"),
        _column("Current", _path("status.currentNumberScheduled", 0), "integer"),
        _column("Ready", _path("status.numberReady", 0), "integer"),
        _column("Up-to-date", _path("status.updatedNumberScheduled", 0), "integer"),
        _column("Available", _path("status.numberAvailable", 0), "integer"),
        _column("Node Selector", lambda obj: cells.labels(obj, "spec.template.spec.nodeSelector")),
        _AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    "controllerrevisions.apps": (
        _NAME,
        _column("Controller", cells.controller),
        _column("Revision", _path("revision", 0)),
        _AGE,
    ),
    "jobs.batch": (
        _NAME,
        _column("Status", cells.job_status),
        _column("Completions", cells.job_completions),
        _column("Duration", cells.job_duration, "date"),
        _AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    "cronjobs.batch": (
        _NAME,
        _column("Schedule", _path("spec.schedule")),
        _column("Timezone", _or_none("spec.timeZone")),
        _column("Suspend", lambda obj: str(bool(dig(obj, "spec.suspend"))), "boolean"),
        _column("Active", _count("status.active"), "integer"),
        _column("Last Schedule", _or_none("status.lastScheduleTime"), "date"),
        _AGE,
        _wide(
            "Containers",
            lambda obj: cells.container_names(obj, "spec.jobTemplate.spec.template.spec"),
        ),
        _wide(
            "Images",
            lambda obj: cells.container_images(obj, "spec.jobTemplate.spec.template.spec"),
        ),
        _wide("Selector", lambda obj: cells.selector(obj, "spec.jobTemplate.spec.selector")),
    ),
    "horizontalpodautoscalers.autoscaling": (
        _NAME,
        _column(
            "Reference",
            lambda obj: "/".join(
                str(dig(obj, f"spec.scaleTargetRef.{f}")) for f in ("kind", "name")
            ),
        ),
        _column("Targets", cells.scaling_targets),
        _column("MinPods", lambda obj: str(dig(obj, "spec.minReplicas", "<unset>"))),
        _column("MaxPods", _path("spec.maxReplicas", 0)),
        _column("Replicas", _path("status.currentReplicas", 0)),
        _AGE,
    ),
    "poddisruptionbudgets.policy": (
        _NAME,
        _column("Min Available", lambda obj: str(dig(obj, "spec.minAvailable", "N/A"))),
        _column("Max Unavailable", lambda obj: str(dig(obj, "spec.maxUnavailable", "N/A"))),
        _column("Allowed Disruptions", _path("status.disruptionsAllowed", 0), "integer"),
        _AGE,
    ),
    "ingresses.networking.k8s.io": (
        _NAME,
        _column("Class", _or_none("spec.ingressClassName")),
        _column("Hosts", cells.hosts),
        _column("Address", cells.addresses),
        _column("Ports", lambda obj: "80, 443" if dig(obj, "spec.tls") else "80"),
        _AGE,
    ),
    "ingressclasses.networking.k8s.io": (
        _NAME,
        _column("Controller", _path("spec.controller")),
        _column("Parameters", _or_none("spec.parameters.name")),
        _AGE,
    ),
    "networkpolicies.networking.k8s.io": (
        _NAME,
        _column("Pod-Selector", lambda obj: cells.selector(obj, "spec.podSelector")),
        _AGE,
    ),
    "endpointslices.discovery.k8s.io": (
        _NAME,
        _column("AddressType", _path("addressType")),
        _column(
            "Ports",
            lambda obj: (
                ",".join(str(p.get("port", "*")) for p in obj.get("ports") or ()) or "<unset>"
            ),
        ),
        _column(
            "Endpoints",
            lambda obj: (
                ",".join(a for e in obj.get("endpoints") or () for a in e.get("addresses") or ())
                or "<unset>"
            ),
        ),
        _AGE,
    ),
    "nodes": (
        _NAME,
        _column("Status", cells.node_status),
        _column("Roles", cells.node_roles),
        _AGE,
        _column("Version", _path("status.nodeInfo.kubeletVersion")),
        _wide("Internal-IP", lambda obj: cells.node_address(obj, "InternalIP")),
        _wide("External-IP", lambda obj: cells.node_address(obj, "ExternalIP")),
        _wide("OS-Image", lambda obj: dig(obj, "status.nodeInfo.osImage") or "<unknown>"),
        _wide(
            "Kernel-Version", lambda obj: dig(obj, "status.nodeInfo.kernelVersion") or "<unknown>"
        ),
        _wide(
            "Container-Runtime",
            lambda obj: dig(obj, "status.nodeInfo.containerRuntimeVersion") or "<unknown>",
        ),
    ),
    "events": _EVENTS,
    "events.events.k8s.io": _EVENTS,
    "persistentvolumeclaims": (
        _NAME,
        _column("Status", _phase),
        _column("Volume", _path("spec.volumeName")),
        _column("Capacity", _claim_capacity),
        _column("Access Modes", lambda obj: cells.access_modes(dig(obj, "status.accessModes"))),
        _column("StorageClass", _path("spec.storageClassName")),
        _column("VolumeAttributesClass", _path("spec.volumeAttributesClassName", "<unset>")),
        _AGE,
        _wide("VolumeMode", _path("spec.volumeMode", "<unset>")),
    ),
    "persistentvolumes": (
        _NAME,
        _column("Capacity", _path("spec.capacity.storage")),
        _column("Access Modes", lambda obj: cells.access_modes(dig(obj, "spec.accessModes"))),
        _column("Reclaim Policy", _path("spec.persistentVolumeReclaimPolicy")),
        _column("Status", _phase),
        _column("Claim", _claim_of),
        _column("StorageClass", _path("spec.storageClassName")),
        _column("VolumeAttributesClass", _path("spec.volumeAttributesClassName", "<unset>")),
        _column("Reason", _path("status.reason")),
        _AGE,
        _wide("VolumeMode", _path("spec.volumeMode", "<unset>")),
    ),
    "storageclasses.storage.k8s.io": (
        _NAME,
        _column("Provisioner", _path("provisioner")),
        _column("ReclaimPolicy", _path("reclaimPolicy")),
        _column("VolumeBindingMode", _path("volumeBindingMode")),
        _column(
            "AllowVolumeExpansion", lambda obj: str(bool(obj.get("allowVolumeExpansion"))).lower()
        ),
        _AGE,
    ),
    "resourcequotas": (
        _NAME,
        _column("Request", lambda obj: cells.quota(obj, limits=False)),
        _column("Limit", lambda obj: cells.quota(obj, limits=True)),
        _AGE,
    ),
    "priorityclasses.scheduling.k8s.io": (
        _NAME,
        _column("Value", _path("value", 0), "integer"),
        _column("Global-Default", _path("globalDefault", default=False), "boolean"),
        _AGE,
        _column("PreemptionPolicy", _path("preemptionPolicy")),
    ),
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _WEBHOOKS,
    "apiservices.apiregistration.k8s.io": (
        _NAME,
        _column("Service", _api_service),
        _column("Available", _available),
        _AGE,
    ),
    "certificatesigningrequests.certificates.k8s.io": (
        _NAME,
        _AGE,
        _column("SignerName", _or_none("spec.signerName")),
        _column("Requestor", _path("spec.username")),
        _column("RequestedDuration", _requested_duration),
        _column("Condition", cells.signing_request_status),
    ),
    "leases.coordination.k8s.io": (
        _NAME,
        _column("Holder", _path("spec.holderIdentity")),
        _AGE,
    ),
}
"""Columns by resource; what is not here prints its name and when it was created."""
