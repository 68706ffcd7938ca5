"""The built-in kinds, as `Resource` values: they need no discovery."""

from certwright.kube.objects import Resource

ConfigMap = Resource("", "v1", "ConfigMap", "configmaps")
Secret = Resource("", "v1", "Secret", "secrets")
Service = Resource("", "v1", "Service", "services")
ServiceAccount = Resource("", "v1", "ServiceAccount", "serviceaccounts")
Endpoints = Resource("", "v1", "Endpoints", "endpoints")
Pod = Resource("", "v1", "Pod", "pods")
ReplicationController = Resource("", "v1", "ReplicationController", "replicationcontrollers")
PodTemplate = Resource("", "v1", "PodTemplate", "podtemplates")
LimitRange = Resource("", "v1", "LimitRange", "limitranges")
ResourceQuota = Resource("", "v1", "ResourceQuota", "resourcequotas")
PersistentVolumeClaim = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
PersistentVolume = Resource("", "v1", "PersistentVolume", "persistentvolumes", namespaced=False)
Namespace = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
Node = Resource("", "v1", "Node", "nodes", namespaced=False)
CoreEvent = Resource("", "v1", "Event", "events")

Deployment = Resource("apps", "v1", "Deployment", "deployments")
ReplicaSet = Resource("apps", "v1", "ReplicaSet", "replicasets")
StatefulSet = Resource("apps", "v1", "StatefulSet", "statefulsets")
DaemonSet = Resource("apps", "v1", "DaemonSet", "daemonsets")
ControllerRevision = Resource("apps", "v1", "ControllerRevision", "controllerrevisions")

Job = Resource("batch", "v1", "Job", "jobs")
CronJob = Resource("batch", "v1", "CronJob", "cronjobs")

HorizontalPodAutoscaler = Resource(
    "autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers"
)
PodDisruptionBudget = Resource("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets")
Ingress = Resource("networking.k8s.io", "v1", "Ingress", "ingresses")
IngressClass = Resource(
    "networking.k8s.io", "v1", "IngressClass", "ingressclasses", namespaced=False
)
NetworkPolicy = Resource("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies")
EndpointSlice = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
StorageClass = Resource("storage.k8s.io", "v1", "StorageClass", "storageclasses", namespaced=False)
PriorityClass = Resource(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", namespaced=False
)

Role = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles")
RoleBinding = Resource("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings")
ClusterRole = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", namespaced=False
)
ClusterRoleBinding = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False
)

MutatingWebhookConfiguration = Resource(
    "admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations", namespaced=False,
)  # fmt: skip
ValidatingWebhookConfiguration = Resource(
    "admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations", namespaced=False,
)  # fmt: skip
CustomResourceDefinition = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions",
    namespaced=False,
)  # fmt: skip
APIService = Resource("apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False)
CertificateSigningRequest = Resource(
    "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests",
    namespaced=False,
)  # fmt: skip

Lease = Resource("coordination.k8s.io", "v1", "Lease", "leases")
Event = Resource("events.k8s.io", "v1", "Event", "events")

SelfSubjectAccessReview = Resource(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews",
    namespaced=False,
)  # fmt: skip
SubjectAccessReview = Resource(
    "authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", namespaced=False
)
SelfSubjectRulesReview = Resource(
    "authorization.k8s.io", "v1", "SelfSubjectRulesReview", "selfsubjectrulesreviews",
    namespaced=False,
)  # fmt: skip
SelfSubjectReview = Resource(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False
)
TokenReview = Resource(
    "authentication.k8s.io", "v1", "TokenReview", "tokenreviews", namespaced=False
)

BUILT_IN: tuple[Resource, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Resource)
)
"""Every kind above; clients map manifests of these without asking the server."""
