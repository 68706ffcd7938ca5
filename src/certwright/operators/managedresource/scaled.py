"""Which workloads an autoscaler scales: their number of replicas is not ours to say."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from certwright.apply import ObjectRef
from certwright.kube import GroupVersionKind, JsonObject
from certwright.operators.managedresource.equivalences import Equivalences


@dataclass(frozen=True, slots=True)
class Scaled:
    """The workloads that HorizontalPodAutoscalers name, and what is wrong with those."""

    targets: frozenset[tuple[str, str, str, str]]
    warnings: tuple[str, ...]
    equivalences: Equivalences

    def __contains__(self, ref: ObjectRef) -> bool:
        return self.equivalences.canonical(ref) in self.targets


def scale_targets(autoscalers: Iterable[JsonObject], equivalences: Equivalences) -> Scaled:
    """Return what autoscalers scale.

    One whose target cannot be understood is a warning and protects nothing; the others are not
    affected by it.
    """
    targets, warnings = set(), []
    for autoscaler in autoscalers:
        ref = ObjectRef.of(autoscaler)
        spec: Any = autoscaler.get("spec")
        target: Any = spec.get("scaleTargetRef") if isinstance(spec, dict) else None
        target = target if isinstance(target, dict) else {}
        api_version, kind = str(target.get("apiVersion") or ""), str(target.get("kind") or "")
        try:
            GroupVersionKind.parse(api_version, kind)
        except ValueError as error:
            warnings.append(f"{ref} names a target that is none: {error}")
            continue
        name = str(target.get("name") or "")
        targets.add(equivalences.canonical(ObjectRef(api_version, kind, ref.namespace, name)))
    return Scaled(frozenset(targets), tuple(warnings), equivalences)
