"""ServiceAccounts, roles, and the Secrets with which images are pulled."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from certwright.kube import JsonObject
from certwright.operators.certmanager.flags.checks import POD_NAMESPACE
from certwright.operators.certmanager.flags.effective import EffectiveFlags
from certwright.operators.certmanager.overlays.bundlecopy import (
    BundleCopy,
    ComponentObjects,
    child,
)
from certwright.operators.certmanager.request import Component, InstallRequest

_RBAC: Final = "rbac.authorization.k8s.io"
AGGREGATION: Final = f"{_RBAC}/aggregate-to-"
SERVING: Final = ":dynamic-serving"
_APPROVE: Final = "-controller-approve:cert-manager-io"
_ONLY_AGGREGATED: Final = "-cluster-view"
"""A role that is bound to no user and does nothing but extend another."""
_TOKENS: Final = "serviceaccounts/token"


def service_accounts(copy: BundleCopy) -> None:
    """Name, label and annotate the ServiceAccounts; bindings and pods follow the names."""
    for one in copy.components():
        wanted = one.wanted.service_account
        if wanted is None:
            continue
        old = str(one.pod.get("serviceAccountName") or "default")
        created = wanted.get("create") is not False
        new = str(wanted.get("name") or (old if created else "default"))
        account = copy.find("ServiceAccount", old)
        shared = copy.find("ServiceAccount", new) if new != old else None
        if account is not None:
            _describe(shared or account, new, wanted)
            if shared is not None or not created:
                copy.remove(account)
        if new != old:
            one.pod["serviceAccountName"] = new
            _rename_in_roles(copy, one, old, new)


def pull_secrets(copy: BundleCopy, request: InstallRequest) -> None:
    """Let pods pull images with Secrets.

    They are named in the pods. The list in a ServiceAccount is shared with the cluster, which adds
    Secrets of its own on some platforms, so a kept ServiceAccount leaves it as it is.
    """
    names = [*request.images.pull_secrets]
    given = request.pull_secret
    if given is not None and given.required and given.name not in names:
        names.append(given.name)
    if names:
        for one in copy.components():
            one.pod["imagePullSecrets"] = [{"name": name} for name in names]


def _describe(account: JsonObject, name: str, wanted: JsonObject) -> None:
    metadata = account["metadata"]
    metadata["name"] = name
    for part in ("annotations", "labels"):
        if wanted.get(part):
            child(metadata, part).update(wanted[part])
    automount = wanted.get("automountServiceAccountToken")
    if automount is not None:
        account["automountServiceAccountToken"] = automount


def _rename_in_roles(copy: BundleCopy, one: ComponentObjects, old: str, new: str) -> None:
    """Name the account in bindings, and in the role that lets it ask for its own tokens."""
    for binding in copy.of_component(one.component, "RoleBinding", "ClusterRoleBinding"):
        for subject in binding.get("subjects") or ():
            if subject.get("kind") == "ServiceAccount" and subject.get("name") == old:
                subject["name"] = new
    for role in copy.of_component(one.component, "Role"):
        for rule in role.get("rules") or ():
            if _TOKENS in (rule.get("resources") or ()) and rule.get("resourceNames") == [old]:
                rule["resourceNames"] = [new]


def roles(copy: BundleCopy, request: InstallRequest) -> None:
    """Leave out the labels that add roles to others, and the right to approve, on request."""
    if not request.aggregate_cluster_roles:
        for role in copy.of("ClusterRole"):
            if role["metadata"]["name"].endswith(_ONLY_AGGREGATED):
                copy.remove(role)
            labels = role["metadata"].get("labels") or {}
            for name in [name for name in labels if name.startswith(AGGREGATION)]:
                del labels[name]
    for obj in copy.of("ClusterRole", "ClusterRoleBinding"):
        if not obj["metadata"]["name"].endswith(_APPROVE):
            continue
        if not request.auto_approval:
            copy.remove(obj)
        elif request.approve_signer_names:
            for rule in obj.get("rules") or ():
                rule["resourceNames"] = list(request.approve_signer_names)


def metrics_authorities(
    copy: BundleCopy, flags: Mapping[Component, EffectiveFlags], namespace: str
) -> None:
    """Let a component keep the authority of its metrics in a Secret of the install namespace.

    The controller may do so anyway. For a Secret elsewhere, the right has to be granted there.
    """
    for one in copy.components():
        secret = _metrics_secret(one, flags[one.component], namespace)
        if not secret or one.component is Component.CONTROLLER:
            continue
        if one.component is Component.CAINJECTOR:
            for obj in _serving(one, secret):
                copy.add(obj)
        for role in copy.of_component(one.component, "Role"):
            for rule in role.get("rules") or ():
                names = rule.get("resourceNames") or ()
                if role["metadata"]["name"].endswith(SERVING) and names and secret not in names:
                    rule["resourceNames"] = [*names, secret]


def _serving(one: ComponentObjects, secret: str) -> Iterator[JsonObject]:
    """Yield a Role for a Secret, as the webhook has one for its own, and its binding."""
    own = one.deployment["metadata"]
    labels = dict(own.get("labels") or {})
    metadata = {"name": f"{one.name}{SERVING}", "namespace": own["namespace"], "labels": labels}
    secrets = {"apiGroups": [""], "resources": ["secrets"]}
    account = one.pod.get("serviceAccountName") or "default"
    yield {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "Role",
        "metadata": metadata,
        "rules": [
            {**secrets, "resourceNames": [secret], "verbs": ["get", "list", "watch", "update"]},
            {**secrets, "verbs": ["create"]},
        ],
    }
    yield {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "RoleBinding",
        "metadata": deepcopy(metadata),
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": metadata["name"]},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": own["namespace"]}],
    }


def _metrics_secret(one: ComponentObjects, flags: EffectiveFlags, namespace: str) -> str:
    """Return the Secret of the metrics' authority; empty if it is elsewhere, or there is none."""
    tls: Any = (one.wanted.config or {}).get("metricsTLSConfig") or {}
    dynamic = tls.get("dynamic") or {}
    prefix = "metrics-dynamic-serving-ca-secret"
    name = flags.value(f"{prefix}-name") or str(dynamic.get("secretName") or "")
    at = flags.value(f"{prefix}-namespace") or str(dynamic.get("secretNamespace") or "")
    return name if at.replace(POD_NAMESPACE, namespace) == namespace else ""
