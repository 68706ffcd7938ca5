"""From annotations and specs to the rules of the apply engine, which knows neither.

The rules say which labels every object gets and where in it, which workloads an autoscaler scales
(their number of replicas is not ours), and what may be adopted, recreated, kept and deleted.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource, ManagedResourceSpec, ObjectReference
from certwright.apply import Adopt, Declared, DeleteRules, Live, ObjectRef, Rules
from certwright.apply.engine.keptfields import parse_pointer
from certwright.kube import GroupVersionKind, JsonObject
from certwright.kube.durations import parse_duration
from certwright.managed.unique import COLLECTABLE
from certwright.operators.managedresource.declared import Input, ManifestObject, Mode, Refusal
from certwright.operators.managedresource.inventory import (
    Equivalences,
    object_id,
    ref_of,
    reference_to,
)
from certwright.operators.managedresource.ownership import FORMER, PREDECESSOR, Origin, is_foreign

_METADATA: Final = ("metadata",)
_POD_TEMPLATE: Final = ("spec", "template", "metadata")
_JOB_TEMPLATE: Final = ("spec", "jobTemplate", "metadata")
_JOB_POD_TEMPLATE: Final = ("spec", "jobTemplate", "spec", "template", "metadata")


def labels_for_all(inject: Mapping[str, str], managed_by: str) -> dict[str, str]:
    """Return the labels every object gets; the mark of our installation wins."""
    return {**inject, keys.MANAGED_BY: managed_by}


def inject_labels(obj: JsonObject, labels: Mapping[str, str]) -> JsonObject:
    """Return *obj* with labels on it, its pod template and its volume claim templates.

    Labels that are there already are overridden. Of a CronJob the templates of job and pod get
    them too. Places that are not mappings, as custom resources may have them, are left alone.
    The input is not changed.
    """
    if not labels:
        return obj

    def label(metadata: JsonObject) -> JsonObject:
        present = metadata.get("labels")
        present = present if isinstance(present, dict) else {}
        return {**metadata, "labels": {**present, **labels}}

    result = _change(obj, _METADATA, label)
    result = _change(result, _POD_TEMPLATE, label)
    if obj.get("kind") == "CronJob" and str(obj.get("apiVersion")).startswith("batch/"):
        result = _change(result, _JOB_TEMPLATE, label)
        result = _change(result, _JOB_POD_TEMPLATE, label)
    return _label_claims(result, label)


def _label_claims(obj: JsonObject, label: Callable[[JsonObject], JsonObject]) -> JsonObject:
    spec = obj.get("spec")
    claims = spec.get("volumeClaimTemplates") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(claims, list):
        return obj
    changed = [_change(c, _METADATA, label) if isinstance(c, dict) else c for c in claims]
    return {**obj, "spec": {**spec, "volumeClaimTemplates": changed}}


def _change(
    obj: JsonObject, path: tuple[str, ...], change: Callable[[JsonObject], JsonObject]
) -> JsonObject:
    """Return *obj* with the mapping at a path changed; only the last step is created."""
    name, *rest = path
    inner: Any = obj.get(name)
    if inner is None and not rest:
        inner = {}
    if not isinstance(inner, dict):
        return obj
    changed = _change(inner, tuple(rest), change) if rest else change(inner)
    return obj if changed is inner else {**obj, name: changed}


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


SCALED_KINDS: Final = frozenset({"Deployment", "StatefulSet"})
"""The kinds whose replicas an autoscaler may set."""
MOST_IGNORED: Final = 100
"""How many fields of an object may be left to others."""
FORCE_AFTER: Final = timedelta(seconds=10)
"""How long a forced deletion waits for finalizers before it clears them."""

_PROPAGATIONS: Final = ("Background", "Foreground", "Orphan")


@dataclass(frozen=True, slots=True)
class ApplyPlan:
    """What a pass brings to the cluster."""

    declared: tuple[Declared, ...]
    inventory: tuple[ObjectReference, ...]
    """One entry for each of them."""
    refused: tuple[Refusal, ...]


def plan(
    resource: ManagedResource, declared: Input, origin: Origin, managed_by: str, scaled: Scaled
) -> ApplyPlan:
    """Return the objects to apply, each with its rules, and those that cannot be applied."""
    labels = labels_for_all(resource.spec.inject_labels, managed_by)
    whole = resource.metadata.annotations
    take_over = keys.literally(whole.get(keys.TAKE_OVER))
    sent, inventory, refused = [], [], list(declared.refused)
    for item in declared.objects:
        annotations = keys.annotations_of(item.obj)
        try:
            rules = rules_for(item, resource.spec, scaled=item.ref in scaled, take_over=take_over)
            if ignored := ignored_fields(annotations, whole):
                rules = replace(rules, ignored=ignored)
            rules = adopting(rules, annotations.get(keys.ADOPT, whole.get(keys.ADOPT)), managed_by)
        except ValueError as error:
            refused.append(Refusal(item.ref, str(error)))
            continue
        obj = item.obj if item.create_only else _marked(item, labels, origin)
        sent.append(Declared(obj, rules))
        named = {**keys.labels_of(item.obj), **labels}
        inventory.append(reference_to(item.ref, named, annotations))
    return ApplyPlan(tuple(sent), tuple(inventory), tuple(refused))


def rules_for(
    item: ManifestObject, spec: ManagedResourceSpec, *, scaled: bool, take_over: bool
) -> Rules:
    """Return how one object is brought to the cluster; `ValueError` if an annotation is invalid."""
    annotations = keys.annotations_of(item.obj)
    return Rules(
        create_only=item.create_only or item.mode is Mode.ENSURE_EXISTS,
        fall_back=item.mode is Mode.FALL_BACK,
        take_over=take_over or keys.literally(annotations.get(keys.TAKE_OVER)),
        take_over_from=(PREDECESSOR, FORMER),
        preserve_replicas=scaled or keys.literally(annotations.get(keys.PRESERVE_REPLICAS)),
        preserve_resources=keys.literally(annotations.get(keys.PRESERVE_RESOURCES)),
        exact_labels=bool(spec.force_overwrite_labels),
        exact_annotations=bool(spec.force_overwrite_annotations),
        exact_owners=True,
        drop_annotations=(keys.REFERENCE_PREFIX,),
        recreate=keys.truthy(annotations.get(keys.DELETE_ON_INVALID_UPDATE)),
        recreate_propagation=recreate_propagation(item.ref, annotations),
    )


def adopting(rules: Rules, policy: str | None, managed_by: str) -> Rules:
    """Return rules for objects that are there and have no owner; all are adopted by default.

    With ``IfLabelled`` it takes our label: who puts it on an object hands it over. Raises
    `ValueError` if there is no such policy.
    """
    if policy is None or policy == Adopt.ALWAYS:
        return rules
    if policy not in tuple(Adopt):
        raise ValueError(
            f'invalid annotation {keys.ADOPT}: "{policy}" is invalid, supported values: '
            f"[{' '.join(Adopt)}]"
        )
    labels = {keys.MANAGED_BY: managed_by} if policy == Adopt.IF_LABELLED else {}
    return replace(rules, adopt=Adopt(policy), adopt_labels=labels)


def ignored_fields(*annotations: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    """Return the paths that annotations leave to others; `ValueError` if one is no pointer."""
    pointers = [
        pointer
        for found in annotations
        for pointer in str(found.get(keys.IGNORE_FIELDS) or "").replace(",", " ").split()
    ]
    if len(pointers) > MOST_IGNORED:
        raise ValueError(
            f"invalid annotation {keys.IGNORE_FIELDS}: {len(pointers)} fields, of at most "
            f"{MOST_IGNORED}"
        )
    try:
        return tuple(dict.fromkeys(parse_pointer(pointer) for pointer in pointers))
    except ValueError as error:
        raise ValueError(f"invalid annotation {keys.IGNORE_FIELDS}: {error}") from error


def recreate_propagation(ref: ObjectRef, annotations: Mapping[str, str]) -> str:
    """Return what happens to dependents of an object that is recreated; empty for the default.

    Raises:
        ValueError: the annotation names no such thing.
    """
    value = annotations.get(keys.DELETION_PROPAGATION, "")
    if value and value not in _PROPAGATIONS:
        raise ValueError(
            f'invalid deletion propagation policy on object "{object_id(ref)}": "{value}" is '
            f"invalid, supported values: [{' '.join(_PROPAGATIONS)}]"
        )
    return value


def delete_rules(
    resource: ManagedResource, inventory: Iterable[ObjectReference], *, garbage_collected: bool
) -> DeleteRules:
    """Return how objects in the *inventory* of a ManagedResource are deleted.

    *garbage_collected* says that a garbage collector runs, which then decides about
    immutable ConfigMaps and Secrets.
    """
    forced = keys.literally(resource.metadata.annotations.get(keys.FORCE_DELETE))
    created = resource.metadata.creation_timestamp
    adopt = resource.metadata.annotations.get(keys.ADOPT)
    respected = {
        ref_of(entry).identity
        for entry in inventory
        if entry.annotations.get(keys.MODE) == Mode.FALL_BACK.value
        or entry.annotations.get(keys.ADOPT, adopt) not in {None, Adopt.ALWAYS}
    }

    def keep(ref: ObjectRef, live: Live) -> str:
        if is_foreign(live, created, respected=ref.identity in respected):
            return "it was never ours"
        return kept_because(ref, live, garbage_collected=garbage_collected)

    def finalize_after(live: Live) -> timedelta | None:
        return FORCE_AFTER if forced else finalization(live)

    return DeleteRules(
        keep=keep,
        finalize_after=finalize_after,
        claims=bool(resource.spec.delete_persistent_volume_claims),
    )


def kept_because(ref: ObjectRef, live: Live, *, garbage_collected: bool) -> str:
    """Return why an object that is no longer wanted stays; empty if it goes."""
    if keys.truthy(live.annotations.get(keys.KEEP_OBJECT)):
        return f"its annotation {keys.KEEP_OBJECT} says so"
    if live.annotations.get(keys.MODE) == Mode.KEEP.value:
        return f"its mode is {Mode.KEEP}"
    is_config = ref.api_version == "v1" and ref.kind in {"ConfigMap", "Secret"}
    if garbage_collected and is_config and keys.truthy(live.labels.get(COLLECTABLE)):
        return "the garbage collector deletes it once it is unused"
    return ""


def finalization(live: Live) -> timedelta | None:
    """Return after how long finalizers are cleared, None for never; `ValueError` if no duration.

    Zero means never, as does a time before the deletion.
    """
    value = live.annotations.get(keys.FINALIZE_DELETION_AFTER)
    patience = timedelta() if value is None else parse_duration(value)
    return patience if patience > timedelta() else None


def _marked(item: ManifestObject, labels: Mapping[str, str], origin: Origin) -> dict[str, object]:
    """Return an object with everything we add to it."""
    obj = inject_labels(item.obj, labels)
    annotations = {
        **keys.annotations_of(obj),
        keys.DESCRIPTION: keys.DESCRIPTION_TEXT,
        keys.ORIGIN: str(origin),
    }
    return {**obj, "metadata": {**obj["metadata"], "annotations": annotations}}


def confirmation(answer: str | None) -> int:
    """Return to how many deletions the annotation `keys.CONFIRM_PRUNE` agrees: 0 if to none.

    Its value is ``true``, or a number of objects.
    """
    if answer is None:
        return 0
    if keys.literally(answer):
        return sys.maxsize
    return int(answer) if answer.isascii() and answer.isdigit() else 0


def without_workloads(declared: Input, problem: str) -> Input:
    """Refuse what an autoscaler might scale: how many replicas it should have is not known."""
    refs = (item.ref for item in declared.objects)
    return refusing(declared, {ref: problem for ref in refs if ref.kind in SCALED_KINDS})


def refusing(declared: Input, problems: Mapping[ObjectRef, str]) -> Input:
    """Refuse some objects, each with its reason; they do not enter the inventory."""
    return replace(
        declared,
        objects=tuple(item for item in declared.objects if item.ref not in problems),
        refused=(*declared.refused, *(Refusal(ref, why) for ref, why in problems.items())),
    )
