"""What a request is about, as webhooks see it. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from certwright.apiserver.access.users import UserInfo
from certwright.apiserver.admission.configuration import AdmissionWebhook, RuleWithOperations
from certwright.kube.objects import GroupVersionKind, GroupVersionResource, JsonObject

CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
DELETE: Final = "DELETE"


@dataclass(frozen=True, slots=True)
class Invocation:
    """A webhook to be asked, and the version in which it wants to see the object."""

    webhook: AdmissionWebhook
    resource: GroupVersionResource
    kind: GroupVersionKind


@dataclass(frozen=True, slots=True)
class AdmissionAttributes:
    """A request to create, update or delete an object."""

    operation: str
    kind: GroupVersionKind
    resource: GroupVersionResource
    subresource: str
    namespace: str
    """Of a request to a namespace itself, its name."""
    name: str
    user: UserInfo
    options: JsonObject
    dry_run: bool = False
    obj: JsonObject | None = None
    old: JsonObject | None = None
    equivalents: Mapping[GroupVersionResource, GroupVersionKind] = field(default_factory=dict)
    """The other versions of the resource, and the kind that each serves."""

    @property
    def is_namespace(self) -> bool:
        """Whether the object is a namespace, whose scope is the cluster."""
        return self.resource.group == "" and self.resource.resource == "namespaces"

    def with_object(self, obj: JsonObject | None) -> "AdmissionAttributes":
        """Return the same request for another state of the object."""
        return replace(self, obj=obj)


def matching_invocation(
    webhook: AdmissionWebhook, attributes: AdmissionAttributes
) -> Invocation | None:
    """Return how a webhook wants to be asked about a request; None if its rules do not match."""
    for rule in webhook.rules:
        if rule_matches(rule, attributes, attributes.resource):
            return Invocation(webhook, attributes.resource, attributes.kind)
    if webhook.takes_equivalents:
        for rule in webhook.rules:
            for resource, kind in attributes.equivalents.items():
                if rule_matches(rule, attributes, resource):
                    return Invocation(webhook, resource, kind)
    return None


def rule_matches(
    rule: RuleWithOperations, attributes: AdmissionAttributes, resource: GroupVersionResource
) -> bool:
    """Return whether a rule is about a request, were it for this version of the resource."""
    return (
        _scope_matches(rule.scope, attributes)
        and _is_among(attributes.operation, rule.operations)
        and _is_among(resource.group, rule.groups)
        and _is_among(resource.version, rule.versions)
        and any(
            name in {"*", resource.resource} and part in {"*", attributes.subresource}
            for name, part in rule.resources
        )
    )


def _scope_matches(scope: str, attributes: AdmissionAttributes) -> bool:
    is_namespaced = bool(attributes.namespace) and not attributes.is_namespace
    return scope == "*" or (scope == "Namespaced") is is_namespaced


def _is_among(value: str, wanted: frozenset[str]) -> bool:
    return value in wanted or "*" in wanted


def objects_match(webhook: AdmissionWebhook, attributes: AdmissionAttributes) -> bool:
    """Return whether the new or the old object has the labels a webhook asks for."""
    selector = webhook.objects
    if not selector.requirements:
        return True
    return any(selector.matches(labels) for labels in _labels(attributes))


def _labels(attributes: AdmissionAttributes) -> Iterator[Mapping[str, str]]:
    for obj in (attributes.obj, attributes.old):
        if obj is not None:
            yield (obj.get("metadata") or {}).get("labels") or {}


def namespace_matches(
    webhook: AdmissionWebhook,
    attributes: AdmissionAttributes,
    namespaces: Mapping[str, Mapping[str, str]],
) -> bool:
    """Return whether the namespace of a request has the labels a webhook asks for.

    *namespaces* are the labels by name; `KeyError` if the one in question does not exist.
    Objects that are in none are never exempt. A namespace that is written is judged as written.
    """
    selector = webhook.namespaces
    is_namespace = attributes.resource.resource == "namespaces"
    if not selector.requirements or (not attributes.namespace and not is_namespace):
        return True
    is_written = attributes.operation in {CREATE, UPDATE} and not attributes.subresource
    if is_namespace and is_written and attributes.obj is not None:
        return selector.matches((attributes.obj.get("metadata") or {}).get("labels") or {})
    return selector.matches(namespaces[attributes.namespace])
