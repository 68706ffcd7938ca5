"""Strategic merge patches: JSON merge patches that know the lists of built-in kinds.

Lists with a merge key are merged item by item, lists of scalars marked so as sets; directives
in the patch delete, replace and reorder::

    $patch: delete | replace              on a map, or on an item of a list
    $retainKeys: [name, ...]              drop the other fields of a union
    $setElementOrder/field: [item, ...]   the order of a list after the patch
    $deleteFromPrimitiveList/field: [...] take scalars out of a list
"""

from collections.abc import Callable
from typing import Any

from certwright.apiserver.fields.typed import DEDUCED, child
from certwright.apiserver.gotext import plain, type_name
from certwright.apiserver.schema.schema import Schema
from certwright.kube.errors import ApiError, BadRequest, InternalError, Invalid
from certwright.kube.objects import JsonObject

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE = "$deleteFromPrimitiveList/"


def strategic_merge(doc: JsonObject, patch: JsonObject, schema: Schema) -> JsonObject:
    """Return *doc* patched; neither argument is changed, the result shares parts with both.

    Raises:
        ApiError: the patch or a directive in it makes no sense; the status is the server's.
    """
    if _PATCH in patch:
        return _directed(patch)
    out, rest = dict(doc), dict(patch)
    _retain_keys(out, rest)
    _order_elements(out, rest, schema)
    for name, value in rest.items():
        _merge_field(out, name, value, schema)
    return out


def _directed(patch: JsonObject) -> JsonObject:
    match patch[_PATCH]:
        case "replace":
            return {name: value for name, value in patch.items() if name != _PATCH}
        case "delete":
            return {}
    raise _unknown(patch)


def _merge_field(out: JsonObject, name: str, value: Any, schema: Schema) -> None:
    deleting = name.startswith(_DELETE)
    name = name.removeprefix(_DELETE)
    if value is None:
        out.pop(name, None)
        return
    live = out.get(name)
    inner = child(schema, name)
    if isinstance(live, dict) and isinstance(value, dict):
        out[name] = value if inner.patch_replace else strategic_merge(live, value, inner)
    elif isinstance(live, list) and isinstance(value, list):
        merges = deleting or inner.patch_merge_key or inner.patch_merge
        out[name] = _merge_list(live, value, inner, deleting=deleting) if merges else value
    elif not deleting:
        if _is_directive(value):
            out.pop(name, None)
        else:
            out[name] = _cleaned(value)


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and _PATCH in value


def _cleaned(value: Any) -> Any:
    """Return new content without nulls and directives, which have nothing to act on."""
    if isinstance(value, dict):
        return {
            name: _cleaned(part)
            for name, part in value.items()
            if part is not None and not _is_directive(part)
        }
    if isinstance(value, list):
        return [_cleaned(item) for item in value if not _is_directive(item)]
    return value


def _retain_keys(out: JsonObject, patch: JsonObject) -> None:
    if _RETAIN not in patch:
        return
    keys = patch.pop(_RETAIN)
    if not isinstance(keys, list):
        raise BadRequest("invalid patch format of retainKeys")
    for name, value in patch.items():
        if value is not None and not name.startswith((_DELETE, _ORDER)) and name not in keys:
            raise BadRequest("invalid patch format of retainKeys")
    for name in [name for name in out if name not in keys]:
        del out[name]


def _order_elements(out: JsonObject, patch: JsonObject, schema: Schema) -> None:
    for directive in [name for name in patch if name.startswith(_ORDER)]:
        order = patch.pop(directive)
        name = directive.removeprefix(_ORDER)
        for part in (order, out.get(name, []), patch.get(name, [])):
            if not isinstance(part, list):
                raise _plain_error(f"expected a []interface {{}}, but received a {type_name(part)}")
        live, change = out.get(name), patch.pop(name, None)
        inner = child(schema, name)
        _check_order(change or [], order, inner.patch_merge_key)
        if live is None and change is None:
            continue
        if change is None:
            merged = live
        elif live is None:
            merged = _cleaned(change)
        elif inner.patch_merge_key or inner.patch_merge:
            merged = _merge_list(live, change, inner, deleting=False)
        else:
            merged = change
        _check_items(live or [], change or [])
        identity = _identity(inner.patch_merge_key)
        out[name] = _arranged(merged or [], order, live or [], identity)


def _check_order(change: list[Any], order: list[Any], key: str) -> None:
    """Refuse an order that does not mention the items of the patch, in their order."""
    if not order:
        return
    identity = _identity(key)
    listed = iter([identity(item) for item in order])
    items = [item for item in change if not _is_directive(item)]
    if not all(identity(item) in listed for item in items):
        raise _plain_error(
            f"The order in patch list:\n{plain(change)}\n doesn't match $setElementOrder list:\n"
            f"{plain(order)}\n"
        )


def _merge_list(live: list[Any], change: list[Any], schema: Schema, *, deleting: bool) -> list[Any]:
    if not live and not change:
        return live
    _check_items(live, change)
    if not isinstance((live or change)[0], dict):
        if deleting:
            return [item for item in live if item not in change]
        both = list(dict.fromkeys([*live, *change]))
        return _arranged(both, change, live, _identity(""))
    key = schema.patch_merge_key
    if not key:
        raise _plain_error("cannot merge lists without merge key")
    identity = _identity(key)
    live, change = _directed_items(live, change, identity)
    merged = list(live)
    for item in change:
        wanted = identity(item)
        for index, ours in enumerate(merged):
            if ours.get(key) == wanted:
                merged[index] = strategic_merge(ours, item, schema.items or DEDUCED)
                break
        else:
            merged.append(item)
    return _arranged(merged, change, live, identity)


def _directed_items(
    live: list[Any], change: list[Any], identity: Callable[[Any], Any]
) -> tuple[list[Any], list[Any]]:
    """Carry out the directives among the items; return the live list, and what to merge."""
    plain_items = [item for item in change if not _is_directive(item)]
    replace = False
    for item in change:
        match item.get(_PATCH, ""):
            case "delete":
                gone = identity(item)
                live = [ours for ours in live if identity(ours) != gone]
            case "replace":
                replace = True
            case "merge":
                raise _plain_error("merging lists cannot yet be specified in the patch")
            case "":
                pass
            case _:
                raise _unknown(item)
    return (plain_items, []) if replace else (live, plain_items)


def _arranged(
    items: list[Any], order: list[Any], live: list[Any], identity: Callable[[Any], Any]
) -> list[Any]:
    """Put patched items in the order of the patch, and the others where they were."""
    wanted = {identity(item): index for index, item in reversed(list(enumerate(order)))}
    before = {identity(item): index for index, item in reversed(list(enumerate(live)))}
    patched = [item for item in items if identity(item) in wanted]
    patched.sort(key=lambda item: wanted[identity(item)])
    others = [item for item in items if identity(item) not in wanted]
    others = _by_rank(others, [before.get(identity(item)) for item in others])
    out: list[Any] = []
    while others and patched:
        ours, theirs = before.get(identity(others[0])), before.get(identity(patched[0]))
        first = ours is not None and theirs is not None and ours < theirs
        out.append(others.pop(0) if first else patched.pop(0))
    return out + others + patched


def _by_rank(items: list[Any], ranks: list[int | None]) -> list[Any]:
    """Sort by insertion, where an item without a rank goes before any that precedes it.

    That is no order, but the server's comparison, so the algorithm shows.
    """
    out: list[tuple[int | None, Any]] = []
    for rank, item in zip(ranks, items, strict=True):
        place = len(out)
        while place:
            previous = out[place - 1][0]
            if rank is not None and previous is not None and rank >= previous:
                break
            place -= 1
        out.insert(place, (rank, item))
    return [item for _, item in out]


def _identity(key: str) -> Callable[[Any], Any]:
    """Return what tells items apart: the merge key of maps, scalars themselves."""

    def of(item: Any) -> Any:
        if isinstance(item, dict):
            if not key:
                raise _plain_error("cannot merge lists without merge key")
            if key not in item:
                raise _plain_error(f"map: {plain(item)} does not contain declared merge key: {key}")
            item = item[key]
        if isinstance(item, (dict, list)):
            raise Invalid("the server rejected our request due to an error in our request")
        return item

    return of


def _check_items(*lists: list[Any]) -> None:
    types = {type(item) for items in lists for item in items}
    if list in types:
        raise Invalid("the server rejected our request due to an error in our request")
    if len(types) > 1:
        shown = " ".join(plain(items) for items in lists)
        raise _plain_error(f"list element types are not identical: [{shown}]")


def _unknown(patch: JsonObject) -> ApiError:
    return _plain_error(f"unknown patch type: {plain(patch[_PATCH])} in map: {plain(patch)}")


def _plain_error(message: str) -> ApiError:
    """Return an error the server does not classify: status 500 without a reason."""
    return InternalError(message, reason="")
