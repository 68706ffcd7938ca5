"""Immutable ConfigMaps and Secrets, named by a hash of their contents, and what refers to them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from certwright.kube import JsonObject
from certwright.managed import Reference, annotate, make_unique, uses_of

_CONFIG_MAP_FIELDS: Final = frozenset({"configMap", "configMapRef", "configMapKeyRef"})
_SECRET_FIELDS: Final = frozenset({"secret", "secretRef", "secretKeyRef", "nodePublishSecretRef"})
_SECRET_LISTS: Final = frozenset({"imagePullSecrets", "secretRefs", "secrets"})

Renamed = Mapping[Reference, str]


@dataclass(frozen=True, slots=True)
class Unique:
    """The manifests, in their order, and remarks about them."""

    objects: list[JsonObject]
    remarks: list[str]


def unique_manifests(objects: Iterable[JsonObject]) -> Unique:
    """Make ConfigMaps and Secrets unique, and change the references of the others."""
    given = list(objects)
    made = {number: make_unique(obj) for number, obj in enumerate(given) if _is_data(obj)}
    names: dict[str, dict[Reference, str]] = {}
    for number, unique in made.items():
        old, new = given[number]["metadata"], unique["metadata"]["name"]
        place = names.setdefault(old.get("namespace") or "", {})
        place[Reference(str(unique["kind"]), old["name"])] = new
    out, remarks = [], []
    for number, obj in enumerate(given):
        renamed = names.get(_namespace(obj), {})
        changed = made.get(number) or _following(obj, renamed)
        out.append(changed)
        left = sorted(uses_of(changed) & renamed.keys()) if number not in made else []
        remarks += [
            f"{obj.get('kind')} {_name(obj)} still refers to {reference}; change that by hand"
            for reference in left
        ]
    return Unique(out, remarks)


def with_new_names(value: Any, renamed: Renamed) -> Any:
    """Return a copy of a part of a manifest with the references in it renamed."""
    if isinstance(value, list):
        return [with_new_names(item, renamed) for item in value]
    if not isinstance(value, dict):
        return value
    return {field: _field(field, inner, renamed) for field, inner in value.items()}


def _field(field: str, value: Any, renamed: Renamed) -> Any:
    value = with_new_names(value, renamed)
    if field in _CONFIG_MAP_FIELDS:
        return _named("ConfigMap", value, renamed)
    if field in _SECRET_FIELDS:
        return _named("Secret", value, renamed)
    if field in _SECRET_LISTS and isinstance(value, list):
        return [_named("Secret", item, renamed) for item in value]
    if field == "secretName" and isinstance(value, str):
        return renamed.get(Reference("Secret", value), value)
    return value


def _named(kind: str, value: Any, renamed: Renamed) -> Any:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return value
    new = renamed.get(Reference(kind, value["name"]))
    return value if new is None else {**value, "name": new}


def _following(obj: JsonObject, renamed: Renamed) -> JsonObject:
    """Return an object that refers to the new names, annotated if that is read from its kind."""
    changed: JsonObject = with_new_names(obj, renamed)
    if changed == obj:
        return obj
    try:
        return annotate(changed)
    except ValueError:
        return changed  # annotations of this kind are not read


def _is_data(obj: JsonObject) -> bool:
    return obj.get("apiVersion") == "v1" and obj.get("kind") in {"ConfigMap", "Secret"}


def _namespace(obj: JsonObject) -> str:
    return str((obj.get("metadata") or {}).get("namespace") or "")


def _name(obj: JsonObject) -> str:
    return str((obj.get("metadata") or {}).get("name") or "")
