from typing import Any

import pytest

from certwright.apiserver.cel import compile_rules, rule_errors
from certwright.apiserver.schema.schema import ListType, Schema, ValidationRule
from certwright.kube import JsonObject


def spec(*rules: ValidationRule | str, **properties: Schema) -> Schema:
    made = tuple(
        rule if isinstance(rule, ValidationRule) else ValidationRule(rule) for rule in rules
    )
    return Schema("object", properties=properties, rules=made)


def told(schema: Schema, new: Any, old: Any = None) -> list[tuple[str, str]]:
    return [(c.field, c.message) for c in compile_rules(schema).evaluate(new, old)]


INT, TEXT = Schema("integer"), Schema("string")


def test_a_rule_that_does_not_hold_is_told() -> None:
    schema = Schema("object", properties={"spec": spec("self.a <= self.b", a=INT, b=INT)})

    assert told(schema, {"spec": {"a": 1, "b": 2}}) == []
    assert told(schema, {"spec": {"a": 3, "b": 2}}) == [
        ("spec", "Invalid value: failed rule: self.a <= self.b")
    ]


def test_the_message_may_be_computed() -> None:
    rule = ValidationRule(
        "self.a < 3", message="too much", message_expression="'a is ' + string(self.a)"
    )
    broken = ValidationRule("self.a < 3", message="too much", message_expression="self.b + 1")
    schema = spec(rule, broken, a=INT, b=TEXT)

    assert [message for _, message in told(schema, {"a": 5, "b": "x"})] == [
        "Invalid value: a is 5",
        "Invalid value: too much",
    ]


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("FieldValueInvalid", "Invalid value: 5: no"),
        ("FieldValueForbidden", "Forbidden: no"),
        ("FieldValueRequired", "Required value: no"),
        ("FieldValueDuplicate", "Duplicate value: 5"),
    ],
)
def test_the_reason_is_the_rules_choice(reason: str, message: str) -> None:
    node = Schema("integer", rules=(ValidationRule("self < 3", message="no", reason=reason),))

    assert told(Schema("object", properties={"a": node}), {"a": 5}) == [("a", message)]


def test_a_rule_may_point_at_a_field() -> None:
    schema = Schema(
        "object", properties={"spec": spec(ValidationRule("self.a < 3", field_path=".a"), a=INT)}
    )

    assert [field for field, _ in told(schema, {"spec": {"a": 5}})] == ["spec.a"]


def test_transitions_are_judged_on_updates_only() -> None:
    schema = Schema(
        "object",
        properties={"a": Schema("string", rules=(ValidationRule("self == oldSelf", "fixed"),))},
    )

    assert told(schema, {"a": "x"}) == []
    assert told(schema, {"a": "x"}, {}) == []
    assert told(schema, {}, {"a": "x"}) == []
    assert told(schema, {"a": "y"}, {"a": "x"}) == [("a", 'Invalid value: "y": fixed')]


def test_a_rule_may_ask_for_the_first_time_too() -> None:
    rule = ValidationRule(
        "oldSelf.hasValue() ? self >= oldSelf.value() : self > 0", optional_old_self=True
    )
    schema = Schema("object", properties={"a": Schema("integer", rules=(rule,))})

    assert told(schema, {"a": 1}) == []
    assert len(told(schema, {"a": 0})) == 1
    assert told(schema, {"a": 2}, {"a": 1}) == []
    assert len(told(schema, {"a": 1}, {"a": 2})) == 1


def test_items_of_keyed_lists_are_compared_with_themselves() -> None:
    item = spec("self.v >= oldSelf.v", k=TEXT, v=INT)
    schema = Schema(
        "object",
        properties={"l": Schema("array", items=item, list_type=ListType.MAP, list_keys=("k",))},
    )
    old = {"l": [{"k": "a", "v": 5}, {"k": "b", "v": 1}]}

    assert told(schema, {"l": [{"k": "b", "v": 2}, {"k": "a", "v": 5}]}, old) == []
    moved = told(schema, {"l": [{"k": "b", "v": 2}, {"k": "a", "v": 4}]}, old)
    assert [field for field, _ in moved] == ["l[1]"]


def test_values_of_maps_are_named_by_their_keys() -> None:
    value = Schema("string", rules=(ValidationRule("self != 'bad'"),))
    schema = Schema("object", properties={"m": Schema("object", additional=value)})

    assert [field for field, _ in told(schema, {"m": {"x": "ok", "y": "bad"}})] == ["m[y]"]


def test_what_was_accepted_before_may_stay() -> None:
    schema = spec("self.a < 3", a=INT, b=INT)

    assert told(schema, {"a": 5}, {"a": 5}) == []
    assert len(told(schema, {"a": 5, "b": 1}, {"a": 5})) == 1


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("self.m['x'] > 1", "no such key: x evaluating rule: self.m['x'] > 1"),
        ("self.a > 1", "no such key: a evaluating rule: self.a > 1"),
    ],
)
def test_a_rule_that_fails_is_told_too(rule: str, message: str) -> None:
    schema = spec(rule, a=INT, m=Schema("object", additional=INT))

    assert told(schema, {"m": {}}) == [("", f'Invalid value: "object": {message}')]


def test_work_is_bounded() -> None:
    rule = "self.l.all(a, self.l.all(b, self.l.all(c, a + b + c > 0)))"
    schema = spec(rule, l=Schema("array", items=INT))

    message = told(schema, {"l": [1] * 1000})[0][1]

    assert "running out of cost budget" in message
    assert told(schema, {"l": [1] * 10}) == []


@pytest.mark.parametrize(
    ("value", "rule", "holds"),
    [
        ({"n": 1}, "self.n > 0.5", True),
        ({"n": 1}, "type(self.n) == double", True),
        ({"t": "2024-01-01T00:00:00Z"}, "self.t < timestamp('2025-01-01T00:00:00Z')", True),
        ({"t": "2024-01-01T00:00:00Z"}, "self.t.getFullYear() == 2024", True),
        ({"d": "1h"}, "self.d > duration('30m')", True),
        ({"dash-ed": 3}, "self.dash__dash__ed == 3", True),
        ({"namespace": "x"}, "self.__namespace__ == 'x'", True),
        ({"s": "5Gi"}, "quantity(self.s).isLessThan(quantity('6Gi'))", True),
        ({"s": "1k"}, "quantity(self.s) == quantity('1000')", True),
        ({"s": "x"}, "isQuantity(self.s)", False),
        ({"s": "1.5"}, "quantity(self.s).isInteger()", False),
        ({"s": "https://a.b:1/c?d=e"}, "url(self.s).getHost() == 'a.b:1'", True),
        ({"s": "https://a.b:1/c?d=e"}, "url(self.s).getQuery()['d'] == ['e']", True),
        ({"s": "nothing"}, "isURL(self.s)", False),
        ({"s": "10.1.2.3"}, "cidr('10.0.0.0/8').containsIP(self.s)", True),
        ({"s": "::1"}, "ip(self.s).family() == 6", True),
        ({"s": "1.2.3"}, "isIP(self.s)", False),
        ({"s": "a1b22"}, "self.s.findAll('[0-9]+') == ['1', '22']", True),
        ({"s": "a1b22"}, "self.s.find('[0-9]+') == '1'", True),
        ({"s": "A"}, "format.dns1123Label().validate(self.s).hasValue()", True),
        ({"s": "a"}, "!format.dns1123Label().validate(self.s).hasValue()", True),
        ({"l": [1, 2, 2]}, "self.l.isSorted()", True),
        ({"l": [1, 2, 2]}, "self.l.sum() == 5 && self.l.max() == 2", True),
        ({"l": [1, 2, 2]}, "self.l.indexOf(2) == 1 && self.l.lastIndexOf(2) == 2", True),
        ({"s": "abc"}, "'%s has %d'.format([self.s, size(self.s)]) == 'abc has 3'", True),
        ({"s": "a-b"}, "self.s.split('-').join('+') == 'a+b'", True),
        ({"s": "abc"}, "self.s.matches('^[a-c]+$') && self.s.startsWith('ab')", True),
    ],
)
def test_values_and_functions(value: JsonObject, rule: str, *, holds: bool) -> None:
    schema = spec(
        rule,
        n=Schema("number"),
        t=Schema("string", format="date-time"),
        d=Schema("string", format="duration"),
        s=TEXT,
        l=Schema("array", items=INT),
        namespace=TEXT,
        **{"dash-ed": INT},
    )

    assert list(rule_errors(schema, "x")) == []
    assert (told(schema, value) == []) is holds


@pytest.mark.parametrize(
    ("rule", "field", "message"),
    [
        (ValidationRule("self.a >"), "rule", "compilation failed: ERROR: <input>:1:9: Syntax error: mismatched input '<EOF>'"),
        (ValidationRule("slef.a > 1"), "rule", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'slef' (in container '')\n | slef.a > 1\n | ^"),
        (ValidationRule("self.zz > 1"), "rule", "compilation failed: ERROR: <input>:1:5: undefined field 'zz'\n | self.zz > 1\n | ....^"),
        (ValidationRule("nope(self.a)"), "rule", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope'"),
        (ValidationRule("self.a"), "rule", "cel expression must evaluate to a bool"),
        (ValidationRule("self.a > 1", message_expression="self."), "messageExpression", "messageExpression compilation failed: ERROR:"),
        (ValidationRule("self.a > 1", optional_old_self=True), "optionalOldSelf", "may not be set if oldSelf is not used in rule"),
    ],
)  # fmt: skip
def test_rules_that_cannot_work_are_refused(rule: ValidationRule, field: str, message: str) -> None:
    (cause,) = rule_errors(spec(rule, a=INT), "schema")

    assert cause.field == f"schema.x-kubernetes-validations[0].{field}"
    assert message in cause.message


def test_items_without_identity_have_no_past() -> None:
    item = Schema("string", rules=(ValidationRule("self == oldSelf"),))
    schema = Schema("object", properties={"l": Schema("array", items=item)})

    (cause,) = rule_errors(schema, "schema")

    assert cause.field == "schema.properties[l].items.x-kubernetes-validations[0].rule"
    assert "uncorrelatable portion of the schema within schema.properties[l]" in cause.message
