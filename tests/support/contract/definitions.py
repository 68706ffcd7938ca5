"""CustomResourceDefinitions and custom resources to try on both servers."""

from typing import Any, cast

Json = dict[str, Any]

TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def node(**properties: Any) -> Json:
    return {"type": "object", "properties": properties}


def rules(*texts: str | Json) -> list[Json]:
    return [text if isinstance(text, dict) else {"rule": text} for text in texts]


def crd(plural: str, schema: Json, group: str = "x.example.com", **version: Any) -> Json:
    names = {"plural": plural, "kind": plural[:-1].capitalize()}
    only = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": names,
            "versions": [{**only, **version}],
        },
    }


def with_spec(spec: Json) -> Json:
    return node(spec=spec)


SCHEMAS = [
    {},
    with_spec({"properties": {}}),
    with_spec({"type": "array"}),
    with_spec({"type": "foo"}),
    with_spec({"type": "array", "items": TEXT, "x-kubernetes-list-type": "map"}),
    with_spec({"type": "array", "items": node(name=TEXT), "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
    with_spec(node(a={"type": "string", "default": 5})),
    with_spec({**node(a=TEXT), "default": {"b": 1}}),
    with_spec({"type": "object", "anyOf": [{"type": "object"}]}),
    with_spec({**node(a=TEXT), "additionalProperties": TEXT}),
    with_spec({"type": "array", "items": TEXT, "uniqueItems": True}),
    with_spec({"x-kubernetes-preserve-unknown-fields": False}),
    with_spec({"type": "string", "x-kubernetes-list-type": "atomic"}),
    with_spec({"type": "string", "x-kubernetes-map-type": "foo"}),
    with_spec({**node(a=NUMBER), "x-kubernetes-validations": rules("self.foo > 1")}),
    with_spec({**node(a=NUMBER), "x-kubernetes-validations": rules("self.a >")}),
    with_spec({**node(a=NUMBER), "x-kubernetes-validations": rules("slef.a > 1")}),
    with_spec({**node(a=NUMBER), "x-kubernetes-validations": rules("")}),
    with_spec({**node(a=NUMBER), "x-kubernetes-validations": rules("self.a")}),
    node(metadata=node(labels={"type": "object"})),
    node(spec=TEXT),
]  # fmt: skip

VERSIONS: list[Json] = [
    {"additionalPrinterColumns": [{"name": "x", "type": "foo", "jsonPath": ".a"}, {"name": "", "type": "", "jsonPath": ""}]},
    {"subresources": {"scale": {}}},
    {"subresources": {"scale": {"specReplicasPath": ".foo", "statusReplicasPath": "x"}}},
    {"selectableFields": [{"jsonPath": ".spec.x"}, {"jsonPath": ".metadata.name"}, {"jsonPath": ".spec"}, {"jsonPath": ".spec"}]},
    {"storage": False},
]  # fmt: skip

STRUCTURAL = with_spec({
    "type": "object",
    "required": ["count", "mode"],
    "properties": {
        "count": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100},
        "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
        "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0, "multipleOf": 0.5},
        "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
        "when": {"type": "string", "format": "date-time"},
        "span": {"type": "string", "format": "duration"},
        "ip": {"type": "string", "format": "ipv4"},
        "raw": {"type": "string", "format": "byte"},
        "items": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": 2, "x-kubernetes-list-type": "set"},
        "keyed": {
            "type": "array",
            "items": {"type": "object", "required": ["k"], "properties": {"k": TEXT, "v": {"type": "integer", "default": 7}}},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
        "labels": {"type": "object", "additionalProperties": TEXT, "maxProperties": 2, "minProperties": 1},
        "port": {"x-kubernetes-int-or-string": True},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        "nothing": {"type": "string", "nullable": True, "default": "x"},
        "something": {"type": "string", "default": "y"},
        "deep": {"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 3}}},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        "any": {**node(a=TEXT, b=TEXT), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "one": {**node(a=TEXT, b=TEXT), "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
        "not": {**node(a=TEXT), "not": {"required": ["a"]}},
        "all": {"type": "integer", "allOf": [{"minimum": 1}, {"maximum": 3}]},
    },
})  # fmt: skip

STRUCTURAL_SPECS: list[Any] = [
    {},
    "x",
    None,
    [],
    *({"count": value} for value in cast("tuple[Any, ...]", (5, "x", 0, 101, 1.5, 5.0, 3000000000, True, None, []))),
    *(
        {"count": 5, field: value}
        for field, value in [
            ("mode", "c"), ("mode", None), ("mode", 5), ("ratio", 0), ("ratio", 1), ("ratio", 0.7), ("ratio", "x"),
            ("name", "a"), ("name", "abcdef"), ("name", "A1"), ("name", 5), ("when", "x"), ("when", "2024-01-01T00:00:00+02:00"),
            ("when", 5), ("span", "1h"), ("span", "x"), ("ip", "1.2.3"), ("ip", "1.2.3.4"), ("raw", "!!"), ("raw", "Zm9v"),
            ("items", []), ("items", ["a", "b", "c"]), ("items", ["a", "a"]), ("items", [1]), ("items", "x"),
            ("keyed", [{"k": "a"}, {"k": "a", "v": 1}]), ("keyed", [{"v": 1}]), ("keyed", [{"k": "a"}, {"k": "b", "x": 1}]),
            ("labels", {}), ("labels", {"a": "1", "b": "2", "c": "3"}), ("labels", {"a": 1}),
            ("port", 5), ("port", "x"), ("port", 1.5), ("port", True), ("free", {"x": {"y": [1]}}), ("free", []),
            ("nothing", None), ("something", None), ("deep", {}), ("deep", {"a": None, "z": 1}), ("deep", None),
            ("embedded", {}), ("embedded", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": {"a": 1}}),
            ("any", {}), ("any", {"a": "x"}), ("one", {}), ("one", {"a": "1", "b": "2"}), ("one", {"a": "1"}),
            ("not", {"a": "x"}), ("all", 5), ("all", 0), ("all", 2),
        ]
    ),
]  # fmt: skip

RULED = with_spec({
    "type": "object",
    "required": ["min", "max"],
    "x-kubernetes-validations": rules(
        {"rule": "self.min <= self.max", "message": "min above max"},
        {"rule": "!has(self.mode) || self.mode == oldSelf.mode", "messageExpression": "'mode was ' + oldSelf.mode"},
        {"rule": "self.replicas < 10", "reason": "FieldValueForbidden", "fieldPath": ".replicas"},
        "self.items.all(i, i.size() < 4)",
        {"rule": "!oldSelf.hasValue() || oldSelf.value().min <= self.min", "optionalOldSelf": True, "message": "min only grows"},
    ),
    "properties": {
        "min": NUMBER,
        "max": NUMBER,
        "mode": {"type": "string", "maxLength": 10},
        "replicas": {"type": "integer", "default": 1},
        "items": {"type": "array", "maxItems": 10, "default": [], "items": {"type": "string", "maxLength": 20}},
        "fixed": {"type": "string", "maxLength": 20, "x-kubernetes-validations": rules({"rule": "self == oldSelf", "message": "fixed"})},
        "keyed": {
            "type": "array",
            "maxItems": 5,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "required": ["k"],
                "properties": {"k": {"type": "string", "maxLength": 10}, "v": {"type": "integer", "default": 0}},
                "x-kubernetes-validations": rules("self.v >= oldSelf.v"),
            },
        },
        "map": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "string", "maxLength": 10, "x-kubernetes-validations": rules("self != 'bad'")}},
        "ratio": {"type": "number", "x-kubernetes-validations": rules("self > 0.5")},
        "when": {"type": "string", "format": "date-time", "x-kubernetes-validations": rules("self > timestamp('2020-01-01T00:00:00Z')")},
        "amount": {"type": "string", "maxLength": 20, "x-kubernetes-validations": rules("isQuantity(self) && quantity(self).isLessThan(quantity('5Gi'))")},
        "url": {"type": "string", "maxLength": 50, "x-kubernetes-validations": rules("isURL(self) && url(self).getScheme() == 'https'")},
    },
})  # fmt: skip

RANGE = {"min": 1, "max": 5}
RULED_SPECS: list[Json] = [
    RANGE,
    {"min": 6, "max": 5},
    {"min": "x", "max": 1},
    *(
        {**RANGE, field: value}
        for field, value in [
            ("replicas", 11), ("items", ["a", "abcdef"]), ("map", {"x": "bad"}), ("ratio", 0.4), ("ratio", 1),
            ("when", "2019-01-01T00:00:00Z"), ("when", "2021-01-01T00:00:00Z"), ("amount", "6Gi"), ("amount", "x"),
            ("amount", "1Gi"), ("url", "http://x"), ("url", "https://x/y"), ("keyed", [{"k": "a", "v": 1}]),
        ]
    ),
]  # fmt: skip

RULED_BEFORE = {**RANGE, "mode": "a", "fixed": "x", "keyed": [{"k": "a", "v": 2}, {"k": "b"}]}
RULED_CHANGES: list[Json] = [
    {"mode": "b"},
    {"fixed": "y"},
    {"fixed": None},
    {"keyed": [{"k": "b", "v": 1}, {"k": "a", "v": 1}]},
    {"min": 0},
    {"max": 7},
    {"max": 0},
]
