"""What a controller must be allowed to do, derived from what it declares.

The rules go into generated manifests, so a role cannot fall behind the code.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from certwright.kube import JsonObject, Object, Resource, resource_of
from certwright.kube.kinds import Event, Lease

if TYPE_CHECKING:
    from certwright.runtime.controller import Controller

_READ = ("get", "list", "watch")


class PolicyRule(Struct, frozen=True, order=True):
    """Verbs on one resource, which may be a subresource."""

    group: str
    resource: str
    verbs: tuple[str, ...]


def allow(kind: type[Object] | Resource, *verbs: str, subresource: str = "") -> PolicyRule:
    """Return the rule that allows *verbs* on a kind."""
    resource = resource_of(kind)
    name = f"{resource.plural}/{subresource}" if subresource else resource.plural
    return PolicyRule(resource.group, name, verbs)


def policy_rules(controllers: Iterable["Controller"]) -> list[JsonObject]:
    """Return the rules of a ClusterRole that lets these controllers work, in a stable order."""
    merged: dict[tuple[str, str], set[str]] = {}
    for controller in controllers:
        for rule in _rules(controller):
            merged.setdefault((rule.group, rule.resource), set()).update(rule.verbs)
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": sorted(verbs)}
        for (group, resource), verbs in sorted(merged.items())
    ]


def _rules(controller: "Controller") -> Iterable[PolicyRule]:
    for watched in controller.watched:
        yield allow(watched.resource, *_READ)
    yield allow(controller.resource, "patch")  # finalizers
    yield allow(controller.resource, "patch", subresource="status")
    yield allow(controller.resource, "update", subresource="finalizers")  # blockOwnerDeletion
    for trigger in controller.triggers[1 : 1 + len(controller.owns)]:
        yield allow(trigger.watched.resource, "create", "patch", "delete")
    yield allow(Event, "create", "patch")
    yield allow(Lease, "get", "create", "patch")
    yield from controller.rbac
