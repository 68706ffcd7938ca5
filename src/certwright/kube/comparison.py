"""Compare an object in a cluster with a desired one, without asking the server.

What the server normalises must not look like a difference, or every restart would write
everything again: quantities, instants, empty values, zero values it does not store, and
defaults inside lists that are owned whole. What is different must never look the same, or
drift would not be repaired; so amounts and instants are compared as such only where a built-in
kind has them, and defaults are excused only where the server would fill in the same.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import orjson

from certwright.kube.kinds import BUILT_IN
from certwright.kube.objects import JsonObject
from certwright.kube.ownership import FieldSet, project
from certwright.kube.quantities import Quantity
from certwright.kube.rawjson import MAX_DEPTH
from certwright.kube.timestamps import parse_time

_MERGE_KEYS: Final = (
    "name", "key", "type", "uid", "ip", "mountPath", "devicePath", "topologyKey",
)  # fmt: skip
"""Fields that identify the items of a list, in the order they are tried."""

_BUILT_IN_GROUPS: Final = frozenset({resource.group for resource in BUILT_IN} | {"extensions"})

_AMOUNTS: Final = frozenset(
    {
        "requests", "limits", "hard", "capacity", "overhead",
        "max", "min", "default", "defaultRequest", "maxLimitRequestRatio",
    }
)  # fmt: skip
"""Maps of built-in kinds whose values are quantities."""

_AMOUNT_FIELDS: Final = frozenset(
    {("emptyDir", "sizeLimit"), ("resourceFieldRef", "divisor"),
     ("target", "value"), ("target", "averageValue")}
)  # fmt: skip

_DEFAULTS: Final[dict[tuple[str, str], Any]] = {
    ("fieldRef", "apiVersion"): "v1",
    ("resourceFieldRef", "divisor"): "0",
    ("rules", "scope"): "*",
    ("ports", "protocol"): "TCP",
    ("serviceAccountToken", "expirationSeconds"): 3600,
    ("volumeClaimTemplates", "apiVersion"): "v1",
    ("volumeClaimTemplates", "kind"): "PersistentVolumeClaim",
    ("volumeClaimTemplates", "status"): {"phase": "Pending"},
    ("spec", "volumeMode"): "Filesystem",
}
"""What the server fills in inside lists and maps that have one owner as a whole."""


class _Omitted:
    """We own the field and it is not there: the server does not store zero values of it."""

    def __repr__(self) -> str:
        return "OMITTED"


_OMITTED: Final = _Omitted()


class _Place(NamedTuple):
    """Where a value stands: its field, the field around it, and whether the kind is built in."""

    parent: str
    name: str
    built_in: bool

    def inside(self, name: str) -> "_Place":
        return _Place(self.name, name, self.built_in)


def own_fields(managed: Sequence[JsonObject], manager: str) -> FieldSet | None:
    """Return what a manager owns by apply, status aside; None if it owns nothing."""
    for entry in managed:
        mine = entry.get("manager") == manager and entry.get("operation") == "Apply"
        if mine and not entry.get("subresource"):
            return FieldSet.parse(entry.get("fieldsV1") or {})
    return None


def is_applied(live: JsonObject, owned: FieldSet, desired: JsonObject) -> bool:
    """Return whether the fields we own in *live* are those of *desired*, with the same values.

    That *live* holds the values is not enough: a client that changes an atomic list takes it
    over, and a list it only added to still holds what we want.
    """
    place = _place_of(live)
    mine = project(live, owned)
    with_zeros = project(live, owned, gone=_OMITTED)
    identity = {name: live["metadata"].get(name) for name in ("namespace", "name")}
    whole = {
        **with_zeros,
        "apiVersion": live.get("apiVersion"),
        "kind": live.get("kind"),
        "metadata": {**with_zeros.get("metadata", {}), **identity},  # which has no owner
    }
    return _contains(whole, desired, place) and _covers(desired, mine, place)


def _place_of(obj: JsonObject) -> _Place:
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    return _Place("", "", group in _BUILT_IN_GROUPS)


def contains(live: Any, desired: Any) -> bool:
    """Return whether *live* has everything *desired* asks for; it may have more.

    Items of lists are matched by what names them (``name``, ``type``…), in the same order, else
    by position. Absent, null and empty are the same: the server drops what is empty.
    """
    return _contains(live, desired, _Place("", "", built_in=False))


def covers(desired: Any, owned: Any) -> bool:
    """Return whether *desired* mentions every field of *owned*, whatever the values are."""
    return _covers(desired, owned, _Place("", "", built_in=False))


def held_otherwise(
    fields: FieldSet, live: JsonObject, desired: JsonObject
) -> Iterator[tuple[str, ...]]:
    """Yield the fields of a manager that *live* has, and *desired* has not, or not like that.

    Paths are those of managedFields. Raises `ValueError` if they are nested too deeply.
    """
    return _held_otherwise(fields, live, desired, _place_of(live), ())


def _held_otherwise(
    fields: FieldSet, live: Any, desired: Any, place: _Place, path: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    for element in sorted(fields.members | fields.children.keys()):
        have = _element(live, element)
        if have is None:
            continue
        want = _element(desired, element)
        inner = place.inside(element[2:]) if element.startswith("f:") else place
        nested = fields.children.get(element)
        if nested is not None and isinstance(have, dict | list):
            yield from _held_otherwise(nested, have, want, inner, (*path, element))
        elif not (_contains(have, want, inner) and _covers(want, have, inner)):
            yield (*path, element)


def _element(value: Any, element: str) -> Any:
    """Return what an element of a path in managedFields stands for; None if it is not there."""
    kind, _, text = element.partition(":")
    if kind == "f":
        return value.get(text) if isinstance(value, dict) else None
    if not isinstance(value, list):
        return None
    named = orjson.loads(text)
    if kind == "i":
        return value[named] if named < len(value) else None
    if kind == "v":
        return next((item for item in value if item == named), None)
    items = [item for item in value if isinstance(item, dict)]
    for item in items:
        if all(item.get(key) == part for key, part in named.items()):
            return item
    # What the server fills in where a manifest has nothing: the protocol of a port.
    for item in items:
        if all(item.get(key, part) == part for key, part in named.items()):
            return item
    return None


def lacks(live: JsonObject, desired: JsonObject) -> bool:
    """Return whether something of *desired* is gone from *live*, whatever the values are.

    What is zero or empty may be absent, except in maps of names, where it is stored.
    """
    return _lacks(live, desired, named=False)


_NAMED_VALUES: Final = frozenset({"data", "binaryData", "labels", "annotations"})


def _lacks(have: Any, want: Any, *, named: bool) -> bool:
    if isinstance(want, dict):
        if not want:
            return False
        return not isinstance(have, dict) or any(
            _lacks(have.get(name), value, named=name in _NAMED_VALUES)
            if value is not None and (name in have or not _is_zero(value, named=named))
            else False
            for name, value in want.items()
        )
    if isinstance(want, list):
        if not isinstance(have, list):
            return bool(want)
        key = _merge_key(want)
        if key is None:
            return len(have) < len(want)
        by_key = {item.get(key): item for item in have if isinstance(item, dict)}
        return any(_lacks(by_key.get(item[key]), item, named=False) for item in want)
    return have is None


def _is_zero(value: Any, *, named: bool) -> bool:
    """Return whether a value that is absent may have been left out by the server."""
    return value in ({}, []) or (not named and value in (0, ""))


def difference(sent: Any, live: Any, depth: int = 0) -> Any:
    """Return what *live* holds that is not as *sent*: what the server filled in or changed.

    Raises `ValueError` if it is nested too deeply.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"the object is nested more than {MAX_DEPTH} levels deep")
    if isinstance(sent, dict) and isinstance(live, dict):
        found = {
            name: value if name not in sent else difference(sent[name], value, depth + 1)
            for name, value in live.items()
            if name not in sent or sent[name] != value
        }
        gone = [name for name in sent if name not in live]
        return {**found, "": gone} if gone else found
    if isinstance(sent, list) and isinstance(live, list) and len(sent) == len(live):
        return [difference(one, other, depth + 1) for one, other in zip(sent, live, strict=True)]
    return live


def overlaid(live: Any, desired: Any) -> Any:
    """Return *desired*, completed with what only *live* has; items of lists go by their names."""
    if isinstance(live, dict) and isinstance(desired, dict):
        return {
            **live,
            **{name: overlaid(live.get(name), value) for name, value in desired.items()},
        }
    if isinstance(live, list) and isinstance(desired, list):
        key = _merge_key(live)
        if key is None or _merge_key(desired) != key:
            return live if contains(live, desired) else desired
        mine = {item[key]: item for item in desired}
        kept = [overlaid(item, mine.pop(item[key], {})) for item in live]
        return [*kept, *mine.values()]
    return live if desired is None else desired


def _contains(have: Any, want: Any, place: _Place) -> bool:
    if want is None or want in ({}, []):
        return have is None or have in ({}, []) or have is _OMITTED or type(have) is type(want)
    if isinstance(want, dict):
        return isinstance(have, dict) and all(
            _contains(have.get(name), value, place.inside(name)) for name, value in want.items()
        )
    if isinstance(want, list):
        return isinstance(have, list) and _has_items(have, want, place)
    if have is _OMITTED:
        return want in (0, "")  # and False, which is 0
    return have is not None and _same(have, want, place)


def _has_items(have: list[Any], want: list[Any], place: _Place) -> bool:
    key = _merge_key(want)
    if key is None:
        return len(have) == len(want) and all(map(_contains, have, want, [place] * len(want)))
    rest = iter(have)  # consumed item by item, so that the order has to be the same
    return all(
        any(
            isinstance(item, dict)
            and item.get(key) == wanted[key]
            and _contains(item, wanted, place)
            for item in rest
        )
        for wanted in want
    )


def _covers(have: Any, want: Any, place: _Place) -> bool:
    if want is None or want in ({}, []):
        return have is None or have in ({}, []) or type(have) is type(want)
    if isinstance(want, dict):
        return isinstance(have, dict) and all(
            _mentions(have, name, value, place) for name, value in want.items()
        )
    if isinstance(want, list):
        return isinstance(have, list) and _covers_items(have, want, place)
    return have is not None


def _mentions(have: JsonObject, name: str, value: Any, place: _Place) -> bool:
    if name in have or not place.built_in:
        return _covers(have.get(name), value, place.inside(name))
    return _DEFAULTS.get((place.name, name)) == value or _covers(None, value, place.inside(name))


def _covers_items(have: list[Any], want: list[Any], place: _Place) -> bool:
    key = _merge_key(want)
    if key is None:
        return len(have) == len(want) and all(map(_covers, have, want, [place] * len(want)))
    by_key = {item.get(key): item for item in have if isinstance(item, dict)}
    return all(_covers(by_key.get(item[key]), item, place) for item in want)


def _same(have: Any, want: Any, place: _Place) -> bool:
    """Compare single values: 1 is 1.0 but not true."""
    if isinstance(have, bool) or isinstance(want, bool):
        return have is want
    if have == want:
        return True
    if not place.built_in:
        return False  # only built-in kinds have their values normalised
    try:
        if place.parent in _AMOUNTS or (place.parent, place.name) in _AMOUNT_FIELDS:
            return Quantity.parse(have) == Quantity.parse(want)
        return place.name.endswith(("Time", "Timestamp")) and parse_time(have) == parse_time(want)
    except (ValueError, TypeError):
        return False


def _merge_key(items: list[Any]) -> str | None:
    """Return the field that identifies each item, if there is one."""
    if not all(isinstance(item, dict) for item in items):
        return None
    for key in _MERGE_KEYS:
        values = [item.get(key) for item in items]
        if all(isinstance(v, str) for v in values) and len(set(values)) == len(values):
            return key
    return None
