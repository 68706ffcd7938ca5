"""What a CustomResourceDefinition may say."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from certwright.apiserver.builtins.rules.checks import immutable, one_of, subdomain_name
from certwright.apiserver.causes import duplicate_value, invalid_value, required
from certwright.apiserver.crds.conversionrules import conversion_causes, deprecation_causes
from certwright.apiserver.crds.schemas import schema_causes
from certwright.apiserver.crds.status import is_established, is_status_write
from certwright.kube.errors import Cause
from certwright.kube.names import dns1035_label_problems
from certwright.kube.objects import JsonObject

_COLUMN_TYPES: Final = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS: Final = (
    "byte", "date", "date-time", "double", "float", "int32", "int64", "password",
)  # fmt: skip
_SIMPLE_PATH = re.compile(r"(\.[A-Za-z0-9_-]+)+")


def validate(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Return what is wrong with a definition; an update may not rename what is established."""
    if is_status_write(new, old):
        return []
    spec, status = new["spec"], new.get("status") or {}
    causes: list[Cause] = []
    wanted = f"{spec['names'].get('plural', '')}.{spec.get('group', '')}"
    name = new["metadata"].get("name") or ""
    if old is None and name != wanted:
        why = 'must be spec.names.plural+"."+spec.group'
        causes.append(invalid_value("metadata.name", name, why))
    causes += _group_causes(spec.get("group") or "")
    scope = spec.get("scope")
    choices, path = ("Cluster", "Namespaced"), "spec.scope"
    causes += one_of(scope, choices, path) if scope else [required(path)]
    causes += _names_causes(spec["names"])
    causes += _versions_causes(spec)
    causes += conversion_causes(spec["conversion"], old)
    if spec.get("preserveUnknownFields") and old is None:
        why = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        causes.append(invalid_value("spec.preserveUnknownFields", True, why))
    causes += _stored_causes(status.get("storedVersions") or [], spec.get("versions") or [])
    if old is not None and is_established(old):
        causes += _renamed_causes(spec, old["spec"])
    return causes


def _renamed_causes(new: JsonObject, old: JsonObject) -> Iterator[Cause]:
    for field in ("group", "scope"):
        yield from immutable(new.get(field), old.get(field), f"spec.{field}")
    for field in ("kind", "plural"):
        value, before = new["names"].get(field), old["names"].get(field)
        yield from immutable(value, before, f"spec.names.{field}")


def _group_causes(group: str) -> list[Cause]:
    if not group:
        return [required("spec.group")]
    causes = subdomain_name(group, "spec.group")
    if not causes and "." not in group:
        why = "should be a domain with at least one dot"
        causes.append(invalid_value("spec.group", group, why))
    return causes


def _names_causes(names: JsonObject) -> Iterator[Cause]:
    for part in ("plural", "singular", "kind", "listKind"):
        value, path = names.get(part) or "", f"spec.names.{part}"
        if not value:
            yield required(path)
            continue
        mixed = part in {"kind", "listKind"}
        problems = dns1035_label_problems(value.lower() if mixed else value)
        if problems:
            hint = "may have mixed case, but should otherwise match: " if mixed else ""
            yield invalid_value(path, value, hint + ",".join(problems))
    for part in ("shortNames", "categories"):
        for index, value in enumerate(names.get(part) or ()):
            if problems := dns1035_label_problems(value):
                yield invalid_value(f"spec.names.{part}[{index}]", value, ",".join(problems))
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        why = "kind and listKind may not be the same"
        yield invalid_value("spec.names.listKind", names["listKind"], why)


def _versions_causes(spec: JsonObject) -> list[Cause]:
    versions = spec.get("versions") or []
    causes: list[Cause] = []
    for index, version in enumerate(versions):
        path, name = f"spec.versions[{index}]", version.get("name") or ""
        if problems := dns1035_label_problems(name):
            causes.append(invalid_value(f"{path}.name", name, ",".join(problems)))
        causes += deprecation_causes(version, f"{path}.deprecationWarning")
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            causes.append(required(f"{path}.schema.openAPIV3Schema"))
    for version, prefix in _distinct(versions, "schema", "spec.validation"):
        causes += _schema_part(version, prefix)
    for part, check in _PARTS.items():
        for version, prefix in _distinct(versions, part, f"spec.{part}"):
            causes += check(version, prefix)
    if len({version.get("name") for version in versions}) != len(versions):
        why = "must contain unique version names"
        causes.append(invalid_value("spec.versions", _go_versions(versions), why))
    if sum(bool(version.get("storage")) for version in versions) != 1:
        why = "must have exactly one version marked as storage version"
        causes.append(invalid_value("spec.versions", _go_versions(versions) or None, why))
    return causes


def _distinct(
    versions: list[JsonObject], part: str, shared: str
) -> Iterator[tuple[JsonObject, str]]:
    """Yield the versions whose *part* is to be checked, and the path to report it under.

    The API server keeps a part that all versions have in common once, outside of them, and
    names it accordingly.
    """
    if all(version.get(part) == versions[0].get(part) for version in versions):
        yield from ((version, shared) for version in versions[:1])
    else:
        for index, version in enumerate(versions):
            yield version, f"spec.versions[{index}].{part}"


def _schema_part(version: JsonObject, path: str) -> list[Cause]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if schema is None:
        return []
    has_status = "status" in (version.get("subresources") or {})
    return schema_causes(schema, f"{path}.openAPIV3Schema", has_status=has_status)


def _go_versions(versions: list[JsonObject]) -> list[JsonObject]:
    """Return versions as the API server prints their internal form."""
    return [
        {
            "Name": version.get("name") or "",
            "Served": bool(version.get("served")),
            "Storage": bool(version.get("storage")),
            "Deprecated": bool(version.get("deprecated")),
            "DeprecationWarning": version.get("deprecationWarning"),
            "Schema": None,
            "Subresources": None,
            "AdditionalPrinterColumns": None,
            "SelectableFields": None,
        }
        for version in versions
    ]


def _subresource_causes(version: JsonObject, path: str) -> Iterator[Cause]:
    scale = (version.get("subresources") or {}).get("scale")
    if scale is None:
        return
    roots = {"specReplicasPath": (".spec.",), "statusReplicasPath": (".status.",)}
    for field, prefixes in roots.items():
        value, where = scale.get(field) or "", f"{path}.scale.{field}"
        if not value:
            yield required(where)
        elif not _SIMPLE_PATH.fullmatch(value):
            yield invalid_value(where, value, "must be a simple json path starting with .")
        elif not value.startswith(prefixes):
            why = f"should be a json path under {prefixes[0][:-1]}"
            yield invalid_value(where, value, why)
    selector = scale.get("labelSelectorPath")
    if selector and not selector.startswith((".spec.", ".status.")):
        why = "should be a json path under either .spec or .status"
        yield invalid_value(f"{path}.scale.labelSelectorPath", selector, why)


def _columns_causes(version: JsonObject, path: str) -> Iterator[Cause]:
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        yield from _column_causes(column, f"{path}[{index}]")


def _column_causes(column: JsonObject, path: str) -> Iterator[Cause]:
    if not column.get("name"):
        yield required(f"{path}.name")
    kinds = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column.get("type"):
        yield required(f"{path}.type", kinds)
    elif column["type"] not in _COLUMN_TYPES:
        yield invalid_value(f"{path}.type", column["type"], kinds)
    if column.get("format") and column["format"] not in _COLUMN_FORMATS:
        why = f"must be one of {','.join(_COLUMN_FORMATS)}"
        yield invalid_value(f"{path}.format", column["format"], why)
    if not column.get("jsonPath"):
        yield required(f"{path}.JSONPath")
    elif not column["jsonPath"].startswith("."):
        why = "must be a simple json path starting with ."
        yield invalid_value(f"{path}.jsonPath", column["jsonPath"], why)


def _selectable_causes(version: JsonObject, path: str) -> Iterator[Cause]:
    schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    seen: set[str] = set()
    for index, field in enumerate(version.get("selectableFields") or ()):
        where, value = f"{path}[{index}].jsonPath", field.get("jsonPath") or ""
        if not value:
            yield required(where)
            continue
        node: Any = schema if _SIMPLE_PATH.fullmatch(value) else {}
        for name in value[1:].split("."):
            node = (node.get("properties") or {}).get(name) or {}
        if not node:
            yield invalid_value(where, value, "is an invalid path: does not refer to a valid field")
        elif node.get("type") not in {"string", "boolean", "integer"}:
            why = (
                "must point to a field of type string, boolean or integer. Enum string fields "
                "and strings with formats are allowed."
            )
            yield invalid_value(where, value, why)
        elif value in seen:
            yield duplicate_value(where, value)
        seen.add(value)


_PARTS: Final[dict[str, Callable[[JsonObject, str], Iterable[Cause]]]] = {
    "subresources": _subresource_causes,
    "additionalPrinterColumns": _columns_causes,
    "selectableFields": _selectable_causes,
}


def _stored_causes(stored: list[str], versions: list[JsonObject]) -> Iterator[Cause]:
    names = [version.get("name") for version in versions]
    if not stored:
        why = "must have at least one stored version"
        yield invalid_value("status.storedVersions", None, why)
        return
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            why = f"must have the storage version {version.get('name')}"
            yield invalid_value("status.storedVersions", stored, why)
    for index, name in enumerate(stored):
        if name not in names:
            why = (
                f"missing from spec.versions; {name} was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                f"persisted in {name} and removes {name} from status.storedVersions"
            )
            yield invalid_value(f"status.storedVersions[{index}]", name, why)
