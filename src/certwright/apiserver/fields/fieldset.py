"""Sets of fields, as ``metadata.managedFields`` writes them.

A set is a tree in the FieldsV1 format: every key is a step (``f:name`` a field,
``k:{"name":"a"}`` an item of a list with keys, ``v:"a"`` an item of a set), every value the
subtree below. A step is a member when its subtree is empty or holds ``"."``; otherwise only
members below it are. Working on the wire format directly saves decoding and encoding on every
request. Trees are never changed in place: they share branches with stored objects.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

import orjson

from certwright.apiserver.gotext import json_text

FieldSet: TypeAlias = dict[str, Any]


def field_set(*paths: str) -> FieldSet:
    """Build a set from dotted paths of field names."""
    root: FieldSet = {}
    for path in paths:
        node: FieldSet = {}
        for name in reversed(path.split(".")):
            node = {f"f:{name}": node}
        root = union(root, node)
    return root


def is_member(node: FieldSet) -> bool:
    """Return whether the step leading to *node* is itself in the set."""
    return not node or "." in node


def union(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return what is in either set."""
    if left is right or not right:
        return left
    if not left:
        return right
    out = dict(left)
    for step, theirs in right.items():
        ours = out.get(step)
        out[step] = theirs if ours is None else _union_node(ours, theirs)
    return out


def _union_node(ours: FieldSet, theirs: FieldSet) -> FieldSet:
    if ours is theirs:
        return ours
    if not ours:
        return theirs if is_member(theirs) else {".": {}, **theirs}
    if not theirs:
        return ours if "." in ours else {".": {}, **ours}
    return union(ours, theirs)


def difference(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of *left* that are not members of *right*.

    A parent and its children count separately: removing one keeps the other.
    """
    if not right:
        return left
    out: FieldSet = {}
    for step, ours in left.items():
        if step == ".":
            continue
        theirs = right.get(step)
        if theirs is None:
            out[step] = ours
            continue
        member = is_member(ours) and not is_member(theirs)
        below = difference(ours, theirs) if theirs else {k: ours[k] for k in ours if k != "."}
        if below and member:
            out[step] = {".": {}, **below}
        elif below or member:
            out[step] = below
    return out


def without(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return *left* less the members of *right* and everything below them."""
    if not right:
        return left
    out: FieldSet = {}
    for step, ours in left.items():
        theirs = right.get(step)
        if theirs is None:
            out[step] = ours
        elif not is_member(theirs):
            below = without(ours, theirs)
            if len(below) == 1 and "." in below:
                below = {}
            if below or is_member(ours):
                out[step] = below
    return out


def intersection(left: FieldSet, right: FieldSet) -> FieldSet:
    """Return the members of both sets."""
    out: FieldSet = {}
    for step, ours in left.items():
        theirs = right.get(step)
        if theirs is None or step == ".":
            continue
        below = intersection(ours, theirs) if ours and theirs else {}
        if is_member(ours) and is_member(theirs):
            out[step] = {".": {}, **below} if below else below
        elif below:
            out[step] = below
    return out


def is_subset(left: FieldSet, right: FieldSet) -> bool:
    """Return whether every member of *left* is a member of *right*."""
    if left is right:
        return True
    for step, ours in left.items():
        if step == ".":
            continue
        theirs = right.get(step)
        if theirs is None:
            return False
        if ours is not theirs and (
            (is_member(ours) and not is_member(theirs)) or not is_subset(ours, theirs)
        ):
            return False
    return True


def ordered(fields: FieldSet) -> FieldSet:
    """Return the set with its steps in alphabetical order, as they are printed."""
    return {step: ordered(fields[step]) if fields[step] else {} for step in sorted(fields)}


def _order(step: str) -> tuple[Any, ...]:
    sort, content = step[:1], step[2:]
    if sort == "k":
        fields = orjson.loads(content)
        return (2, [(name, *_value_order(fields[name])) for name in sorted(fields)])
    if sort == "v":
        return (3, _value_order(orjson.loads(content)))
    return (4, int(content)) if sort == "i" else (1, content)


def _value_order(value: Any) -> tuple[int, Any]:
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    return (3, orjson.dumps(value, option=orjson.OPT_SORT_KEYS))


def paths(fields: FieldSet, prefix: str = "") -> Iterator[str]:
    """Yield the members as paths for people: ``.spec.ports[port=80].name``.

    Parents come before children, and list items in the order of their values: 80 before 443.
    """
    steps = sorted((step for step in fields if step != "."), key=_order)
    for step in steps:
        if is_member(fields[step]):
            yield prefix + describe(step)
    for step in steps:
        if fields[step]:
            yield from paths(fields[step], prefix + describe(step))


def describe(step: str) -> str:
    """Print one step of a path for people."""
    sort, content = step[0], step[2:]
    if sort == "f":
        return f".{content}"
    if sort == "k":
        keys = orjson.loads(content)
        return "[" + ",".join(f"{name}={_quote(keys[name])}" for name in sorted(keys)) + "]"
    return f"[={_quote(orjson.loads(content))}]" if sort == "v" else f"[{content}]"


def _quote(value: Any) -> str:
    return orjson.dumps(value).decode()


def value_step(value: Any) -> str:
    """Return the step to an item of a set."""
    return "v:" + _print(value)


def key_step(keys: dict[str, Any]) -> str:
    """Return the step to an item of a list with keys; *keys* is ordered by name."""
    return "k:" + _print(keys)


def _print(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1 and 1.0 are the same item
    return json_text(value)


def parse(fields: Any) -> FieldSet:
    """Read a client's set, canonical, without unknown steps; `ValueError` if one is malformed."""
    if not isinstance(fields, dict):
        raise ValueError("fieldsV1 must be an object")  # noqa: TRY004 - bad data, not a bad call
    return {
        step: {} if step == "." else parse(below)
        for step, below in ((_canonical(raw), below) for raw, below in fields.items())
        if step
    }


def _canonical(step: str) -> str:
    if step == "." or step.startswith("f:"):
        return step
    if step[1:2] != ":":
        raise ValueError(f"missing colon: {step}")
    if step[0] == "v":
        return value_step(orjson.loads(step[2:]))
    if step[0] == "k":
        keys = orjson.loads(step[2:])
        if not isinstance(keys, dict):
            raise ValueError(f"not an object: {step}")
        return key_step(dict(sorted(keys.items())))
    return step if step[0] == "i" and step[2:].isdecimal() else ""
