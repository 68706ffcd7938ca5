"""Two manifests of an object and what others add to it, for most kinds of Kubernetes.

The second manifest takes something back that the first declares or leaves to defaults, so the
difference between merging and replacing shows: server-side apply keeps what was defaulted.
"""

from dataclasses import dataclass
from typing import Any

from certwright.kube import JsonObject

RBAC = "rbac.authorization.k8s.io/v1"
NETWORKING = "networking.k8s.io/v1"
WEBHOOKS = "admissionregistration.k8s.io/v1"


@dataclass(frozen=True)
class Pair:
    """Two manifests of one object, without a name, and a merge patch by someone else."""

    kind: str
    api_version: str
    first: JsonObject
    second: JsonObject
    addition: JsonObject
    cluster_wide: bool = False

    def manifest(self, fields: JsonObject, namespace: str) -> JsonObject:
        """Return a whole manifest of the object that belongs to a namespace."""
        place: JsonObject = {"name": "pair", "namespace": namespace}
        if self.cluster_wide:
            place = {"name": f"pair-{namespace}"}
        head = {"apiVersion": self.api_version, "kind": self.kind, "metadata": place}
        return {**head, **fields}

    def key(self, namespace: str) -> str:
        """Return how the object that belongs to a namespace is found."""
        return f"pair-{namespace}" if self.cluster_wide else f"{namespace}/pair"


def _container(image: str = "app:1.0", **fields: Any) -> JsonObject:
    return {"name": "main", "image": image, **fields}


def _pod(*containers: JsonObject, **fields: Any) -> JsonObject:
    return {"containers": list(containers) or [_container()], **fields}


def _template(*containers: JsonObject, **fields: Any) -> JsonObject:
    return {"metadata": {"labels": {"app": "x"}}, "spec": _pod(*containers, **fields)}


SELECTED: JsonObject = {"selector": {"matchLabels": {"app": "x"}}}
_INTRUDER: JsonObject = {"securityContext": {"privileged": True}, "name": "sidecar", "image": "bad"}
_ADDED_TO_PODS: JsonObject = {
    "template": {
        "spec": {"hostNetwork": True, "containers": [_container(), _INTRUDER]},
    }
}
_WEBHOOK: JsonObject = {
    "name": "a.example.com",
    "admissionReviewVersions": ["v1"],
    "sideEffects": "None",
    "clientConfig": {"url": "https://127.0.0.1:1/"},
    "failurePolicy": "Ignore",
    "rules": [
        {
            "apiGroups": ["pairs.example.com"],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["nothings"],
        }
    ],
}
_SUBJECTS = [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}]
_RULE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
_OTHER_RULE = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}


def _role_binding(role: str) -> JsonObject:
    return {"roleRef": {"apiGroup": RBAC[:-3], "kind": "ClusterRole", "name": role}}


PAIRS = (
    Pair(
        "ConfigMap",
        "v1",
        {"data": {"a": "1", "b": "2"}},
        {"data": {"a": "2"}},
        {"data": {"added": "x"}, "binaryData": {"more": "eA=="}},
    ),
    Pair(
        "Secret",
        "v1",
        {"type": "Opaque", "data": {"a": "YQ==", "b": "Yg=="}},
        {"stringData": {"a": "other"}},
        {"data": {"added": "eA=="}},
    ),
    Pair(
        "Service",
        "v1",
        {"spec": {"type": "NodePort", "ports": [{"port": 80}], "selector": {"app": "x"}}},
        {"spec": {"ports": [{"port": 80, "name": "web"}, {"port": 81, "name": "more"}]}},
        {"spec": {"externalIPs": ["192.0.2.1"], "sessionAffinity": "ClientIP"}},
    ),
    Pair(
        "PersistentVolumeClaim",
        "v1",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "none",
                "resources": {"requests": {"storage": "1Gi"}},
            }
        },
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "none",
                "volumeMode": "Filesystem",
                "resources": {"requests": {"storage": "1024Mi"}},
            }
        },
        {},
    ),
    Pair(
        "PersistentVolume",
        "v1",
        {
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/tmp/x"},
                "storageClassName": "none",
                "mountOptions": ["ro"],
            }
        },
        {
            "spec": {
                "capacity": {"storage": "2Gi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/tmp/x"},
                "storageClassName": "none",
                "persistentVolumeReclaimPolicy": "Delete",
            }
        },
        {"spec": {"mountOptions": ["hard"]}},
        cluster_wide=True,
    ),
    Pair(
        "ResourceQuota",
        "v1",
        {"spec": {"hard": {"count/leases.coordination.k8s.io": "500", "pods": "100"}}},
        {"spec": {"hard": {"pods": "200"}}},
        {"spec": {"hard": {"services": "100"}}},
    ),
    Pair(
        "LimitRange",
        "v1",
        {"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "9Gi"}}]}},
        {"spec": {"limits": [{"type": "PersistentVolumeClaim", "min": {"storage": "1Mi"}}]}},
        {"spec": {"limits": []}},
    ),
    Pair(
        "PodTemplate",
        "v1",
        {"template": _template(_container("app:latest"))},
        {"template": _template(_container("app:1.0"))},
        {"template": {"spec": {"hostNetwork": True}}},
    ),
    Pair(
        "ReplicationController",
        "v1",
        {"spec": {"replicas": 0, "selector": {"app": "x"}, "template": _template()}},
        {"spec": {"replicas": 0, "selector": {"app": "x"}, "template": _template(_container("b"))}},
        {"spec": _ADDED_TO_PODS},
    ),
    Pair(
        "Deployment",
        "apps/v1",
        {"spec": {"replicas": 0, **SELECTED, "template": _template(_container("app:latest"))}},
        {
            "spec": {
                "replicas": 0,
                **SELECTED,
                "strategy": {"type": "Recreate"},
                "template": _template(_container("app:1.0")),
            }
        },
        {"spec": _ADDED_TO_PODS},
    ),
    Pair(
        "StatefulSet",
        "apps/v1",
        {
            "spec": {
                "replicas": 0,
                "serviceName": "x",
                **SELECTED,
                "template": _template(),
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
            }
        },
        {
            "spec": {
                "replicas": 0,
                "serviceName": "x",
                **SELECTED,
                "template": _template(terminationGracePeriodSeconds=5),
                "updateStrategy": {"type": "OnDelete"},
            }
        },
        {"spec": _ADDED_TO_PODS},
    ),
    Pair(
        "DaemonSet",
        "apps/v1",
        {"spec": {**SELECTED, "template": _template()}},
        {
            "spec": {
                **SELECTED,
                "template": _template(_container(env=[{"name": "A", "value": "b"}])),
                "updateStrategy": {"type": "OnDelete"},
            }
        },
        {"spec": _ADDED_TO_PODS},
    ),
    Pair(
        "ReplicaSet",
        "apps/v1",
        {"spec": {"replicas": 0, **SELECTED, "template": _template()}},
        {
            "spec": {
                "replicas": 0,
                "minReadySeconds": 5,
                **SELECTED,
                "template": _template(_container("app")),
            }
        },
        {"spec": _ADDED_TO_PODS},
    ),
    Pair(
        "Job",
        "batch/v1",
        {
            "spec": {
                "suspend": True,
                "completions": 2,
                "backoffLimit": 1,
                "template": {"spec": _pod(restartPolicy="Never")},
            }
        },
        {
            "spec": {
                "suspend": True,
                "completions": 2,
                "parallelism": 2,
                "activeDeadlineSeconds": 9,
                "template": {"spec": _pod(restartPolicy="Never")},
            }
        },
        {"spec": {"ttlSecondsAfterFinished": 100}},
    ),
    Pair(
        "CronJob",
        "batch/v1",
        {
            "spec": {
                "schedule": "0 0 1 1 *",
                "concurrencyPolicy": "Forbid",
                "jobTemplate": {"spec": {"template": {"spec": _pod(restartPolicy="Never")}}},
            }
        },
        {
            "spec": {
                "schedule": "0 0 2 1 *",
                "jobTemplate": {
                    "spec": {"template": {"spec": _pod(_container("b"), restartPolicy="OnFailure")}}
                },
            }
        },
        {"spec": {"suspend": True, "timeZone": "Etc/UTC"}},
    ),
    Pair(
        "HorizontalPodAutoscaler",
        "autoscaling/v2",
        {
            "spec": {
                "maxReplicas": 3,
                "minReplicas": 2,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
            }
        },
        {
            "spec": {
                "maxReplicas": 4,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 5}},
            }
        },
        {"spec": {"behavior": {"scaleUp": {"stabilizationWindowSeconds": 9}}}},
    ),
    Pair(
        "PodDisruptionBudget",
        "policy/v1",
        {"spec": {"minAvailable": 1, **SELECTED}},
        {"spec": {"maxUnavailable": "50%", **SELECTED}},
        {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}},
    ),
    Pair(
        "NetworkPolicy",
        NETWORKING,
        {"spec": {"podSelector": {}, "ingress": [{}]}},
        {"spec": {"podSelector": {}, "ingress": [{}], "egress": [{"ports": [{"port": 53}]}]}},
        {"spec": {"ingress": [{"from": [{"podSelector": {}}]}, {}]}},
    ),
    Pair(
        "Ingress",
        NETWORKING,
        {
            "spec": {
                "ingressClassName": "a",
                "defaultBackend": {"service": {"name": "x", "port": {"number": 80}}},
            }
        },
        {"spec": {"defaultBackend": {"service": {"name": "x", "port": {"name": "web"}}}}},
        {"spec": {"tls": [{"hosts": ["a.example.com"], "secretName": "s"}]}},
    ),
    Pair(
        "IngressClass",
        NETWORKING,
        {
            "spec": {
                "controller": "example.com/a",
                "parameters": {"kind": "X", "name": "x", "apiGroup": "example.com"},
            }
        },
        {"spec": {"controller": "example.com/a"}},
        {"spec": {"parameters": {"kind": "X", "name": "y", "scope": "Cluster"}}},
        cluster_wide=True,
    ),
    Pair(
        "Role",
        RBAC,
        {"rules": [_RULE, _OTHER_RULE]},
        {"rules": [_RULE]},
        {"rules": [_OTHER_RULE]},
    ),
    Pair(
        "RoleBinding",
        RBAC,
        {**_role_binding("view"), "subjects": _SUBJECTS},
        _role_binding("view"),
        {"subjects": [{"kind": "User", "name": "intruder", "apiGroup": RBAC[:-3]}]},
    ),
    Pair(
        "ClusterRole",
        RBAC,
        {"rules": [_RULE]},
        {"rules": [_OTHER_RULE]},
        {"rules": [_RULE, {"nonResourceURLs": ["/x"], "verbs": ["get"]}]},
        cluster_wide=True,
    ),
    Pair(
        "ClusterRoleBinding",
        RBAC,
        {**_role_binding("view"), "subjects": _SUBJECTS},
        _role_binding("view"),
        {"subjects": [{"kind": "User", "name": "intruder", "apiGroup": RBAC[:-3]}]},
        cluster_wide=True,
    ),
    Pair(
        "PriorityClass",
        "scheduling.k8s.io/v1",
        {"value": 5, "description": "first"},
        {"value": 5},
        {"description": "added"},
        cluster_wide=True,
    ),
    Pair(
        "StorageClass",
        "storage.k8s.io/v1",
        {"provisioner": "example.com/none", "mountOptions": ["ro"], "allowVolumeExpansion": True},
        {"provisioner": "example.com/none"},
        {"mountOptions": ["hard"], "allowVolumeExpansion": True},
        cluster_wide=True,
    ),
    Pair(
        "ValidatingWebhookConfiguration",
        WEBHOOKS,
        {"webhooks": [{**_WEBHOOK, "timeoutSeconds": 3}]},
        {"webhooks": [_WEBHOOK]},
        {"webhooks": [_WEBHOOK, {**_WEBHOOK, "name": "b.example.com"}]},
        cluster_wide=True,
    ),
    Pair(
        "MutatingWebhookConfiguration",
        WEBHOOKS,
        {"webhooks": [{**_WEBHOOK, "reinvocationPolicy": "IfNeeded"}]},
        {"webhooks": [_WEBHOOK]},
        {"webhooks": [{**_WEBHOOK, "matchPolicy": "Exact"}]},
        cluster_wide=True,
    ),
    Pair(
        "Lease",
        "coordination.k8s.io/v1",
        {"spec": {"holderIdentity": "a", "leaseDurationSeconds": 5}},
        {"spec": {"holderIdentity": "b"}},
        {"spec": {"leaseTransitions": 7}},
    ),
    Pair(
        "EndpointSlice",
        "discovery.k8s.io/v1",
        {"addressType": "IPv4", "endpoints": [], "ports": [{"port": 80}]},
        {"addressType": "IPv4", "endpoints": [{"addresses": ["192.0.2.1"]}]},
        {"endpoints": [{"addresses": ["192.0.2.9"]}], "ports": [{"port": 1, "name": "x"}]},
    ),
)
