"""What cert-manager itself may do: who creates its roles has to hold the same rules.

Kubernetes lets no one grant what they may not do themselves, unless they may ``escalate`` or
``bind``, which amounts to everything. So the operator holds the rules of the versions it installs.
"""

from collections.abc import Iterable, Iterator

from certwright.bundles.bundle import Bundle
from certwright.kube import JsonObject
from certwright.runtime import PolicyRule

_ROLES = ("ClusterRole", "Role")


def operand_rules(bundles: Iterable[Bundle]) -> list[PolicyRule]:
    """Return the rules of all roles of some versions, each once."""
    found = (
        rule
        for bundle in bundles
        for obj in bundle.objects
        if obj["kind"] in _ROLES
        for part in obj.get("rules") or ()
        for rule in _rules(part)
    )
    return sorted(set(found))


def _rules(part: JsonObject) -> Iterator[PolicyRule]:
    verbs, names = tuple(part.get("verbs") or ()), tuple(part.get("resourceNames") or ())
    for group in part.get("apiGroups") or ():
        for resource in part.get("resources") or ():
            yield PolicyRule(group, resource, verbs, names)
