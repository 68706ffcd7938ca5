"""What field ownership needs to know about the endpoints of a kind."""

import copy

from certwright.apiserver.fields.fieldset import FieldSet, field_set
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube.objects import JsonObject

_SPEC = field_set("spec")
_STATUS = field_set("status")
_SPEC_AND_METADATA = field_set("spec", "metadata")

_MAIN = {
    "CertificateSigningRequest": field_set("spec", "status"),
}
_STATUS_OF = {
    "APIService": _SPEC_AND_METADATA,
    "CertificateSigningRequest": field_set("spec", "status.conditions"),
    "Deployment": field_set("spec", "metadata.labels"),
    "FlowSchema": _SPEC_AND_METADATA,
    "Pod": field_set("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    "PriorityLevelConfiguration": _SPEC_AND_METADATA,
    "ResourceClaim": _SPEC_AND_METADATA,
    "ServiceCIDR": _SPEC_AND_METADATA,
    "ValidatingAdmissionPolicy": _SPEC_AND_METADATA,
    "VolumeAttachment": _SPEC_AND_METADATA,
}

_TEMPLATE = {"metadata": {}, "spec": {"containers": None}}
_ROLE_REF = {"apiGroup": "", "kind": "", "name": ""}
_ALWAYS_PRINTED: dict[tuple[str, str], JsonObject] = {
    ("", "Event"): {
        "involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None,
        "eventTime": None, "reportingComponent": "", "reportingInstance": "",
    },
    ("", "LimitRange"): {"spec": {"limits": None}},
    ("", "PersistentVolumeClaim"): {"spec": {"resources": {}}},
    ("", "Pod"): {"spec": {"containers": None}},
    ("", "PodTemplate"): {"template": _TEMPLATE},
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {
        "spec": {
            "group": "", "names": {"plural": "", "kind": ""}, "scope": "", "versions": None,
        }
    },
    ("apiregistration.k8s.io", "APIService"): {
        "spec": {"groupPriorityMinimum": 0, "versionPriority": 0}
    },
    ("apps", "ControllerRevision"): {"data": None, "revision": 0},
    ("apps", "DaemonSet"): {
        "spec": {"selector": None, "template": _TEMPLATE, "updateStrategy": {}}
    },
    ("apps", "Deployment"): {"spec": {"selector": None, "template": _TEMPLATE, "strategy": {}}},
    ("apps", "ReplicaSet"): {"spec": {"selector": None, "template": _TEMPLATE}},
    ("apps", "StatefulSet"): {
        "spec": {
            "selector": None, "template": _TEMPLATE, "serviceName": "", "updateStrategy": {},
        }
    },
    ("autoscaling", "HorizontalPodAutoscaler"): {
        "spec": {"scaleTargetRef": {"kind": "", "name": ""}, "maxReplicas": 0}
    },
    ("batch", "CronJob"): {
        "spec": {"schedule": "", "jobTemplate": {"metadata": {}, "spec": {"template": _TEMPLATE}}}
    },
    ("batch", "Job"): {"spec": {"template": _TEMPLATE}},
    ("certificates.k8s.io", "CertificateSigningRequest"): {
        "spec": {"request": None, "signerName": ""}
    },
    ("discovery.k8s.io", "EndpointSlice"): {"addressType": "", "endpoints": None, "ports": None},
    ("events.k8s.io", "Event"): {
        "eventTime": None, "regarding": {}, "deprecatedSource": {},
        "deprecatedFirstTimestamp": None, "deprecatedLastTimestamp": None,
    },
    ("networking.k8s.io", "NetworkPolicy"): {"spec": {"podSelector": {}}},
    ("rbac.authorization.k8s.io", "ClusterRole"): {"rules": None},
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): {"roleRef": _ROLE_REF},
    ("rbac.authorization.k8s.io", "Role"): {"rules": None},
    ("rbac.authorization.k8s.io", "RoleBinding"): {"roleRef": _ROLE_REF},
    ("scheduling.k8s.io", "PriorityClass"): {"value": 0},
    ("storage.k8s.io", "StorageClass"): {"provisioner": ""},
}  # fmt: skip
"""What the Go types of built-in kinds print when nothing is set, besides empty structs."""


def ignored_fields(kind: ServedKind, subresource: str) -> FieldSet:
    """Return the fields an endpoint ignores in requests: they change no owner."""
    if not subresource:
        if kind.custom or kind.resource.kind not in _MAIN:
            return _STATUS if "status" in kind.subresources else {}
        return _MAIN[kind.resource.kind]
    if subresource == "status":
        return _SPEC_AND_METADATA if kind.custom else _STATUS_OF.get(kind.resource.kind, _SPEC)
    return field_set("spec", "status.certificate") if subresource == "approval" else {}


def blank(kind: ServedKind) -> JsonObject:
    """Return the object a create starts from.

    Built-in kinds begin with the structs and fields their Go types always print: what was
    there before does not count as added. Custom resources begin with nothing.
    """
    resource = kind.resource
    start: JsonObject = {"apiVersion": resource.api_version, "kind": resource.kind}
    if kind.custom:
        return start
    structs = ("metadata", "spec", "status")
    start |= {name: {} for name in structs if name in kind.schema.properties}
    # callers go on to change the object in place
    return start | copy.deepcopy(_ALWAYS_PRINTED.get((resource.group, resource.kind), {}))
