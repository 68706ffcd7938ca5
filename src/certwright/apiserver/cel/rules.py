"""The rules of a schema (``x-kubernetes-validations``), evaluated along an object."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from certwright.apiserver.causes import duplicate_value, forbidden_value, invalid_value, required
from certwright.apiserver.cel.expressions import Expression, ExpressionError, result_type
from certwright.apiserver.cel.values import needs_conversion, to_cel
from certwright.apiserver.schema.constraints import correlated
from certwright.apiserver.schema.schema import CONTAINERS, ListType, Schema, ValidationRule
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

COST_LIMIT: Final = 10_000_000
"""Steps a rule may take, judged by the size of the value and how deeply its loops nest."""

_NONE: Final = object()
_MESSAGE_LIMIT: Final = 5 * 1024


@dataclass(slots=True)
class _Compiled:
    rule: ValidationRule
    expression: Expression
    message: Expression | None


@dataclass(slots=True)
class CompiledRules:
    """The rules at one node of a schema and below; branches without rules are left out."""

    schema: Schema
    converts: bool
    rules: list[_Compiled] = field(default_factory=list)
    properties: "dict[str, CompiledRules]" = field(default_factory=dict)
    additional: "CompiledRules | None" = None
    items: "CompiledRules | None" = None

    def __bool__(self) -> bool:
        return bool(self.rules or self.properties or self.additional or self.items)

    def evaluate(self, new: Any, old: Any = None) -> list[Cause]:
        """Return what the rules have against *new*, given the stored object, if any."""
        before = _NONE if old is None else old
        return list(self.walk(new, before, ""))

    def walk(self, value: Any, old: Any, path: str) -> Iterator[Cause]:
        """Yield what the rules at this node and below have against *value*."""
        if value is None:
            return
        if self.rules:
            yield from self._apply(value, old, path)
        if isinstance(value, dict):
            for name, child in value.items():
                node = self.properties.get(name)
                if node is None and name not in self.schema.properties:
                    node = self.additional
                if node is not None:
                    before = old.get(name, _NONE) if isinstance(old, dict) else _NONE
                    below = f"{path}.{name}" if path else name
                    if name not in self.schema.properties and self.schema.additional is not None:
                        below = f"{path}[{name}]"  # an entry of a map
                    yield from node.walk(child, before, below)
        elif isinstance(value, list) and self.items is not None:
            counterparts = correlated(value, old, self.schema, _NONE)
            for index, item in enumerate(value):
                yield from self.items.walk(item, counterparts[index], f"{path}[{index}]")

    def _apply(self, value: Any, old: Any, path: str) -> Iterator[Cause]:
        unchanged = old is not _NONE and value == old
        has_old = old is not _NONE and old is not None
        loops = max(compiled.expression.depth for compiled in self.rules)
        size = _size(value) if loops else 1
        seen = to_cel(value, self.schema) if self.converts else value
        before = to_cel(old, self.schema) if self.converts and has_old else old
        for compiled in self.rules:
            rule, expression = compiled.rule, compiled.expression
            if expression.uses_old and not has_old and not rule.optional_old_self:
                continue  # there is no transition to judge
            if unchanged and not expression.uses_old:
                continue  # what was accepted before may stay
            if size**expression.depth > COST_LIMIT:
                why = (
                    "validation failed due to running out of cost budget, "
                    "no further validation rules will be run"
                )
                yield invalid_value(path, self.schema.type, why)
                return
            try:
                holds = expression.evaluate(seen, before if has_old else None, has_old=has_old)
            except ExpressionError as error:
                text = (rule.message or rule.rule).strip()
                yield invalid_value(path, self.schema.type, f"{error} evaluating rule: {text}")
                continue
            if holds is not True:
                message = _message(compiled, seen, before if has_old else None, has_old=has_old)
                yield _cause(rule, f"{path}{_normalised(rule.field_path)}", value, message)


def compile_rules(schema: Schema) -> CompiledRules:
    """Compile every rule of a schema that `rule_errors` found nothing wrong with."""
    return _compile(schema) or CompiledRules(schema, converts=False)


def _compile(schema: Schema) -> CompiledRules | None:
    node = CompiledRules(schema, converts=bool(schema.rules) and needs_conversion(schema))
    for rule in schema.rules:
        expression = Expression(rule.rule, schema, optional_old=rule.optional_old_self)
        message = None
        if text := rule.message_expression:
            message = Expression(text, schema, optional_old=rule.optional_old_self)
        node.rules.append(_Compiled(rule, expression, message))
    for name, child in schema.properties.items():
        if name != "metadata" and (compiled := _compile(child)):
            node.properties[name] = compiled
    node.additional = _compile(schema.additional) if schema.additional else None
    node.items = _compile(schema.items) if schema.items else None
    return node or None


def rule_errors(schema: Schema, path: str, *, correlatable: bool = True) -> Iterator[Cause]:
    """Yield the rules of a schema that cannot be compiled; *path* leads to the schema."""
    for index, rule in enumerate(schema.rules):
        where = f"{path}.x-kubernetes-validations[{index}]"
        yield from _rule_errors(rule, schema, where, correlatable=correlatable)
    for name, child in schema.properties.items():
        below = f"{path}.properties[{name}]"
        yield from rule_errors(child, below, correlatable=correlatable)
    if schema.additional is not None:
        below = f"{path}.additionalProperties"
        yield from rule_errors(schema.additional, below, correlatable=correlatable)
    if schema.items is not None:
        # Items of lists without keys cannot be told apart from one version to the next.
        kept = correlatable and schema.list_type is ListType.MAP
        yield from rule_errors(schema.items, f"{path}.items", correlatable=kept)


def _rule_errors(
    rule: ValidationRule, schema: Schema, path: str, *, correlatable: bool
) -> Iterator[Cause]:
    if not rule.rule.strip():
        yield required(f"{path}.rule", "rule is not specified")
        return
    shown = _go_rule(rule)
    try:
        expression = Expression(rule.rule, schema, optional_old=rule.optional_old_self)
    except ExpressionError as error:
        yield invalid_value(f"{path}.rule", shown, f"compilation failed: {error}")
        return
    if result_type(rule.rule, schema) not in {"", "boolean"}:
        yield invalid_value(f"{path}.rule", shown, "cel expression must evaluate to a bool")
    if expression.uses_old and not correlatable:
        why = (
            "oldSelf cannot be used on the uncorrelatable portion of the schema within "
            f"{path.rpartition('.items')[0]}"
        )
        yield invalid_value(f"{path}.rule", rule.rule, why)
    if rule.optional_old_self and not expression.uses_old:
        why = "may not be set if oldSelf is not used in rule"
        yield invalid_value(f"{path}.optionalOldSelf", True, why)
    if rule.message_expression:
        try:
            Expression(rule.message_expression, schema, optional_old=rule.optional_old_self)
        except ExpressionError as error:
            why = f"messageExpression compilation failed: {error}"
            yield invalid_value(f"{path}.messageExpression", shown, why)


def _go_rule(rule: ValidationRule) -> JsonObject:
    """Return a rule as the API server prints its internal form."""
    return {
        "Rule": rule.rule,
        "Message": rule.message,
        "MessageExpression": rule.message_expression,
        "Reason": None if rule.reason == "FieldValueInvalid" else rule.reason,
        "FieldPath": rule.field_path,
        "OptionalOldSelf": rule.optional_old_self or None,
    }


def _message(compiled: _Compiled, value: Any, old: Any, *, has_old: bool) -> str:
    rule = compiled.rule
    if compiled.message is not None:
        try:
            text = compiled.message.evaluate(value, old, has_old=has_old)
        except ExpressionError:
            text = ""
        if isinstance(text, str):
            text = text.strip()
            if text and "\n" not in text and len(text) <= _MESSAGE_LIMIT:
                return text
    return rule.message.strip() or f"failed rule: {rule.rule.strip()}"


def _cause(rule: ValidationRule, path: str, value: Any, message: str) -> Cause:
    if rule.reason == "FieldValueForbidden":
        return forbidden_value(path, message)
    if rule.reason == "FieldValueRequired":
        return required(path, message)
    if rule.reason == "FieldValueDuplicate":
        return duplicate_value(path, value)
    if isinstance(value, CONTAINERS):
        return Cause("FieldValueInvalid", f"Invalid value: {message}", path or "<nil>")
    return invalid_value(path, value, message)


def _normalised(field_path: str) -> str:
    """Return a rule's field path, ``.a['b.c']`` or ``.a.b``, to be added to a path."""
    return field_path.replace("['", "[").replace("']", "]") if field_path else ""


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + sum(_size(child) for child in value.values())
    if isinstance(value, list):
        return 1 + sum(_size(child) for child in value)
    return 1
