"""From a CustomResourceDefinition to the kinds it makes the server serve."""

from dataclasses import replace
from functools import cache, lru_cache
from typing import Final

import orjson

from certwright.apiserver import cel
from certwright.apiserver.builtins.decode import check_depth, reader
from certwright.apiserver.builtins.notation import META, definitions
from certwright.apiserver.builtins.rules.checks import name_causes
from certwright.apiserver.causes import invalid_value
from certwright.apiserver.crds.parse import parse
from certwright.apiserver.gotext import json_type
from certwright.apiserver.kinds.kind import ConversionWebhook, PrinterColumn, ServedKind
from certwright.apiserver.kinds.scalepaths import replica_causes
from certwright.apiserver.schema.constraints import validate
from certwright.apiserver.schema.schema import Schema
from certwright.apiserver.schema.structural import prune
from certwright.kube.errors import BadRequest, Cause
from certwright.kube.names import version_order
from certwright.kube.objects import JsonObject, Resource

_NAME: Final = PrinterColumn("Name", ".metadata.name", format="name")
_BLOCKING: Final = frozenset({
    "FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany",
    "FieldValueTypeInvalid",
})  # fmt: skip
"""Rules rely on the schema: they are not looked at in objects that break it in these ways."""
_UNCHECKED: Final = invalid_value(
    "<nil>",
    None,
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
)
_AGE: Final = PrinterColumn("Age", ".metadata.creationTimestamp", type="date")


def served_kinds(crd: JsonObject) -> list[ServedKind]:
    """Return one kind for each served version of an accepted definition."""
    return list(_served_kinds(orjson.dumps(crd["spec"])))


@lru_cache(maxsize=128)
def _served_kinds(text: bytes) -> tuple[ServedKind, ...]:
    """Build the kinds; thousands of simulated servers are given the same few definitions."""
    spec: JsonObject = orjson.loads(text)
    versions: dict[str, ServedKind] = {}
    for version in spec["versions"]:
        versions[version["name"]] = _kind(spec, version, versions)
    return tuple(versions[each["name"]] for each in spec["versions"] if each["served"])


def _kind(spec: JsonObject, version: JsonObject, versions: dict[str, ServedKind]) -> ServedKind:
    names = spec["names"]
    resource = Resource(
        spec["group"],
        version["name"],
        names["kind"],
        names["plural"],
        namespaced=spec["scope"] == "Namespaced",
    )
    declared = parse((version.get("schema") or {}).get("openAPIV3Schema") or {})
    schema = root_schema(declared)
    subresources = version.get("subresources") or {}
    scale = subresources.get("scale") or {}
    return ServedKind(
        resource=resource,
        schema=schema,
        singular=names["singular"],
        list_kind=names["listKind"],
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=frozenset(subresources),
        scale_paths=(
            _dotted(scale.get("specReplicasPath")),
            _dotted(scale.get("statusReplicasPath")),
            _dotted(scale.get("labelSelectorPath")),
        ),
        custom=True,
        storage_version=next(v["name"] for v in spec["versions"] if v["storage"]),
        versions=versions,
        conversion=_conversion(spec),
        deprecation=_deprecation(spec, version),
        selectable_fields=tuple(
            _dotted(field["jsonPath"]) for field in version.get("selectableFields") or ()
        ),
        columns=_columns(version),
        decode=_Decoder(schema, resource),
        validate=_Validator(declared, resource, _dotted(scale.get("specReplicasPath"))),
    )


def _conversion(spec: JsonObject) -> ConversionWebhook | None:
    conversion = spec.get("conversion") or {}
    if conversion.get("strategy") != "Webhook":
        return None
    webhook = conversion["webhook"]
    return ConversionWebhook(
        definition=f"{spec['names']['plural']}.{spec['group']}",
        client_config=webhook["clientConfig"],
        review_versions=tuple(webhook["conversionReviewVersions"]),
    )


def _deprecation(spec: JsonObject, version: JsonObject) -> str:
    """Return what to warn users of a version of; by default, which newer one to use."""
    if not version.get("deprecated"):
        return ""
    if version.get("deprecationWarning") is not None:
        return str(version["deprecationWarning"])
    group, kind, name = spec["group"], spec["names"]["kind"], version["name"]
    text = f"{group}/{name} {kind} is deprecated"
    newer = [
        each["name"]
        for each in spec["versions"]
        if each["served"]
        and not each.get("deprecated")
        and version_order(each["name"]) < version_order(name)
    ]
    best = min(newer, key=version_order, default="")
    return f"{text}; use {group}/{best} {kind}" if best else text


def _dotted(path: str | None) -> str:
    return (path or "").removeprefix(".")


def _columns(version: JsonObject) -> tuple[PrinterColumn, ...]:
    declared = version.get("additionalPrinterColumns")
    if not declared:
        return (_NAME, _AGE)
    columns = [
        PrinterColumn(
            name=column["name"],
            json_path=column["jsonPath"],
            type=column["type"],
            format=column.get("format") or "",
            priority=column.get("priority") or 0,
            description=column.get("description") or "",
        )
        for column in declared
    ]
    return (_NAME, *columns)


@cache
def _object_meta() -> Schema:
    return definitions()[f"{META}.ObjectMeta"]


def root_schema(declared: Schema) -> Schema:
    """Return the schema of whole objects: the declared one, with type and metadata implied."""
    properties = {
        **declared.properties,
        "apiVersion": Schema("string"),
        "kind": Schema("string"),
        "metadata": _object_meta(),
    }
    return replace(declared, properties=properties)


class _Decoder:
    """Reads metadata as Go structs are read, and prunes the rest."""

    def __init__(self, schema: Schema, resource: Resource) -> None:
        self._schema = schema
        self._resource = resource
        self._read_metadata = reader(_object_meta(), resource.kind, resource.version)

    def __call__(self, obj: JsonObject) -> list[str]:
        check_depth(obj)
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict):
            kind, version = self._resource.kind, self._resource.version
            raise BadRequest(
                f'{kind} in version "{version}" cannot be handled as a {kind}: json: cannot '
                f"unmarshal {json_type(metadata)} into Go value of type v1.ObjectMeta"
            )
        unknown = [f"metadata.{path}" for path in self._read_metadata(metadata)]
        return unknown + prune(obj, self._schema)


class _Validator:
    """Checks the schema first, and the rules written in CEL only on objects that fit it."""

    def __init__(self, schema: Schema, resource: Resource, replicas: str) -> None:
        self._schema = schema
        self._kind = resource.kind
        self._replicas = replicas
        self._rules = cel.compile_rules(schema)

    def __call__(self, new: JsonObject, old: JsonObject | None) -> list[Cause]:
        causes = name_causes(self._kind, new["metadata"]) if old is None else []
        causes += validate(new, self._schema, old=old)
        if self._replicas:
            causes += replica_causes(new, self._replicas)
        if not any(cause.reason in _BLOCKING for cause in causes):
            return causes + self._rules.evaluate(new, old)
        return [*causes, _UNCHECKED] if self._rules else causes
