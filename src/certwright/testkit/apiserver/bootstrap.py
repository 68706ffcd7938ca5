"""What every cluster has from the start: namespaces, and roles that others build on."""

from typing import Final

from certwright.kube.objects import JsonObject
from certwright.testkit.apiserver.backend import Backend
from certwright.testkit.apiserver.options import WriteOptions
from certwright.testkit.apiserver.users import AUTHENTICATED, MASTERS
from certwright.testkit.apiserver.writes import Writes

_RBAC: Final = "rbac.authorization.k8s.io"
_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_READ: Final = ["get", "list", "watch"]
_WRITE: Final = ["create", "delete", "deletecollection", "patch", "update"]
_DISCOVERY: Final = [
    "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*",
    "/readyz", "/version", "/version/",
]  # fmt: skip
_PUBLIC: Final = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_AGGREGATED: Final = f"{_RBAC}/aggregate-to-"


def create_initial_objects(backend: Backend, writes: Writes) -> None:
    """Store what a new cluster holds, as far as the kinds are served."""
    options = WriteOptions("kube-apiserver", "Ignore")
    objects = [*_namespaces(), *_roles(backend), *_bindings()]
    for plural, obj in objects:
        group, _, version = obj["apiVersion"].rpartition("/")
        kind = backend.registry.find(group, version, plural)
        if kind is not None:
            writes.create(kind, "", obj, options)


def _namespaces() -> list[tuple[str, JsonObject]]:
    return [
        ("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        for name in _NAMESPACES
    ]


def _roles(backend: Backend) -> list[tuple[str, JsonObject]]:
    reviews = {
        "apiGroups": ["authorization.k8s.io"],
        "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        "verbs": ["create"],
    }
    identity = {
        "apiGroups": ["authentication.k8s.io"],
        "resources": ["selfsubjectreviews"],
        "verbs": ["create"],
    }
    everything = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    return [
        _role("cluster-admin", everything),
        _role("system:basic-user", [reviews, identity]),
        _role("system:discovery", [{"nonResourceURLs": _DISCOVERY, "verbs": ["get"]}]),
        _role("system:public-info-viewer", [{"nonResourceURLs": _PUBLIC, "verbs": ["get"]}]),
        *_user_roles(backend),
    ]


def _user_roles(backend: Backend) -> list[tuple[str, JsonObject]]:
    """Return view, edit and admin, which collect the rules of the roles labelled for them."""
    found: dict[str, list[str]] = {}
    for kind in backend.registry:
        resource = kind.resource
        if resource.namespaced and "list" in kind.verbs:
            found.setdefault(resource.group, []).append(resource.plural)
    roles = found.pop(_RBAC, [])
    view, edit = [], []
    for group, plurals in sorted(found.items()):
        shown = sorted(plural for plural in plurals if plural != "secrets")
        view.append({"apiGroups": [group], "resources": shown, "verbs": _READ})
        edit.append({"apiGroups": [group], "resources": sorted(plurals), "verbs": _WRITE})
    edit.append({"apiGroups": [""], "resources": ["secrets"], "verbs": _READ})
    admin = [{"apiGroups": [_RBAC], "resources": sorted(roles), "verbs": [*_READ, *_WRITE]}]
    return [
        _role("system:aggregate-to-view", view, aggregate_to="view"),
        _role("system:aggregate-to-edit", edit, aggregate_to="edit"),
        _role("system:aggregate-to-admin", admin, aggregate_to="admin"),
        _aggregate("view", aggregate_to="edit"),
        _aggregate("edit", aggregate_to="admin"),
        _aggregate("admin"),
    ]


def _role(
    name: str, rules: list[JsonObject] | None, *, aggregate_to: str = ""
) -> tuple[str, JsonObject]:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults"}
    if aggregate_to:
        labels[_AGGREGATED + aggregate_to] = "true"
    role = {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": labels},
        "rules": rules,
    }
    return "clusterroles", role


def _aggregate(name: str, *, aggregate_to: str = "") -> tuple[str, JsonObject]:
    plural, role = _role(name, None, aggregate_to=aggregate_to)
    selector = {"matchLabels": {_AGGREGATED + name: "true"}}
    return plural, {**role, "aggregationRule": {"clusterRoleSelectors": [selector]}}


def _bindings() -> list[tuple[str, JsonObject]]:
    granted = {
        "cluster-admin": [MASTERS],
        "system:basic-user": [AUTHENTICATED],
        "system:discovery": [AUTHENTICATED],
        "system:public-info-viewer": [AUTHENTICATED, "system:unauthenticated"],
    }
    return [
        (
            "clusterrolebindings",
            {
                "apiVersion": f"{_RBAC}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {
                    "name": name,
                    "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
                },
                "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name},
                "subjects": [
                    {"apiGroup": _RBAC, "kind": "Group", "name": group} for group in groups
                ],
            },
        )
        for name, groups in granted.items()
    ]
