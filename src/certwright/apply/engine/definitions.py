"""Definitions and namespaces that arrive in the same pass as what needs them."""

from collections.abc import Iterable
from typing import Any

from certwright.apply.changeset import Action
from certwright.apply.cluster import Live
from certwright.apply.engine.declared import Declared
from certwright.apply.engine.findings import Finding
from certwright.apply.refs import ObjectRef
from certwright.kube import GroupVersionKind, JsonObject, Resource, find_condition, is_true
from certwright.kube.conditions import conditions_of

_MISSED = frozenset({Action.FAILED, Action.BLOCKED})


class Definitions:
    """What one pass brings that its other objects need, and what of it is not ready."""

    def __init__(self, wanted: Iterable[Declared] = ()) -> None:
        self.young = False
        """Whether something was created that the server may take a moment to know everywhere."""
        self._kinds: set[tuple[str, str]] = set()
        self._namespaces: set[str] = set()
        self._served: dict[GroupVersionKind, Resource] = {}
        self._missing_kinds: dict[tuple[str, str], ObjectRef] = {}
        self._missing_namespaces: dict[str, ObjectRef] = {}
        for one in wanted:
            if is_definition(one.ref):
                self._kinds.add(_defined(one.obj))
            elif is_namespace(one.ref):
                self._namespaces.add(one.ref.name)

    def brings(self, ref: ObjectRef) -> bool:
        """Return whether the pass brings the kind or the namespace of an object."""
        return (ref.group, ref.kind) in self._kinds or ref.namespace in self._namespaces

    def waits_for(self, ref: ObjectRef) -> str:
        """Return what has to be there before an object can be; empty if nothing is missing."""
        missing = self._missing_kinds.get((ref.group, ref.kind))
        missing = missing or self._missing_namespaces.get(ref.namespace)
        return f"it waits for {missing}" if missing else ""

    def resource(self, gvk: GroupVersionKind) -> Resource | None:
        """Return how a kind is served whose definition the pass brought."""
        return self._served.get(gvk)

    def note(self, obj: JsonObject, finding: Finding) -> None:
        """Take note of what became of a definition or a namespace."""
        ref, action = finding.entry.ref, finding.entry.action
        if is_namespace(ref):
            if action in _MISSED:
                self._missing_namespaces[ref.name] = ref
        elif finding.live is None or not is_established(finding.live):
            self._missing_kinds[_defined(obj)] = ref
        else:
            self._served.update(_resources(finding.live.obj["spec"]))
        self.young |= action in {Action.CREATED, Action.CONFIGURED, Action.RECREATED}


def is_definition(ref: ObjectRef) -> bool:
    """Return whether an object defines a kind."""
    return (ref.group, ref.kind) == ("apiextensions.k8s.io", "CustomResourceDefinition")


def is_namespace(ref: ObjectRef) -> bool:
    """Return whether an object is a namespace."""
    return (ref.api_version, ref.kind) == ("v1", "Namespace")


def is_established(live: Live) -> bool:
    """Return whether a definition's kind is served."""
    return is_true(conditions_of(live.obj), "Established")


def is_decided(live: Live) -> bool:
    """Return whether a definition's kind is served, or never will be."""
    names = find_condition(conditions_of(live.obj), "NamesAccepted")
    return is_established(live) or (names is not None and names.status == "False")


def _defined(obj: JsonObject) -> tuple[str, str]:
    spec: Any = obj.get("spec")
    names: Any = spec.get("names") if isinstance(spec, dict) else None
    if not isinstance(names, dict):
        return ("", "")
    return (str(spec.get("group") or ""), str(names.get("kind") or ""))


def _resources(spec: JsonObject) -> dict[GroupVersionKind, Resource]:
    names, namespaced = spec["names"], spec["scope"] == "Namespaced"
    served = (version["name"] for version in spec["versions"] if version.get("served"))
    resources = (
        Resource(spec["group"], version, names["kind"], names["plural"], namespaced)
        for version in served
    )
    return {resource.gvk: resource for resource in resources}
