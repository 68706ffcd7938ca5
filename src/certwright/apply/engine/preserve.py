"""What is written for an object: its manifest, and what of the live object stays.

There are two ways to write. A kept object is *replaced*: what stays is sent with the value it has,
all else is as the manifest says, and what the manifest does not say the server fills in anew.
Server-side *apply* leaves fields of others alone and removes those of ours that are not sent any
more; there, what stays is sent where it is ours, and left out where it is not. Which fields stay is
the same: `keptfields` has the table.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from certwright.apply.engine.declared import Rules
from certwright.apply.engine.keptfields import (
    Item,
    Look,
    Path,
    group_kind,
    kept_paths,
    located,
    type_of,
    value_at,
)
from certwright.kube import JsonObject
from certwright.kube.comparison import contains, overlaid
from certwright.kube.ownership import FieldSet, project

_PORTS: Final = ("spec", "ports")
_CLAIMS: Final = ("spec", "volumeClaimTemplates")


class _Draft:
    """What is going to be written; starts as the manifest, which stays untouched.

    *own* is what we own of the live object; all of it, where that is replaced.
    """

    def __init__(
        self, desired: JsonObject, live: JsonObject, own: FieldSet | None, *, replaces: bool = False
    ) -> None:
        self.desired = desired
        self.obj = desired
        self.guarded = False
        """Whether it repeats live values that the manifest does not have."""
        self.ignored: list[str] = []
        self.replaces = replaces
        self._live = live
        self._own = own

    @cached_property
    def _mine(self) -> JsonObject:
        if self.replaces:
            return self._live
        return project(self._live, self._own) if self._own is not None else {}

    def wanted(self, path: Path) -> Any:
        """Return what the manifest says; None if nothing."""
        return value_at(self.desired, path)

    def have(self, path: Path) -> Any:
        """Return what the live object holds; None if nothing."""
        return value_at(self._live, path)

    def ours(self, path: Path) -> Any:
        """Return what we own of that; None if nothing."""
        return value_at(self._mine, path) if self.have(path) is not None else None

    def leave(self, path: Path) -> None:
        """Leave a field as it is in the cluster, if it is there."""
        if self.have(path) is not None:
            self.carry(path)

    def carry(self, path: Path) -> None:
        """Send what is ours of a field as it is in the cluster, whatever the manifest says."""
        ours = self.ours(path)
        if ours is None:
            self.drop(path)
        else:
            self.set(path, ours)

    def set(self, path: Path, value: Any) -> None:
        """Send a live value; the draft then holds for this state of the object only."""
        if value_at(self.obj, path) != value:
            self.obj = _replaced(self.obj, path, value)
            self.guarded = True

    def drop(self, path: Path) -> None:
        """Leave a field out, and what is empty without it."""
        if value_at(self.obj, path) is not None:
            self.obj = _removed(self.obj, path)


def _replaced(obj: Any, path: Path, value: Any) -> Any:
    """Return *obj* with another value at a path; as it is where the path cannot be."""
    if not path:
        return value
    element, rest = path[0], path[1:]
    if isinstance(element, str):
        if obj is not None and not isinstance(obj, dict):
            return obj
        inner = obj or {}
        return {**inner, element: _replaced(inner.get(element), rest, value)}
    if obj is not None and not isinstance(obj, list):
        return obj
    items = list(obj or ())
    position = _position(items, element)
    if position < len(items):
        items[position] = _replaced(items[position], rest, value)
    else:
        new = {"name": element.name} if isinstance(element, Item) and rest else None
        items.append(_replaced(new, rest, value))
    return items


def _removed(obj: Any, path: Path) -> Any:
    element, rest = path[0], path[1:]
    if not isinstance(element, str):
        position = _position(obj, element)
        inner = [_removed(obj[position], rest)] if rest else []
        return [*obj[:position], *inner, *obj[position + 1 :]]
    if rest:
        inner = _removed(obj[element], rest)
        if inner:
            return {**obj, element: inner}
    return {name: value for name, value in obj.items() if name != element}


def _position(items: list[Any], element: int | Item) -> int:
    """Return where in a list an item is; behind its end if it is not there."""
    if isinstance(element, int):
        return min(element, len(items))
    named = (
        position
        for position, item in enumerate(items)
        if isinstance(item, dict) and item.get("name") == element.name
    )
    return next(named, len(items))


@dataclass(frozen=True, slots=True)
class Sent:
    """What is written for an object."""

    obj: JsonObject = field(repr=False)  # it may be a Secret
    guarded: bool = False
    """It repeats live values, so it only holds for the very state they were read from."""
    ignored: tuple[str, ...] = ()
    """Fields in which the manifest was not followed, because they cannot change."""


def preserve(
    desired: JsonObject,
    live: JsonObject,
    own: FieldSet | None,
    rules: Rules,
    *,
    replaces: bool = False,
    scaled: Iterable[Path] = (),
) -> Sent:
    """Return what to write so that *live* becomes *desired* but for what is to be preserved.

    *scaled* are fields that were set by scaling: they stay unless the manifest has them.
    """
    draft = _Draft(desired, live, own, replaces=replaces)
    if rules.preserve_allocated:
        # Finalizers and status are left to those who work with them; on creation both were set.
        draft.carry(("metadata", "finalizers"))
        draft.carry(("status",))
        _keep_by_kind(draft)
    else:
        draft.drop(("status",))
    for path in kept_paths(Look(rules, desired, live)):
        draft.leave(path)
    for path in scaled:
        if draft.wanted(path) is None:
            draft.leave(path)
    for pointer in rules.ignored:
        if (found := located(pointer, live)) is not None:
            draft.leave(found)
    return Sent(draft.obj, draft.guarded, tuple(draft.ignored))


def _keep_by_kind(draft: _Draft) -> None:
    """Keep what takes more than a path to find."""
    match group_kind(draft.desired):
        case ("apps" | "extensions", "StatefulSet"):
            wanted, have = draft.wanted(_CLAIMS), draft.have(_CLAIMS)
            if wanted and have and not contains(have, wanted):
                draft.ignored.append(".".join(_CLAIMS))
        case ("", "Service"):
            if type_of(draft.wanted(("spec",))) in {"LoadBalancer", "NodePort"}:
                _keep_node_ports(draft)
        case ("", "Pod") if draft.replaces:
            # Little of a Pod can change, so little can be added to it; the rest was filled in.
            draft.set(("spec",), overlaid(draft.have(("spec",)), draft.wanted(("spec",))))


def becomes_headless(live: JsonObject, desired: JsonObject) -> bool:
    """Return whether a Service gives up its address, which only a new one can."""
    address = ("spec", "clusterIP")
    have, wants = value_at(live, address), value_at(desired, address)
    return wants == "None" and have not in (None, "", "None")


def _keep_node_ports(draft: _Draft) -> None:
    """Give ports without a node port the one they have, under their number or their name."""
    live, ours = _ports(draft.have(_PORTS)), _ports(draft.ours(_PORTS))
    wanted = _ports(draft.wanted(_PORTS))
    taken = {_number(port) for port in wanted}
    for position, port in enumerate(wanted):
        if port.get("nodePort"):
            continue
        match = _match(port, live, taken)
        if match is None or not match.get("nodePort"):
            continue
        same_item = _number(match) == _number(port)
        own = any(_number(p) == _number(port) and p.get("nodePort") for p in ours)
        if own or not same_item:
            draft.set((*_PORTS, position, "nodePort"), match["nodePort"])


def _match(
    port: JsonObject, live: list[JsonObject], taken: set[tuple[Any, str]]
) -> JsonObject | None:
    """Return the live port that is the same: by number and protocol, by name, by number.

    One that is the same as another wanted port by number is not given away by name.
    """
    name = port.get("name")
    free = [candidate for candidate in live if _number(candidate) not in taken]
    exact = [candidate for candidate in live if _number(candidate) == _number(port)]
    named = [candidate for candidate in free if name and candidate.get("name") == name]
    numbered = [candidate for candidate in free if candidate.get("port") == port.get("port")]
    for found in (exact, named, numbered):
        if found:
            return found[-1]
    return None


def _number(port: JsonObject) -> tuple[Any, str]:
    return port.get("port"), port.get("protocol") or "TCP"


def _ports(ports: Any) -> list[JsonObject]:
    return [p for p in (ports if isinstance(ports, list) else ()) if isinstance(p, dict)]
