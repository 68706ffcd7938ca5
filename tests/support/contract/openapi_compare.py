"""Compares what two OpenAPI v3 documents say about types.

Descriptions, defaults and paths are left out: they do not change how objects are stored,
merged or owned. What counts is fields, their types, which are required, and how lists and
maps are merged by apply and by strategic merge.
"""

from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

_PLAIN = ("Quantity", "IntOrString", "FieldsV1", "RawExtension", "Time", "MicroTime", "JSON")
"""Definitions without fields, which each side may spell out differently."""


def differences(ours: Json, theirs: Json) -> list[str]:
    """Return where our document contradicts theirs, for each definition we have."""
    known = theirs["components"]["schemas"]
    return [
        line
        for name, schema in ours["components"]["schemas"].items()
        if not name.endswith(_PLAIN) and "OrBool" not in name and "OrArray" not in name
        and not name.endswith("OrStringArray")
        for line in _definition(name, schema, known.get(name))
    ]  # fmt: skip


def _definition(name: str, ours: Json, theirs: Json | None) -> Iterator[str]:
    if theirs is None:
        yield f"{name}: not a definition of the real server"
        return
    our_fields, their_fields = ours.get("properties", {}), theirs.get("properties", {})
    for field in sorted(their_fields.keys() - our_fields.keys()):
        yield f"{name}.{field}: missing"
    for field in sorted(our_fields.keys() - their_fields.keys()):
        yield f"{name}.{field}: not a field of the real server"
    if set(ours.get("required", ())) != set(theirs.get("required", ())):
        yield f"{name}: required {ours.get('required')}, really {theirs.get('required')}"
    if _is_atomic(ours) != _is_atomic(theirs):
        yield f"{name}: x-kubernetes-map-type {ours.get('x-kubernetes-map-type')}"
    for field in sorted(our_fields.keys() & their_fields.keys()):
        one, other = _facts(our_fields[field]), _facts(their_fields[field])
        if one != other:
            yield f"{name}.{field}: {one}, really {other}"


def _facts(node: Json) -> Json:
    strategy = set(filter(None, node.get("x-kubernetes-patch-strategy", "").split(",")))
    return {
        "type": _type(node),
        "list": node.get("x-kubernetes-list-type", "atomic") if "items" in node else "",
        "keys": node.get("x-kubernetes-list-map-keys", []),
        "merge key": node.get("x-kubernetes-patch-merge-key", ""),
        "strategy": strategy - {"replace"},  # replacing is what happens without one
        "atomic": _is_atomic(node) and "additionalProperties" in node,
    }


def _is_atomic(node: Json) -> bool:
    return node.get("x-kubernetes-map-type") == "atomic"


def _type(node: Json) -> str:
    if "$ref" in node:
        return str(node["$ref"].rpartition("/")[2])
    if len(node.get("allOf", ())) == 1:
        return _type(node["allOf"][0])
    if "items" in node:
        return f"[{_type(node['items'])}]"
    if isinstance(node.get("additionalProperties"), dict):
        return f"{{{_type(node['additionalProperties'])}}}"
    return f"{node.get('type', 'any')} {node.get('format', '')}".strip()
