"""A release of cert-manager with as few objects as it needs to be played, for runs by the thousand."""

from functools import cache

from certwright.bundles.bundle import encode, make_bundle
from certwright.bundles.sources import PackedBundle
from certwright.kube import JsonObject
from certwright.testkit.actors.certmanager import small_release

_LEFT_OUT = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"})
_DEFINITIONS = frozenset({"certificates.cert-manager.io", "issuers.cert-manager.io"})
_FIRST_OF_ONE = 7
"""The first minor version whose kinds have only one version."""
_TOKENS = "cert-manager-tokenrequest"


def tiny_release(version: str) -> list[JsonObject]:
    """Return the objects of a version: one role for each account, and what only some versions have."""
    objects = small_release(version)
    if int(version.split(".")[1]) < _FIRST_OF_ONE:
        for one in objects:
            if one["kind"] == "CustomResourceDefinition":
                [latest] = one["spec"]["versions"]
                early = {**latest, "name": "v1alpha2", "storage": False}
                one["spec"]["versions"] = [latest, early]
    return [
        *(one for one in objects if _is_kept(one)),
        *(
            part
            for app in ("cert-manager", "cainjector", "webhook")
            for part in _role(objects, app)
        ),
        *(one for one in objects if one["metadata"]["name"] == _TOKENS),
    ]


@cache
def tiny_bundle(version: str) -> PackedBundle:
    """Return the bundle of a tiny release."""
    return PackedBundle.read(encode(make_bundle(version, tiny_release(version))), version)


def _is_kept(one: JsonObject) -> bool:
    if one["kind"] == "CustomResourceDefinition":
        return one["metadata"]["name"] in _DEFINITIONS
    if one["kind"] == "Service":
        return bool(one["metadata"]["name"] == "cert-manager-webhook")
    return one["kind"] not in _LEFT_OUT


def _role(objects: list[JsonObject], app: str) -> list[JsonObject]:
    """Return one ClusterRole with all that an account may do, and its binding."""
    of_app = [
        one
        for one in objects
        if one["metadata"].get("labels", {}).get("app") == app
        and one["metadata"]["name"] != _TOKENS
    ]
    roles = [one for one in of_app if one["kind"] in {"Role", "ClusterRole"}]
    bindings = [one for one in of_app if one["kind"] == "ClusterRoleBinding"]
    name = {
        "name": f"{bindings[0]['subjects'][0]['name']}-all",
        "labels": roles[0]["metadata"]["labels"],
    }
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": name,
        "rules": [rule for one in roles for rule in one["rules"]],
    }
    reference = {**bindings[0]["roleRef"], "name": name["name"]}
    return [role, {**bindings[0], "metadata": name, "roleRef": reference}]
