"""Roles for users, and what cert-manager itself may approve."""

from typing import Final

from certwright.operators.certmanager.overlays.bundlecopy import BundleCopy
from certwright.operators.certmanager.request import InstallRequest

AGGREGATION: Final = "rbac.authorization.k8s.io/aggregate-to-"
_APPROVE: Final = "-controller-approve:cert-manager-io"


def roles(copy: BundleCopy, request: InstallRequest) -> None:
    """Leave out the labels that add roles to others, and the right to approve, on request."""
    if not request.aggregate_cluster_roles:
        for role in copy.of("ClusterRole"):
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
