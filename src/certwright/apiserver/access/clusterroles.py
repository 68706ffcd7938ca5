"""The roles every cluster has, and to whom they are bound."""

from collections.abc import Iterator
from typing import Final

from certwright.apiserver.access.rbac import EVERYTHING, RBAC
from certwright.apiserver.access.users import AUTHENTICATED, MASTERS
from certwright.kube.objects import JsonObject

_READ: Final = "get list watch"
_WRITE: Final = "create delete deletecollection patch update"
_ANY: Final = "create delete deletecollection get list patch update watch"
_CORE: Final = ""

_VIEW: Final = (
    (_READ, _CORE, ("configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods"
     " replicationcontrollers replicationcontrollers/scale serviceaccounts services"
     " services/status")),
    (_READ, _CORE, ("bindings limitranges namespaces/status pods/log pods/status"
     " replicationcontrollers/status resourcequotas resourcequotas/status")),
    (_READ, _CORE, "namespaces"),
    (_READ, "core events.k8s.io", "events"),
    (_READ, "discovery.k8s.io", "endpointslices"),
    (_READ, "apps", ("controllerrevisions daemonsets daemonsets/status deployments"
     " deployments/scale deployments/status replicasets replicasets/scale replicasets/status"
     " statefulsets statefulsets/scale statefulsets/status")),
    (_READ, "autoscaling", "horizontalpodautoscalers horizontalpodautoscalers/status"),
    (_READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
    (_READ, "extensions", ("daemonsets daemonsets/status deployments deployments/scale"
     " deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale"
     " replicasets/status replicationcontrollers/scale")),
    (_READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
    (_READ, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
    (_READ, "resource.k8s.io", "resourceclaims resourceclaims/status resourceclaimtemplates"),
)  # fmt: skip
_EDIT: Final = (
    (_READ, _CORE, "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy"),
    ("impersonate", _CORE, "serviceaccounts"),
    (_WRITE, _CORE, "pods pods/attach pods/exec pods/portforward pods/proxy"),
    ("create", _CORE, "pods/eviction"),
    (_WRITE, _CORE, ("configmaps persistentvolumeclaims replicationcontrollers"
     " replicationcontrollers/scale secrets serviceaccounts services services/proxy")),
    ("create", _CORE, "serviceaccounts/token"),
    (_WRITE, "core events.k8s.io", "events"),
    (_WRITE, "apps", ("daemonsets deployments deployments/rollback deployments/scale replicasets"
     " replicasets/scale statefulsets statefulsets/scale")),
    (_WRITE, "autoscaling", "horizontalpodautoscalers"),
    (_WRITE, "batch", "cronjobs jobs"),
    (_WRITE, "extensions", ("daemonsets deployments deployments/rollback deployments/scale"
     " ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale")),
    (_WRITE, "policy", "poddisruptionbudgets"),
    (_WRITE, "networking.k8s.io", "ingresses networkpolicies"),
    (_ANY, "coordination.k8s.io", "leases"),
    (_WRITE, "resource.k8s.io", "resourceclaims resourceclaimtemplates"),
)  # fmt: skip
_ADMIN: Final = (
    ("create", "authorization.k8s.io", "localsubjectaccessreviews"),
    (_ANY, RBAC, "rolebindings roles"),
)
_BASIC: Final = (
    ("create", "authorization.k8s.io", "selfsubjectaccessreviews selfsubjectrulesreviews"),
    ("create", "authentication.k8s.io", "selfsubjectreviews"),
)
_DISCOVERY: Final = (
    "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/"
)
_PUBLIC: Final = "/healthz /livez /readyz /version /version/"
_MONITORING: Final = (
    "/flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz"
)
_ISSUER: Final = (
    "/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks"
    " /openid/v1/jwks/"
)
_AGGREGATED: Final = f"{RBAC}/aggregate-to-"
_BOUND: Final = {
    "cluster-admin": (MASTERS,),
    "system:basic-user": (AUTHENTICATED,),
    "system:discovery": (AUTHENTICATED,),
    "system:monitoring": ("system:monitoring",),
    "system:public-info-viewer": (AUTHENTICATED, "system:unauthenticated"),
    "system:service-account-issuer-discovery": ("system:serviceaccounts",),
}


def initial_roles() -> Iterator[JsonObject]:
    """Yield the ClusterRoles; view, edit and admin collect the rules of others."""
    monitoring = [_paths(_MONITORING), *_rules((("get", _CORE, "nodes/metrics"),))]
    yield _role("cluster-admin", list(EVERYTHING))
    yield _role("system:basic-user", _rules(_BASIC))
    yield _role("system:discovery", [_paths(_DISCOVERY)])
    yield _role("system:monitoring", monitoring)
    yield _role("system:public-info-viewer", [_paths(_PUBLIC)])
    yield _role("system:service-account-issuer-discovery", [_paths(_ISSUER)])
    yield _role("system:aggregate-to-view", _rules(_VIEW), aggregate_to="view")
    yield _role("system:aggregate-to-edit", _rules(_EDIT), aggregate_to="edit")
    yield _role("system:aggregate-to-admin", _rules(_ADMIN), aggregate_to="admin")
    yield _aggregate("view", aggregate_to="edit")
    yield _aggregate("edit", aggregate_to="admin")
    yield _aggregate("admin")


def initial_bindings() -> Iterator[JsonObject]:
    """Yield the ClusterRoleBindings to groups."""
    for name, groups in _BOUND.items():
        yield {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": _metadata(name),
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups],
        }


def _rules(table: tuple[tuple[str, str, str], ...]) -> list[JsonObject]:
    """Read verbs, groups and resources; the core group is empty, or ``core`` among others."""
    return [
        {
            "apiGroups": ["" if group == "core" else group for group in groups.split(" ")],
            "resources": resources.split(),
            "verbs": verbs.split(),
        }
        for verbs, groups, resources in table
    ]


def _paths(paths: str) -> JsonObject:
    return {"nonResourceURLs": paths.split(), "verbs": ["get"]}


def _metadata(name: str, aggregate_to: str = "") -> JsonObject:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    if aggregate_to:
        labels[_AGGREGATED + aggregate_to] = "true"
    annotations = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    return {"name": name, "labels": labels, "annotations": annotations}


def _role(name: str, rules: list[JsonObject] | None, *, aggregate_to: str = "") -> JsonObject:
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": _metadata(name, aggregate_to),
        "rules": rules,
    }


def _aggregate(name: str, *, aggregate_to: str = "") -> JsonObject:
    selector = {"matchLabels": {_AGGREGATED + name: "true"}}
    role = _role(name, None, aggregate_to=aggregate_to)
    return {**role, "aggregationRule": {"clusterRoleSelectors": [selector]}}
