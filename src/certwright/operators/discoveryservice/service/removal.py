"""In which order a control plane goes.

The webhook configuration is first, so that no Pod waits for a webhook that is gone; the pods
follow, then what they need: certificates before their authority, and what they may do at last.
"""

from collections.abc import Iterable
from typing import Final

from certwright.apply import ObjectRef

_GROUPS: Final = (
    ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"),
    ("Deployment",),
    ("Service", "PodDisruptionBudget"),
    ("ConfigMap",),
    ("DiscoveryServiceCertificate",),
    ("RoleBinding", "ClusterRoleBinding"),
    ("Role", "ClusterRole"),
    (),
)
"""Kinds that go one after the other; kinds that are not listed go at last."""
_RANKS: Final = {kind: rank for rank, kinds in enumerate(_GROUPS) for kind in kinds}
_LAST: Final = len(_GROUPS) - 1


def removal_groups(refs: Iterable[ObjectRef], authority: ObjectRef) -> list[list[ObjectRef]]:
    """Return objects in groups that are deleted one after the other, first to last."""
    groups: dict[float, list[ObjectRef]] = {}
    for ref in refs:
        rank: float = _RANKS.get(ref.kind, _LAST)
        if ref == authority:
            rank += 0.5  # what it signed goes before it
        groups.setdefault(rank, []).append(ref)
    return [groups[rank] for rank in sorted(groups)]
