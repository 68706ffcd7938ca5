"""The rules of metadata, the same for every kind."""

from typing import Any, Final

from certwright.apiserver.builtins.rules.checks import (
    annotation_causes,
    label_causes,
    label_name,
    path_segment_problems,
    qualified_name,
)
from certwright.apiserver.causes import forbidden_value, invalid_value, required
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube.errors import BadRequest, Cause
from certwright.kube.objects import JsonObject

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", FOREGROUND, ORPHAN})
_EXTENSIONS: Final = "apiextensions.k8s.io"
"""Definitions are held to the rules of what they define."""
_UNQUALIFIED: Final = "name is neither a standard finalizer name nor is it fully qualified"
_SERVER_OWNED: Final = (
    "creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink",
)  # fmt: skip
_IMMUTABLE: Final = (
    "name", "namespace", "uid", "creationTimestamp", "deletionTimestamp",
    "deletionGracePeriodSeconds",
)  # fmt: skip
_OWNER_PARTS: Final = (
    ("apiVersion", "version must not be empty"),
    ("kind", "must not be empty"),
    ("name", "must not be empty"),
    ("uid", "must not be empty"),
)


def wipe_server_fields(metadata: JsonObject) -> None:
    """Forget what a client says about fields only the server sets."""
    for field in _SERVER_OWNED:
        metadata.pop(field, None)


def settle_namespace(metadata: JsonObject, namespace: str) -> None:
    """Put an object into the namespace of the request, or refuse a different one."""
    given = metadata.get("namespace") or ""
    if given == namespace:
        return
    if not namespace:
        del metadata["namespace"]
    elif not given:
        metadata["namespace"] = namespace
    else:
        raise BadRequest(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def check_name(metadata: JsonObject, name: str) -> None:
    """Refuse an object that is not the one in the URL."""
    given = metadata.get("name") or ""
    if not given:
        raise BadRequest(
            f"the name of the object ({name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if given != name:
        raise BadRequest(
            f"the name of the object ({given}) does not match the name on the URL ({name})"
        )


def settle_admitted(metadata: JsonObject, before: JsonObject, warnings: list[str]) -> None:
    """Mend what webhooks may have broken in metadata, given what it was before them."""
    dedup_owners(metadata, warnings, " after mutating admission happens")
    if problem := _entries_problem(metadata.get("managedFields") or []):
        metadata["managedFields"] = before.get("managedFields") or []
        warnings.append(
            ".metadata.managedFields was in an invalid state after admission; this could be "
            "caused by an outdated mutating admission controller; please fix your requests: "
            f"{problem}"
        )


def _entries_problem(entries: list[JsonObject]) -> str:
    for index, entry in enumerate(entries):
        type_ = entry.get("fieldsType") or ""
        if entry.get("operation") not in {"Apply", "Update"}:
            return "operation must be `Apply` or `Update`"
        if not entry.get("apiVersion"):
            return "apiVersion must not be empty"
        if not type_:
            return f"missing fieldsType in managed fields entry {index}"
        if type_ != "FieldsV1":
            return f'invalid fieldsType "{type_}" in managed fields entry {index}'
    return ""


def dedup_owners(metadata: JsonObject, warnings: list[str], when: str = "") -> None:
    """Keep each owner reference once."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    unique: list[JsonObject] = []
    for owner in owners:
        if owner in unique:
            warnings.append(
                f".metadata.ownerReferences contains duplicate entries{when}; API server dedups "
                "owner references in 1.20+, and may reject such requests as early as 1.24; please "
                f"fix your requests; duplicate UID(s) observed: {owner.get('uid')}"
            )
        else:
            unique.append(owner)
    metadata["ownerReferences"] = unique


def carry_over(new: JsonObject, old: JsonObject) -> None:
    """Restore what an update can never change."""
    new.pop("selfLink", None)
    _set(new, "generation", old.get("generation"))
    if not new.get("uid"):
        new["uid"] = old["uid"]
    _set(new, "creationTimestamp", old.get("creationTimestamp"))
    if old.get("deletionTimestamp"):
        new["deletionTimestamp"] = old["deletionTimestamp"]
    if old.get("deletionGracePeriodSeconds") is not None:
        new.setdefault("deletionGracePeriodSeconds", old["deletionGracePeriodSeconds"])


def metadata_causes(metadata: JsonObject, kind: ServedKind) -> list[Cause]:
    """Return what is wrong with the metadata of an object, new or updated."""
    namespaced = kind.resource.namespaced
    causes: list[Cause] = []
    if not metadata.get("name"):
        causes.append(required("metadata.name", "name or generateName is required"))
    namespace = metadata.get("namespace") or ""
    if namespaced and not namespace:
        causes.append(required("metadata.namespace"))
    elif namespaced:
        causes += label_name(namespace, "metadata.namespace")
    causes += _map_causes(metadata)
    finalizers = metadata.get("finalizers") or []
    causes += _finalizer_causes(finalizers)
    if not kind.custom and kind.resource.group != _EXTENSIONS:
        causes += [
            invalid_value(f"metadata.finalizers[{index}]", name, _UNQUALIFIED)
            for index, name in enumerate(finalizers)
            if "/" not in name and name not in _STANDARD_FINALIZERS
        ]
    return causes


def update_causes(new: JsonObject, old: JsonObject) -> list[Cause]:
    """Return which unchangeable parts of metadata an update tries to change."""
    causes: list[Cause] = []
    if old.get("deletionTimestamp"):
        added = sorted(set(new.get("finalizers") or ()) - set(old.get("finalizers") or ()))
        if added:
            listed = ", ".join(f'"{name}"' for name in added)
            why = (
                "no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}"
            )
            causes.append(forbidden_value("metadata.finalizers", why))
    causes += [
        invalid_value(f"metadata.{field}", new.get(field), "field is immutable")
        for field in _IMMUTABLE
        if (new.get(field) or None) != (old.get(field) or None)
    ]
    return causes + _map_causes(new)


def finalizer_warnings(metadata: JsonObject, old: JsonObject) -> list[str]:
    """Return what is unwise about the finalizers of a custom resource."""
    finalizers = metadata.get("finalizers") or []
    if finalizers == (old.get("finalizers") or []):
        return []
    return [
        f'metadata.finalizers: "{name}": prefer a domain-qualified finalizer name to avoid '
        "accidental conflicts with other finalizer writers"
        for name in finalizers
        if "/" not in name and "." not in name and name not in _STANDARD_FINALIZERS
    ]


def _map_causes(metadata: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    if labels := metadata.get("labels"):
        causes += label_causes(labels, "metadata.labels")
    if annotations := metadata.get("annotations"):
        causes += annotation_causes(annotations, "metadata.annotations")
    return causes + _owner_causes(metadata.get("ownerReferences") or [])


def _owner_causes(owners: list[JsonObject]) -> list[Cause]:
    path = "metadata.ownerReferences"
    causes: list[Cause] = []
    controller = ""
    for owner in owners:
        for part, why in _OWNER_PARTS:
            if not owner.get(part):
                causes.append(invalid_value(f"{path}.{part}", owner.get(part) or "", why))
        if owner.get("apiVersion") == "v1" and owner.get("kind") == "Event":
            causes.append(
                invalid_value(path, owner, "/v1, Kind=Event is disallowed from being an owner")
            )
        if owner.get("controller"):
            current = f"{owner.get('kind')}/{owner.get('name')}"
            if controller:
                why = (
                    'Only one reference can have Controller set to true. Found "true" in '
                    f"references for {controller} and {current}"
                )
                causes.append(invalid_value(path, owners, why))
            controller = controller or current
    return causes


def _finalizer_causes(finalizers: list[str]) -> list[Cause]:
    path = "metadata.finalizers"
    causes: list[Cause] = []
    for finalizer in finalizers:
        causes += qualified_name(finalizer, path)
    if FOREGROUND in finalizers and ORPHAN in finalizers:
        why = f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set"
        causes.append(invalid_value(path, finalizers, why))
    return causes


def segment_causes(metadata: JsonObject) -> list[Cause]:
    """Return why a name that follows the rules of its kind would still break paths."""
    name = metadata.get("name", "")
    return [invalid_value("metadata.name", name, why) for why in path_segment_problems(name)]


def _set(metadata: JsonObject, field: str, value: Any) -> None:
    if value is None:
        metadata.pop(field, None)
    else:
        metadata[field] = value
