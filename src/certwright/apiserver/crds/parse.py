"""Reads the schema of a CustomResourceDefinition into a `Schema` tree."""

from certwright.apiserver.schema.schema import KEYWORDS, UNSET, ListType, Schema, ValidationRule
from certwright.kube.objects import JsonObject

_NAMES = {
    # JSONSchemaProps → Schema, where the value is taken as it is
    **KEYWORDS,
    "type": "type",
    "description": "description",
    "default": "default",
    "uniqueItems": "unique_items",
    "x-kubernetes-int-or-string": "int_or_string",
    "x-kubernetes-preserve-unknown-fields": "preserve_unknown",
    "x-kubernetes-embedded-resource": "embedded_resource",
}
_COMBINED = {"allOf": "all_of", "anyOf": "any_of", "oneOf": "one_of"}


def parse(props: JsonObject) -> Schema:
    """Return the tree of a ``openAPIV3Schema`` that passed the rules for definitions."""
    schema = Schema(**{_NAMES[key]: value for key, value in props.items() if key in _NAMES})
    if props.get("default", UNSET) is None and not schema.nullable:
        schema.default = UNSET
    schema.properties = {
        name: parse(child) for name, child in (props.get("properties") or {}).items()
    }
    schema.required = tuple(props.get("required") or ())
    schema.enum = tuple(props.get("enum") or ())
    if isinstance(additional := props.get("additionalProperties"), dict):
        schema.additional = parse(additional)
    elif additional:
        schema.additional = Schema(preserve_unknown=True)
    if isinstance(props.get("items"), dict):
        schema.items = parse(props["items"])
    for key, attribute in _COMBINED.items():
        setattr(schema, attribute, tuple(parse(option) for option in props.get(key) or ()))
    if props.get("not") is not None:
        schema.not_ = parse(props["not"])
    schema.list_type = ListType(props.get("x-kubernetes-list-type") or ListType.ATOMIC)
    schema.list_keys = tuple(props.get("x-kubernetes-list-map-keys") or ())
    schema.atomic_map = props.get("x-kubernetes-map-type") == "atomic"
    schema.rules = tuple(_rule(rule) for rule in props.get("x-kubernetes-validations") or ())
    return schema


def _rule(rule: JsonObject) -> ValidationRule:
    return ValidationRule(
        rule=rule["rule"],
        message=rule.get("message") or "",
        message_expression=rule.get("messageExpression") or "",
        reason=rule.get("reason") or "FieldValueInvalid",
        field_path=rule.get("fieldPath") or "",
        optional_old_self=bool(rule.get("optionalOldSelf")),
    )
