"""Whether an object in a cluster is as somebody wants it, judged without asking the server.

What the server normalises on the way (quantities, empty values, defaults) must not look like a
difference, or every restart would write everything again; and what is different must never
look the same, or nobody would repair it.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from certwright.kube.objects import JsonObject
from certwright.kube.ownership import FieldSet, project

_MERGE_KEYS: Final = (
    "name", "key", "type", "uid", "ip", "mountPath", "devicePath", "topologyKey",
)  # fmt: skip
"""Fields that tell the items of a list apart, in the order they are tried."""


def own_fields(managed: Sequence[JsonObject], manager: str) -> FieldSet | None:
    """Return what a manager owns by apply, status aside; None if it owns nothing."""
    for entry in managed:
        mine = entry.get("manager") == manager and entry.get("operation") == "Apply"
        if mine and not entry.get("subresource"):
            return FieldSet.parse(entry.get("fieldsV1") or {})
    return None


def is_applied(live: JsonObject, owned: FieldSet, desired: JsonObject) -> bool:
    """Say whether the fields we own in *live* are those of *desired*, with the same values.

    That *live* holds the values is not enough: whoever changes an atomic list takes it over,
    and one they only added to still has in it what we want.
    """
    mine = project(live, owned)
    identity = {name: live["metadata"].get(name) for name in ("namespace", "name")}
    whole = {
        **mine,
        "apiVersion": live.get("apiVersion"),
        "kind": live.get("kind"),
        "metadata": {**mine.get("metadata", {}), **identity},  # which nobody owns
    }
    return contains(whole, desired) and covers(desired, mine)


def contains(live: Any, desired: Any) -> bool:
    """Say whether *live* has everything *desired* asks for; it may have more.

    Items of lists are matched by what names them (``name``, ``type``…), else by position.
    Absent, null and empty are the same: the server drops what is empty.
    """
    return _matches(live, desired, lambda have, want: bool(have == want))


def covers(desired: Any, owned: Any) -> bool:
    """Say whether *desired* mentions every field of *owned*, whatever the values are."""
    return _matches(desired, owned, lambda _have, _want: True)


def _matches(have: Any, want: Any, same: Callable[[Any, Any], bool]) -> bool:
    if want is None or want in ({}, []):
        return have is None or have in ({}, []) or type(have) is type(want)
    if isinstance(want, dict):
        return isinstance(have, dict) and all(
            _matches(have.get(name), value, same) for name, value in want.items()
        )
    if isinstance(want, list):
        return isinstance(have, list) and _list_matches(have, want, same)
    return have is not None and same(have, want)


def _list_matches(have: list[Any], want: list[Any], same: Callable[[Any, Any], bool]) -> bool:
    key = _merge_key(want)
    if key is None:
        return len(have) == len(want) and all(map(_matches, have, want, [same] * len(want)))
    by_key = {item.get(key): item for item in have if isinstance(item, dict)}
    return all(_matches(by_key.get(item[key]), item, same) for item in want)


def _merge_key(items: list[Any]) -> str | None:
    """Return the field that tells all items apart, if there is one."""
    if not all(isinstance(item, dict) for item in items):
        return None
    for key in _MERGE_KEYS:
        values = [item.get(key) for item in items]
        if all(isinstance(v, str) for v in values) and len(set(values)) == len(values):
            return key
    return None
