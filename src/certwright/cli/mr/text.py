"""ManagedResources as text: one line each in a list, or all about one. Pure functions."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from certwright.apply.engine.blockers import human_duration
from certwright.cli.terminal.output import fitted, one_line, table, unnamed
from certwright.kube import JsonObject, parse_time
from certwright.managed.shards import FIELD_PATH

_CONDITIONS: Final = ("ResourcesApplied", "ResourcesHealthy", "ResourcesProgressing")
_GOOD: Final = {
    "ResourcesApplied": "True",
    "ResourcesHealthy": "True",
    "ResourcesProgressing": "False",
    "Ready": "True",
}
_LONGEST_MESSAGE: Final = 300
_LONGEST_REPAIR: Final = 500
_NAMED: Final = 20
"""How many objects a question names."""
_SHOWN: Final = 50
"""How many objects an explanation names."""
_HEADS: Final = ("NAME", "CLASS", "APPLIED", "HEALTHY", "PROGRESSING", "OBJECTS", "AGE", "MESSAGE")
_IGNORE: Final = "resources.gardener.cloud/ignore"
_NOTEWORTHY: Final = (
    (_IGNORE, "it is ignored while it has this annotation"),
    ("gardener.cloud/operation", "an operation was requested"),
    ("resources.certwright.dev/confirm-prune", "a large deletion was confirmed"),
    ("resources.certwright.dev/force-delete", "finalizers are cleared when it is deleted"),
    ("resources.certwright.dev/forget-inventory", "lost parts of its inventory are given up"),
    ("resources.certwright.dev/suspend", "it is suspended if this is true"),
    ("resources.certwright.dev/depends-on", "it waits for these ManagedResources"),
    ("resources.certwright.dev/take-over", "it takes objects from other ManagedResources"),
)


def list_table(
    resources: Iterable[JsonObject], now: datetime, *, namespaces: bool, width: int = 0
) -> str:
    """Return a line for each, those that need attention first; see `fitted` for *width*."""
    rows = sorted((_is_good(one), _place(one), one) for one in resources)
    heads = (("NAMESPACE",) if namespaces else ()) + _HEADS
    lines = table(heads, (_row(one, now, namespaces=namespaces) for _, _, one in rows))
    return fitted(lines, width)


def explanation(
    resource: JsonObject,
    secrets: Sequence[str],
    now: datetime,
    repairs: Sequence[JsonObject] = (),
) -> str:
    """Return a description of one.

    *secrets* has a line about each Secret it refers to; *repairs* are Events about repairs.
    """
    spec, status = _part(resource, "spec"), _part(resource, "status")
    lines = [f"ManagedResource {'/'.join(_place(resource))}"]
    lines += [f"  {line}" for line in _description(resource, spec, status, now)]
    lines += _section("Conditions", _conditions(status, now))
    lines += _section("Objects that need attention", _troubles(status))
    lines += _section("What others changed", _repairs(repairs, now))
    lines += _section("Secrets", secrets)
    lines += _section("Objects", _inventory(status))
    return "\n".join(lines)


def consequences(resource: JsonObject) -> str:
    """Return what a forced deletion would do, and to which objects."""
    spec, status = _part(resource, "spec"), _part(resource, "status")
    kept = f"ManagedResource {'/'.join(_place(resource))} keeps {counted(_total(status))}"
    if spec.get("keepObjects"):
        return f"{kept}, which stay (spec.keepObjects). It would be deleted."
    listed = "".join(f"\n  {line}" for line in _inventory(status, _NAMED))
    return (
        f"{kept}{':' if listed else '.'}{listed}\n"
        "It would be deleted with them. Objects that are not gone after a few seconds lose their"
        " finalizers; what these protect is left behind."
    )


def counted(number: int) -> str:
    """Return a number of objects, in words."""
    return f"{number} object{'' if number == 1 else 's'}"


def _row(resource: JsonObject, now: datetime, *, namespaces: bool) -> list[str]:
    namespace, name = _place(resource)
    spec, status = _part(resource, "spec"), _part(resource, "status")
    found = {type_: _condition(status, type_) for type_ in (*_CONDITIONS, "Ready")}
    message = "" if _is_good(resource) else one_line(_worst(resource, found), _LONGEST_MESSAGE)
    return [
        *([namespace] if namespaces else []),
        name,
        str(spec.get("class") or ""),
        *(str(found[type_].get("status") or "") for type_ in _CONDITIONS),
        _counts(status),
        _age(_part(resource, "metadata").get("creationTimestamp"), now),
        message,
    ]


def _is_good(resource: JsonObject) -> bool:
    metadata, status = _part(resource, "metadata"), _part(resource, "status")
    if metadata.get("deletionTimestamp"):
        return False
    if (metadata.get("generation") or 0) != (status.get("observedGeneration") or 0):
        return False
    return all(_condition(status, t).get("status") == _GOOD[t] for t in _CONDITIONS)


def _worst(resource: JsonObject, found: dict[str, JsonObject]) -> str:
    """Return what is wrong: the summary if there is one, else the first bad condition."""
    for type_ in ("Ready", *_CONDITIONS):
        condition = found[type_]
        if condition and condition.get("status") != _GOOD[type_]:
            return f"{condition.get('reason')}: {condition.get('message')}"
    if _IGNORE in _part(_part(resource, "metadata"), "annotations"):
        return f"it is ignored while it has the annotation {_IGNORE}"
    if not any(found.values()):
        kind = _part(resource, "spec").get("class") or "resources"
        return f"waits for a manager of class {kind}"
    return "its latest change is not processed yet"


def _counts(status: JsonObject) -> str:
    """Return how many objects are healthy, of how many; only the latter if health is unknown."""
    summary, total = _part(status, "summary"), _total(status)
    judged = _condition(status, "ResourcesHealthy").get("status") in {"True", "False"}
    return f"{summary.get('healthy') or 0}/{total}" if summary and judged else str(total)


def _total(status: JsonObject) -> int:
    total = _part(status, "summary").get("total")
    return total if isinstance(total, int) else len(_kept(status))


def _description(
    resource: JsonObject, spec: JsonObject, status: JsonObject, now: datetime
) -> Iterator[str]:
    metadata = _part(resource, "metadata")
    age = _age(metadata.get("creationTimestamp"), now)
    yield f"class {spec.get('class') or 'resources'}, {age} old"
    generation, observed = metadata.get("generation") or 0, status.get("observedGeneration") or 0
    if generation != observed:
        yield f"generation {generation} of its spec is not applied yet; {observed} was the last"
    if deleted := metadata.get("deletionTimestamp"):
        held = ", ".join(metadata.get("finalizers") or ()) or "nothing"
        yield f"its deletion was requested {_age(deleted, now)} ago, and waits for {held}"
    if spec.get("suspend"):
        yield "it is suspended: nothing is written until spec.suspend is false"
    if account := spec.get("serviceAccountName"):
        yield f"it acts as the ServiceAccount {account} of its namespace"
    if spec.get("keepObjects"):
        yield "its objects stay when it is deleted (spec.keepObjects)"
    if depends := [str(one.get("name")) for one in _list(spec, "dependsOn")]:
        yield f"it waits for {', '.join(depends)} to be healthy before it writes anything"
    annotations = metadata.get("annotations") or {}
    for key, meaning in _NOTEWORTHY:
        if key in annotations:
            yield f"{key}={annotations[key]}: {meaning}"


def _conditions(status: JsonObject, now: datetime) -> Iterator[str]:
    found = _list(status, "conditions")
    if not found:
        yield "none yet; check that a resource manager of its class is running"
        return
    shown: list[str] = []
    for one in found:
        sign = _sign(str(one.get("type")), str(one.get("status")))
        since = _age(one.get("lastTransitionTime"), now)
        yield f"{sign} {one.get('type')} {one.get('status')} for {since} ({one.get('reason')})"
        if sign != "✓":
            message = _without(str(one.get("message") or ""), shown)
            yield from (f"    {line}" for line in message.splitlines()[:20])
            shown.append(message.removesuffix("."))


def _without(message: str, shown: Iterable[str]) -> str:
    """Return what a message adds to those above it; the last one sums up the others."""
    for before in filter(None, shown):
        message = message.replace(before, "")
    return message.strip(" .\n") and message.lstrip(" .\n")


def _sign(type_: str, status: str) -> str:
    """Return how a condition looks at first sight: good, bad, or not decided yet."""
    if status == _GOOD.get(type_):
        return "✓"
    return "✗" if status == "False" else "…"


def _troubles(status: JsonObject) -> Iterator[str]:
    for one in _list(status, "objects"):
        state = one.get("action") or one.get("health") or ""
        why = str(one.get("message") or one.get("reason") or "")
        yield f"{_named(one)} {state}: {one_line(unnamed(why), 300)}"
        if writer := one.get("lastWriter"):
            yield f"    last written by {writer}"


def _repairs(events: Sequence[JsonObject], now: datetime) -> Iterator[str]:
    """Yield what was repaired last, the newest first: which fields, and who had changed them."""
    dated = sorted(((_told_at(event), event) for event in events), key=lambda one: one[0])
    for at, event in reversed(dated[-_NAMED:]):
        yield f"{_age(at, now)} ago: {one_line(str(event.get('message') or ''), _LONGEST_REPAIR)}"


def _told_at(event: JsonObject) -> str:
    series = _part(event, "series")
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    created = _part(event, "metadata").get("creationTimestamp")
    return str(next(filter(None, times), created) or "")


def _inventory(status: JsonObject, most: int = _SHOWN) -> Iterator[str]:
    entries = _kept(status)
    yield from (_named(one) for one in entries[:most])
    if len(entries) > most:
        yield f"and {len(entries) - most} more"
    for one in _list(status, "resources"):
        if _is_shard(one):
            yield f"and those listed in ConfigMap {one.get('name')}"


def _kept(status: JsonObject) -> list[JsonObject]:
    return [one for one in _list(status, "resources") if not _is_shard(one)]


def _is_shard(entry: JsonObject) -> bool:
    return entry.get("fieldPath") == FIELD_PATH


def _section(head: str, lines: Iterable[str]) -> list[str]:
    found = [f"  {line}" for line in lines]
    return ["", f"{head}:", *found] if found else []


def _named(one: JsonObject) -> str:
    namespace = f"{one.get('namespace')}/" if one.get("namespace") else ""
    return f"{one.get('kind')} {namespace}{one.get('name')}"


def _age(timestamp: Any, now: datetime) -> str:
    try:
        passed = now - parse_time(str(timestamp))
    except ValueError:
        return ""
    return human_duration(max(passed, timedelta()))


def _condition(status: JsonObject, type_: str) -> JsonObject:
    return next((c for c in _list(status, "conditions") if c.get("type") == type_), {})


def _place(resource: JsonObject) -> tuple[str, str]:
    metadata = _part(resource, "metadata")
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def _part(obj: JsonObject, name: str) -> JsonObject:
    value = obj.get(name)
    return value if isinstance(value, dict) else {}


def _list(obj: JsonObject, name: str) -> list[JsonObject]:
    value = obj.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
