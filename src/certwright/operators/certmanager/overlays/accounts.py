"""ServiceAccounts, and the Secrets with which images are pulled."""

from certwright.kube import JsonObject
from certwright.operators.certmanager.overlays.bundlecopy import (
    BundleCopy,
    ComponentObjects,
    child,
)
from certwright.operators.certmanager.request import InstallRequest

_TOKENS = "serviceaccounts/token"


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
        if account is not None:
            _describe(account, new, wanted)
            if not created:
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
    if request.pull_secret is not None and request.pull_secret.name not in names:
        names.append(request.pull_secret.name)
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
