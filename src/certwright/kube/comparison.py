"""Compare an object in a cluster with a desired one, without asking the server.

What the server normalises must not look like a difference, or every restart would write
everything again: quantities, instants, empty values, zero values it does not store, and
defaults inside lists that are owned whole. What is different must never look the same, or
drift would not be repaired; so amounts and instants are compared as such only where a built-in
kind has them, and defaults are excused only where the server would fill in the same.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from certwright.kube.kinds import BUILT_IN
from certwright.kube.objects import JsonObject
from certwright.kube.ownership import FieldSet, project
from certwright.kube.quantities import Quantity
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
    group = str(live.get("apiVersion") or "").rpartition("/")[0]
    place = _Place("", "", group in _BUILT_IN_GROUPS)
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


def contains(live: Any, desired: Any) -> bool:
    """Return whether *live* has everything *desired* asks for; it may have more.

    Items of lists are matched by what names them (``name``, ``type``…), in the same order, else
    by position. Absent, null and empty are the same: the server drops what is empty.
    """
    return _contains(live, desired, _Place("", "", built_in=False))


def covers(desired: Any, owned: Any) -> bool:
    """Return whether *desired* mentions every field of *owned*, whatever the values are."""
    return _covers(desired, owned, _Place("", "", built_in=False))


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
