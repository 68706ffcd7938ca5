"""Webhook configurations, read for matching. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from certwright.apiserver.cel.conditions import MatchCondition
from certwright.kube.objects import JsonObject
from certwright.kube.selectors import LabelSelector

GROUP: Final = "admissionregistration.k8s.io"
MUTATING: Final = (GROUP, "mutatingwebhookconfigurations")
VALIDATING: Final = (GROUP, "validatingwebhookconfigurations")
EXEMPT: Final = frozenset({
    MUTATING[1], VALIDATING[1], "validatingadmissionpolicies", "validatingadmissionpolicybindings",
    "mutatingadmissionpolicies", "mutatingadmissionpolicybindings",
})  # fmt: skip
"""Resources of the group that webhooks are never asked about: a bad one could not be removed."""


@dataclass(frozen=True, slots=True)
class RuleWithOperations:
    """Which requests a webhook wants to be asked about."""

    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    """Resource and subresource, each of which may be a ``*``."""
    operations: frozenset[str]
    scope: str

    @classmethod
    def of(cls, rule: JsonObject) -> "RuleWithOperations":
        """Read a rule of a configuration."""
        pairs = [each.partition("/") for each in rule.get("resources") or ()]
        return cls(
            frozenset(rule.get("apiGroups") or ()),
            frozenset(rule.get("apiVersions") or ()),
            tuple((resource, subresource) for resource, _, subresource in pairs),
            frozenset(rule.get("operations") or ()),
            rule.get("scope") or "*",
        )


@dataclass(frozen=True)
class AdmissionWebhook:
    """One webhook of a configuration."""

    uid: str
    """Tells it apart from every other one."""
    document: JsonObject

    @property
    def name(self) -> str:
        """What refusals call it."""
        name: str = self.document["name"]
        return name

    @cached_property
    def rules(self) -> tuple[RuleWithOperations, ...]:
        """What it wants to be asked about; any rule suffices."""
        return tuple(RuleWithOperations.of(rule) for rule in self.document.get("rules") or ())

    @cached_property
    def namespaces(self) -> LabelSelector:
        """The namespaces it is for."""
        return LabelSelector.from_spec(self.document.get("namespaceSelector") or {})

    @cached_property
    def objects(self) -> LabelSelector:
        """The objects it is for."""
        return LabelSelector.from_spec(self.document.get("objectSelector") or {})

    @cached_property
    def conditions(self) -> tuple[MatchCondition, ...]:
        """What must hold besides."""
        found = self.document.get("matchConditions") or ()
        return tuple(MatchCondition(each["expression"]) for each in found)

    @property
    def takes_equivalents(self) -> bool:
        """Whether it wants to be asked about the same object in other versions, too."""
        return bool(self.document.get("matchPolicy") != "Exact")

    @property
    def ignores_failures(self) -> bool:
        """Whether a request goes on when it cannot be called."""
        return bool(self.document.get("failurePolicy") == "Ignore")

    @property
    def is_reinvocable(self) -> bool:
        """Whether it is asked again when others changed the object after it."""
        return bool(self.document.get("reinvocationPolicy") == "IfNeeded")

    @property
    def review_version(self) -> str:
        """The version of AdmissionReview it prefers of those there are; empty if none."""
        versions = self.document.get("admissionReviewVersions") or ()
        return next((each for each in versions if each in {"v1", "v1beta1"}), "")

    def may_concern(self, plural: str, subresource: str) -> bool:
        """Return whether any rule is about a resource, whatever its group and version."""
        return any(
            resource in {"*", plural} and part in {"*", subresource}
            for rule in self.rules
            for resource, part in rule.resources
        )


def webhooks_of(configurations: Iterable[JsonObject]) -> Iterator[AdmissionWebhook]:
    """Yield the webhooks of configurations, which are sorted by name, in the order of calls."""
    for configuration in configurations:
        place = configuration["metadata"]["name"]
        for index, webhook in enumerate(configuration.get("webhooks") or ()):
            yield AdmissionWebhook(f"{place}/{webhook.get('name')}/{index}", webhook)
