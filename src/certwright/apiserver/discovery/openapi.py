"""OpenAPI documents of the served kinds: what kubectl explains and validates with."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

import orjson

from certwright.apiserver.builtins import definition_name, definitions, descriptions
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.schema.schema import KEYWORDS, UNSET, ListType, Schema
from certwright.kube.objects import JsonObject

_FIELDS: Final = {
    "apiVersion": "The group and version of the API the object is written for.",
    "kind": "What the object is.",
    "metadata": "What every object has: its name, labels, owners.",
    "spec": "What should be.",
    "status": "What is, as seen by the controllers.",
}
_KINDS: Final = descriptions()
_REF: Final = "#/components/schemas/"
_INFO: Final = {"title": "Kubernetes", "version": "v1.36.3"}
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1"

_WRITES: Final = {"post", "put", "patch", "delete"}
_ACTIONS: Final = {
    # verb → HTTP method, Kubernetes' name of the action, whether it takes a name
    "list": ("get", "list", False),
    "create": ("post", "post", False),
    "deletecollection": ("delete", "deletecollection", False),
    "get": ("get", "get", True),
    "update": ("put", "put", True),
    "patch": ("patch", "patch", True),
    "delete": ("delete", "delete", True),
}


def document(kinds: Iterable[ServedKind]) -> JsonObject:
    """Return the OpenAPI v3 document of kinds that share a group and version."""
    paths: JsonObject = {}
    schemas: dict[str, JsonObject] = {}
    for kind in kinds:
        _add_paths(kind, paths)
        name = schema_name(kind)
        _add_schema(kind.schema, schemas, name)
        if kind.schema.description:
            schemas[name]["description"] = kind.schema.description
        schemas[name]["x-kubernetes-group-version-kind"] = [_gvk(kind, kind.resource.kind)]
        if "list" in kind.verbs:
            schemas[f"{name}List"] = _list_schema(kind, name)
            _add_schema(_list_meta(), schemas, f"{_META}.ListMeta")
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def v2(kinds: Iterable[ServedKind]) -> JsonObject:
    """Return one OpenAPI v2 document about all kinds, for older clients: types, no paths."""
    schemas = orjson.dumps(document(kinds)["components"]["schemas"])
    renamed = orjson.loads(schemas.replace(_REF.encode(), b"#/definitions/"))
    return {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": renamed}


def index(documents: Mapping[str, JsonObject]) -> JsonObject:
    """Return the table of contents: for each path, such as ``apis/apps/v1``, where to read on.

    The address changes with the contents, so that clients may keep what they read.
    """
    paths = {}
    for path, content in documents.items():
        digest = hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()
        paths[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash={digest.upper()}"}
    return {"paths": paths}


def schema_name(kind: ServedKind) -> str:
    """Return the name of a kind's schema: custom ones begin with their group, reversed."""
    resource = kind.resource
    if not kind.custom:
        return definition_name(resource)
    return ".".join([*reversed(resource.group.split(".")), resource.version, resource.kind])


def _gvk(kind: ServedKind, name: str) -> JsonObject:
    return {"group": kind.resource.group, "version": kind.resource.version, "kind": name}


def _add_paths(kind: ServedKind, paths: JsonObject) -> None:
    """Describe the verbs, with the parameters clients look for before they use them."""
    resource = kind.resource
    prefix = f"/apis/{resource.group}" if resource.group else "/api"
    scope = "/namespaces/{namespace}" if resource.namespaced else ""
    collection = f"{prefix}/{resource.version}{scope}/{resource.plural}"
    for verb, (method, action, named) in _ACTIONS.items():
        if verb not in kind.verbs:
            continue
        path = f"{collection}/{{name}}" if named else collection
        names = ["dryRun", "fieldManager", "fieldValidation"] if method in _WRITES else []
        paths.setdefault(path, {})[method] = {
            "parameters": [
                {"name": name, "in": "query", "schema": {"type": "string"}} for name in names
            ],
            "responses": {"200": {"description": "OK"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _gvk(kind, resource.kind),
        }


def _add_schema(schema: Schema, schemas: dict[str, JsonObject], name: str) -> None:
    """Describe a definition, and those it refers to, once each."""
    if name in schemas:
        return
    schemas[name] = {}  # in the table before its fields: definitions may refer to themselves
    # What belongs to the field through which the definition was found stays with the field.
    bare = replace(schema, default=UNSET, description="", patch_retain_keys=False)
    content = _BASIC.get(name) or _inline(bare, schemas, _FIELDS)
    if name in _KINDS and "description" not in content:
        content = {"description": _KINDS[name], **content}
    schemas[name] = dict(content)


def _node(schema: Schema, schemas: dict[str, JsonObject]) -> JsonObject:
    """Describe a value: by reference if its type has a name, in place otherwise."""
    if not schema.name:
        return _inline(schema, schemas)
    _add_schema(schema, schemas, schema.name)
    extras = _merge_keys(schema)
    if schema.default is not UNSET:
        extras["default"] = schema.default
    if schema.description:
        extras["description"] = schema.description
    reference = {"$ref": _REF + schema.name}
    return {"allOf": [reference], **extras} if extras else reference


def _inline(
    schema: Schema, schemas: dict[str, JsonObject], described: Mapping[str, str] | None = None
) -> JsonObject:
    content: JsonObject = {}
    if schema.description:
        content["description"] = schema.description
    if schema.type and not schema.int_or_string:
        content["type"] = schema.type
    for keyword, attribute in KEYWORDS.items():
        value = getattr(schema, attribute)
        if value not in (None, "", False):
            content[keyword] = value
    if schema.default is not UNSET:
        content["default"] = schema.default
    if schema.enum:
        content["enum"] = list(schema.enum)
    if schema.required:
        content["required"] = list(schema.required)
    if schema.properties:
        content["properties"] = {
            name: _described(_node(child, schemas), name, described or {})
            for name, child in sorted(schema.properties.items())
        }
    if schema.additional is not None:
        content["additionalProperties"] = _node(schema.additional, schemas)
    if schema.items is not None:
        content["items"] = _node(schema.items, schemas)
    content |= _combined(schema, schemas) | _merge_keys(schema)
    if schema.atomic_map:
        content["x-kubernetes-map-type"] = "atomic"
    return content | _extensions(schema)


def _described(content: JsonObject, name: str, described: Mapping[str, str]) -> JsonObject:
    if name not in described or "description" in content:
        return content
    if "$ref" in content:
        return {"description": described[name], "allOf": [content]}
    return {"description": described[name], **content}


def _combined(schema: Schema, schemas: dict[str, JsonObject]) -> JsonObject:
    options = {"allOf": schema.all_of, "anyOf": schema.any_of, "oneOf": schema.one_of}
    content: JsonObject = {
        keyword: [_node(option, schemas) for option in values]
        for keyword, values in options.items()
        if values
    }
    if schema.not_ is not None:
        content["not"] = _node(schema.not_, schemas)
    return content


def _merge_keys(schema: Schema) -> JsonObject:
    """Describe how lists and unions are merged, by apply and by strategic merge."""
    content: JsonObject = {}
    if schema.type == "array" and schema.list_type is not ListType.ATOMIC:
        content["x-kubernetes-list-type"] = str(schema.list_type)
    elif schema.type == "array":
        content["x-kubernetes-list-type"] = "atomic"
    if schema.list_keys:
        content["x-kubernetes-list-map-keys"] = list(schema.list_keys)
    if schema.patch_merge_key:
        content["x-kubernetes-patch-merge-key"] = schema.patch_merge_key
    strategies = []
    if schema.patch_merge_key or schema.patch_merge:
        strategies.append("merge")
    if schema.patch_retain_keys:
        strategies.append("retainKeys")
    if strategies:
        content["x-kubernetes-patch-strategy"] = ",".join(strategies)
    return content


def _extensions(schema: Schema) -> JsonObject:
    content: JsonObject = {}
    if schema.int_or_string:
        content["x-kubernetes-int-or-string"] = True
    if schema.preserve_unknown:
        content["x-kubernetes-preserve-unknown-fields"] = True
    if schema.embedded_resource:
        content["x-kubernetes-embedded-resource"] = True
    if schema.rules:
        content["x-kubernetes-validations"] = [
            {"rule": rule.rule, **({"message": rule.message} if rule.message else {})}
            for rule in schema.rules
        ]
    return content


@cache
def _list_meta() -> Schema:
    return definitions()[f"{_META}.ListMeta"]


def _list_schema(kind: ServedKind, name: str) -> JsonObject:
    return {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "items": {"type": "array", "items": {"$ref": _REF + name}},
            "kind": {"type": "string"},
            "metadata": {"$ref": f"{_REF}{_META}.ListMeta"},
        },
        "x-kubernetes-group-version-kind": [_gvk(kind, kind.list_kind)],
    }


_BASIC: Final[dict[str, dict[str, Any]]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "description": "An amount of something, such as 500m or 1.5Gi.",
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "description": "A number, or a text such as 25% or the name of a port.",
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
    f"{_META}.FieldsV1": {"type": "object"},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {"type": "object"},
}
