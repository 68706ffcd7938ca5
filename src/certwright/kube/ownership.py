"""The fields of an object that a manager owns, and what they currently hold.

The API server records in ``metadata.managedFields`` which manager set which field, in a format
called FieldsV1: nested objects whose keys are path elements. ``f:name`` is a field,
``k:{"name":"x"}`` the item of a keyed list, ``v:"x"`` an item of a set, ``i:0`` an item by
its position, and ``.`` says that the element itself, beside what is in it, is owned.

A controller that remembers the `projection_hash` of what the server *returned* after an apply
notices drift later without a request, and without knowledge of defaults and normal forms: only
changes to its own fields change the hash.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Final

import orjson

from certwright.kube.objects import JsonObject
from certwright.kube.rawjson import MAX_DEPTH

_MISSING: Final = object()


@dataclass(frozen=True, slots=True)
class FieldSet:
    """A set of fields. Compares by content.

    *members* are the path elements owned at this place, *children* the sets of fields
    inside them. An element in both is written with ``.`` in FieldsV1.
    """

    members: frozenset[str] = frozenset()
    children: Mapping[str, "FieldSet"] = field(default_factory=dict)

    @classmethod
    def parse(cls, fields: Mapping[str, Any]) -> "FieldSet":
        """Read FieldsV1, as decoded from JSON; `ValueError` if malformed or nested too deeply."""
        return _parse(fields, 0)

    def to_json(self) -> JsonObject:
        """Write FieldsV1; sorted, so that equal sets give equal text."""
        written: JsonObject = {}
        for element in sorted(self.members | self.children.keys()):
            inner = self.children[element].to_json() if element in self.children else {}
            if inner and element in self.members:
                inner = {".": {}, **inner}
            written[element] = inner
        return written

    def __bool__(self) -> bool:
        return bool(self.members or self.children)

    def __hash__(self) -> int:
        return hash((self.members, frozenset(self.children.items())))

    def __or__(self, other: "FieldSet") -> "FieldSet":
        """Return the fields in either set."""
        if not self or not other:
            return self or other
        children = {
            element: self.children.get(element, _EMPTY) | other.children.get(element, _EMPTY)
            for element in self.children.keys() | other.children.keys()
        }
        return FieldSet(self.members | other.members, children)

    def __and__(self, other: "FieldSet") -> "FieldSet":
        """Return the fields in both sets."""
        return _without_empty(
            self.members & other.members,
            {
                element: self.children[element] & other.children[element]
                for element in self.children.keys() & other.children.keys()
            },
        )

    def __sub__(self, other: "FieldSet") -> "FieldSet":
        """Return the fields in this set and not in *other*."""
        return _without_empty(
            self.members - other.members,
            {
                element: inner - other.children.get(element, _EMPTY)
                for element, inner in self.children.items()
            },
        )

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """Yield the path of every field in the set."""
        for element in sorted(self.members | self.children.keys()):
            if element in self.members:
                yield (element,)
            for path in self.children.get(element, _EMPTY):
                yield (element, *path)


_EMPTY: Final = FieldSet()


def project(obj: JsonObject, fields: FieldSet, *, gone: Any = _MISSING) -> JsonObject:
    """Return the part of *obj* that is in *fields*.

    A field owned without anything inside it counts whole: scalars, atomic lists and maps,
    and also objects that were applied empty, whose schema we do not know. Items of lists
    keep the order they have in *obj*. Owned fields that are gone are simply absent, unless
    there is a value to stand for them.
    """
    projected = _project(obj, fields, gone, member=False)
    return projected if isinstance(projected, dict) else {}


def without(obj: JsonObject, fields: FieldSet, kept: FieldSet) -> JsonObject:
    """Return *obj* without *fields*, but for those that are in *kept*, or hold one that is."""
    left = _without(obj, fields, kept)
    return left if isinstance(left, dict) else {}


def projection_hash(obj: JsonObject, fields: FieldSet) -> str:
    """Return a hash of what *obj* holds in *fields*; other fields do not influence it."""
    canonical = orjson.dumps(project(obj, fields), option=orjson.OPT_SORT_KEYS)
    return blake2b(canonical, digest_size=16).hexdigest()


def _parse(fields: Mapping[str, Any], depth: int) -> FieldSet:
    if depth > MAX_DEPTH:
        raise ValueError(f"managed fields are nested more than {MAX_DEPTH} levels deep")
    members, children = set(), {}
    for key, inner in fields.items():
        if key == ".":
            continue  # read one level above
        element = _canonical(key)
        if not isinstance(inner, Mapping):
            raise ValueError(f"managed fields: {key!r} does not hold an object")  # noqa: TRY004 - bad data
        if not inner:
            members.add(element)
            continue
        if "." in inner:
            members.add(element)
        if nested := _parse(inner, depth + 1):
            children[element] = nested
    return FieldSet(frozenset(members), children)


def _canonical(key: str) -> str:
    """Return the one spelling of a path element, whatever order its JSON was written in."""
    kind, _, text = key.partition(":")
    if kind == "f":
        return key
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"managed fields: {key!r} is not a path element") from error
    if kind == "v" or (kind == "k" and isinstance(value, dict)):
        return f"{kind}:{_dump(value)}"
    if kind == "i" and isinstance(value, int):
        return key
    raise ValueError(f"managed fields: {key!r} is not a path element")


def _dump(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _without_empty(members: frozenset[str], children: dict[str, FieldSet]) -> FieldSet:
    return FieldSet(members, {element: inner for element, inner in children.items() if inner})


def _project(value: Any, fields: FieldSet, gone: Any, *, member: bool) -> Any:
    if member and not fields:
        return value
    if isinstance(value, dict):
        found: Any = dict(_project_fields(value, fields, gone))
    elif isinstance(value, list):
        found = list(_project_items(value, fields, gone))
    else:
        found = value if member else None  # not the shape the owner left behind
    return found if found or member else _MISSING


def _project_fields(value: JsonObject, fields: FieldSet, gone: Any) -> Iterator[tuple[str, Any]]:
    for element in fields.members | fields.children.keys():
        name = element[2:]
        if not element.startswith("f:"):
            continue
        if name in value:
            inner = _descend(value[name], fields, gone, element)
        else:
            inner = gone if element in fields.members else _MISSING
        if inner is not _MISSING:
            yield name, inner


def _project_items(items: list[Any], fields: FieldSet, gone: Any) -> Iterator[Any]:
    elements = fields.members | fields.children.keys()
    keys = _keys_of(elements)
    for position, item in enumerate(items):
        for element in _names_of(item, position, keys):
            if element in elements:
                inner = _descend(item, fields, gone, element)
                if inner is not _MISSING:
                    yield inner
                break


def _names_of(item: Any, position: int, keys: set[tuple[str, ...]]) -> Iterator[str]:
    """Yield the path elements that may stand for an item of a list."""
    if isinstance(item, dict):
        for names in keys:
            if all(name in item for name in names):
                yield f"k:{_dump({name: item[name] for name in names})}"
    yield f"v:{_dump(item)}"
    yield f"i:{position}"


def _without(value: Any, fields: FieldSet, kept: FieldSet) -> Any:
    elements = fields.members | fields.children.keys()
    if isinstance(value, dict):
        rest = ((name, _remainder(item, fields, kept, f"f:{name}")) for name, item in value.items())
        return {name: left for name, left in rest if left is not _MISSING}
    if isinstance(value, list):
        keys = _keys_of(elements)
        named = (
            (item, next((e for e in _names_of(item, n, keys) if e in elements), ""))
            for n, item in enumerate(value)
        )
        found = (_remainder(item, fields, kept, element) for item, element in named)
        return [left for left in found if left is not _MISSING]
    return value


def _remainder(value: Any, fields: FieldSet, kept: FieldSet, element: str) -> Any:
    """Return what is left of the value of an element; `_MISSING` if nothing is."""
    inner, kept_inner = fields.children.get(element), kept.children.get(element, _EMPTY)
    goes = element in fields.members and element not in kept.members
    if inner is None:
        return _MISSING if goes and not kept_inner else value
    left = _without(value, inner, kept_inner)
    return left if left or not goes else _MISSING


def _keys_of(elements: Iterable[str]) -> set[tuple[str, ...]]:
    """Return the fields by which items of a list are told apart."""
    return {tuple(orjson.loads(element[2:])) for element in elements if element.startswith("k:")}


def _descend(value: Any, fields: FieldSet, gone: Any, element: str) -> Any:
    inner = fields.children.get(element)
    if inner is None:
        return value  # owned whole
    return _project(value, inner, gone, member=element in fields.members)
