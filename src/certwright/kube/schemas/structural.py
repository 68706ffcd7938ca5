"""Structural schemas from msgspec types: the shape a CRD promises to the API server.

`structural_schema` turns a Struct into an OpenAPI v3 schema of the kind Kubernetes calls
structural: everything inline, ``nullable`` instead of a null type, no titles.
``docs/reference/crd.md`` lists which type becomes which schema.

A field without a default is required. A default becomes the schema's default, so that the
server and this process read the same from an absent field; None and empty containers are
not defaults, they are what absence already means. Nothing below ``status`` has defaults:
status is what a controller has said, not what the server assumes.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
from msgspec import NODEFAULT
from msgspec import inspect as types

from certwright.kube.objects import JsonObject, Object
from certwright.kube.schemas.check import SchemaError, check
from certwright.kube.schemas.markers import ATOMIC, markers_of

_LISTS = (
    types.ListType,
    types.VarTupleType,
    types.CollectionType,
    types.SetType,
    types.FrozenSetType,
)
_FORMATS: dict[type[types.Type], str] = {
    types.DateTimeType: "date-time",
    types.DateType: "date",
    types.UUIDType: "uuid",
    types.BytesType: "byte",
}
_SERVER_FIELDS: Mapping[str, JsonObject] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"type": "object"},
}
_NOT_SCHEMA = frozenset({"title", "examples"})
"""What msgspec's Meta offers and a structural schema has no use for."""


def structural_schema(cls: type[msgspec.Struct]) -> JsonObject:
    """Return the structural schema of a Struct, or of a whole kind.

    Of a kind (an `Object`), metadata is left to the server, as it must be. Raises `SchemaError` if
    a field cannot be expressed; the message names it and the way out.
    """
    info = types.type_info(cls)
    assert isinstance(info, types.StructType)
    schema = _Generator().struct(info, "")
    check(schema, "")
    return schema


@dataclass(frozen=True, slots=True)
class _Generator:
    """Walks the types. *within* are the Structs around, *defaults* whether to write them."""

    within: tuple[type, ...] = ()
    defaults: bool = True

    def struct(self, info: types.StructType, path: str) -> JsonObject:
        cls = info.cls
        self.check_struct(info, path)
        inner = replace(self, within=(*self.within, cls))
        annotations = {field.name: field.type for field in msgspec.structs.fields(cls)}
        properties = {
            field.encode_name: inner.field(
                field, annotations[field.name], f"{path}.{field.encode_name}".lstrip(".")
            )
            for field in info.fields
        }
        schema: JsonObject = {"type": "object"}
        if cls.__doc__:
            schema["description"] = inspect.cleandoc(cls.__doc__)
        if properties:
            schema["properties"] = properties
        required = sorted(field.encode_name for field in info.fields if field.required)
        if required:
            schema["required"] = required
        for marker in markers_of(cls):
            _mark(schema, marker.extra_json_schema or {})
        return schema

    def check_struct(self, info: types.StructType, path: str) -> None:
        name = info.cls.__name__
        if info.cls in self.within:
            raise SchemaError(path, f"{name} contains itself; use dict[str, Any] inside")
        if self.within and issubclass(info.cls, Object):
            raise SchemaError(path, f"{name} is a whole object; use an embedded_resource() map")
        if info.tag is not None or info.array_like:
            raise SchemaError(path, f"{name} is tagged or array-like; use plain fields")

    def field(self, field: types.Field, annotation: Any, path: str) -> JsonObject:
        if "_" in field.encode_name:
            raise SchemaError(path, "API names are camelCase; declare the Struct rename='camel'")
        if issubclass(self.within[0], Object):
            if path in _SERVER_FIELDS:
                return dict(_SERVER_FIELDS[path])
            if path == "status":
                return replace(self, defaults=False).any(field.type, path)
        schema = self.any(field.type, path)
        if self.defaults and not field.required:
            _add_default(schema, field, annotation, path)
        return schema

    def any(self, info: types.Type, path: str) -> JsonObject:
        """Return the schema of any type; raise `SchemaError` if there is none."""
        match info:
            case types.Metadata():
                schema = self.any(info.type, path)
                _mark(schema, info.extra_json_schema or {})
                return schema
            case types.StructType():
                return self.struct(info, path)
            case types.UnionType():
                return self.union(info, path)
            case types.DictType():
                return self.map(info, path)
            case types.AnyType() | types.RawType():
                return {"x-kubernetes-preserve-unknown-fields": True}
            case types.EnumType():
                return _enum([member.value for member in info.cls], path)
            case types.LiteralType():
                return _enum(info.values, path)
        if isinstance(info, _LISTS):
            return self.list(info, path)
        return _scalar(info, path)

    def list(self, info: Any, path: str) -> JsonObject:
        schema = {"type": "array", "items": self.any(info.item_type, f"{path}[]")}
        if isinstance(info, types.SetType | types.FrozenSetType):
            schema["x-kubernetes-list-type"] = "set"
        return schema | _given(minItems=info.min_length, maxItems=info.max_length)

    def map(self, info: types.DictType, path: str) -> JsonObject:
        if info.key_type != types.StrType():
            raise SchemaError(path, "keys of maps are plain strings in the API")
        value = self.any(info.value_type, f"{path}[]")
        schema: JsonObject = {"type": "object"}
        if isinstance(info.value_type, types.AnyType):
            schema |= value
        else:
            schema["additionalProperties"] = value
        return schema | _given(minProperties=info.min_length, maxProperties=info.max_length)

    def union(self, info: types.UnionType, path: str) -> JsonObject:
        members = [member for member in info.types if not isinstance(member, types.NoneType)]
        kinds = {type(member) for member in members}
        if len(members) == 1:
            schema = self.any(members[0], path)
        elif kinds == {types.IntType, types.StrType}:
            bounds = [_scalar(member, path) for member in members]
            schema = {**bounds[0], **bounds[1], "x-kubernetes-int-or-string": True}
            del schema["type"]
        elif kinds == {types.IntType, types.FloatType}:
            schema = {"type": "number"}
        else:
            names = " or ".join(sorted(kind.__name__.removesuffix("Type") for kind in kinds))
            raise SchemaError(
                path, f"{names} in one field is not structural; use one object with optional fields"
            )
        if len(members) < len(info.types):
            schema["nullable"] = True
        return schema


def _add_default(schema: JsonObject, field: types.Field, annotation: Any, path: str) -> None:
    """Write down the default of a field, unless it is what absence means anyway."""
    if field.default is not NODEFAULT:
        made = field.default
    elif field.default_factory is not NODEFAULT:
        made = field.default_factory()
    else:
        return  # UNSET, which inspection does not report
    value = msgspec.to_builtins(made)
    if value is None or (value in ([], {}) and not isinstance(made, msgspec.Struct)):
        return
    try:
        msgspec.convert(value, annotation)
    except msgspec.ValidationError as error:
        raise SchemaError(path, f"the default {value!r} is not valid: {error}") from error
    schema["default"] = _complete(value, schema)


def _scalar(info: types.Type, path: str) -> JsonObject:
    match info:
        case types.StrType():
            return {"type": "string"} | _given(
                minLength=info.min_length, maxLength=info.max_length, pattern=info.pattern
            )
        case types.BoolType():
            return {"type": "boolean"}
        case types.IntType():
            return {"type": "integer"} | _bounds(info)
        case types.FloatType():
            return {"type": "number"} | _bounds(info)
        case types.TimeDeltaType():
            raise SchemaError(
                path, "timedelta is not how the API writes durations; use DurationText"
            )
        case types.DecimalType():
            raise SchemaError(path, "Decimal is not how the API writes amounts; use QuantityValue")
    if type(info) in _FORMATS:
        return {"type": "string", "format": _FORMATS[type(info)]}
    if isinstance(info, types.CustomType):
        name = info.cls.__name__
    else:
        name = type(info).__name__.removesuffix("Type")
    raise SchemaError(path, f"{name} has no structural schema; use a Struct, list, map or scalar")


def _bounds(info: types.IntType | types.FloatType) -> JsonObject:
    return _given(
        minimum=info.ge if info.gt is None else info.gt,
        exclusiveMinimum=None if info.gt is None else True,
        maximum=info.le if info.lt is None else info.lt,
        exclusiveMaximum=None if info.lt is None else True,
        multipleOf=info.multiple_of,
    )


def _enum(values: Sequence[Any], path: str) -> JsonObject:
    for type_, name in ((str, "string"), (int, "integer")):
        if all(isinstance(value, type_) for value in values):
            return {"type": name, "enum": list(values)}
    raise SchemaError(path, "an enum has values of one type, texts or integers")


def _mark(schema: JsonObject, extra: JsonObject) -> None:
    """Add what annotations say; rules add up, everything else is overridden."""
    for name, value in extra.items():
        if name == ATOMIC:
            kind = "list" if schema.get("type") == "array" else "map"
            schema[f"x-kubernetes-{kind}-type"] = "atomic"
        elif name == "x-kubernetes-validations":
            schema[name] = [*schema.get(name, ()), *value]
        elif name not in _NOT_SCHEMA:
            schema[name] = value


def _complete(value: Any, schema: JsonObject) -> Any:
    """Write an object out in full, with the defaults of its own fields.

    The server would add them to objects, but not before it checks this default against the
    rules of the type: a rule that reads an absent field fails, and with it the whole CRD.
    """
    properties = schema.get("properties")
    if not isinstance(value, dict) or not properties:
        return value
    full = {}
    for name, inner in properties.items():
        item = value.get(name, inner.get("default"))
        is_absent = item is None or (item in ([], {}) and "properties" not in inner)
        if not is_absent or name in schema.get("required", ()) or "default" in inner:
            full[name] = _complete(item, inner)
    return full


def _given(**values: Any) -> JsonObject:
    return {name: value for name, value in values.items() if value is not None}
