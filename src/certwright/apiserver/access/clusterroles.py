"""The roles every cluster has, and to whom they are bound: read from ``clusterroles.ini``."""

from collections.abc import Iterator
from typing import Final

from certwright.apiserver.access.rbac import RBAC
from certwright.apiserver.datafiles import read_sections
from certwright.kube.objects import JsonObject

_VERBS: Final = {
    "read": "get list watch",
    "write": "create delete deletecollection patch update",
    "any": "create delete deletecollection get list patch update watch",
}
_AGGREGATED: Final = f"{RBAC}/aggregate-to-"
_ROLES: Final = read_sections(__package__, "clusterroles.ini")


def initial_roles() -> Iterator[JsonObject]:
    """Yield the ClusterRoles; view, edit and admin collect the rules of others."""
    for name, role in _ROLES.items():
        lines = role.get("rules", "").split("\n")[1:]
        labels = {_AGGREGATED + role["into"]: "true"} if "into" in role else {}
        yield {
            "apiVersion": f"{RBAC}/v1",
            "kind": "ClusterRole",
            "metadata": _metadata(name, labels),
            "rules": [_rule(line) for line in lines] or None,
        } | ({} if lines else {"aggregationRule": _collecting(name)})


def initial_bindings() -> Iterator[JsonObject]:
    """Yield the ClusterRoleBindings to groups."""
    for name, role in _ROLES.items():
        groups = role.get("groups", "").split()
        if groups:
            yield {
                "apiVersion": f"{RBAC}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": _metadata(name, {}),
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
                "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": each} for each in groups],
            }


def _rule(line: str) -> JsonObject:
    verbs, *what = line.split(" | ")
    allowed = _VERBS.get(verbs, verbs).split()
    if len(what) == 1:
        return {"nonResourceURLs": what[0].split(), "verbs": allowed}
    groups = ["" if group == "core" else group for group in what[0].split()]
    return {"apiGroups": groups, "resources": what[1].split(), "verbs": allowed}


def _metadata(name: str, labels: dict[str, str]) -> JsonObject:
    labels = {"kubernetes.io/bootstrapping": "rbac-defaults", **labels}
    annotations = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
    return {"name": name, "labels": labels, "annotations": annotations}


def _collecting(name: str) -> JsonObject:
    return {"clusterRoleSelectors": [{"matchLabels": {_AGGREGATED + name: "true"}}]}
