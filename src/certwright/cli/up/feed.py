"""The live feed: one line on the terminal for each change in the cluster."""

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial

import orjson

from certwright.clock import SYSTEM
from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import Event
from certwright.kube.patches import create_json_patch
from certwright.runtime import Entry, Manager
from certwright.runtime.serve.logs import redact_text

_SHOWN = 3
"""How many changed fields one line names."""
_LONGEST = 60
_NAMESPACE_DEFAULTS = {"kube-root-ca.crt"}
"""What every namespace gets by itself."""
_BOOKKEEPING = (
    "metadata.resourceVersion",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.annotations.resources.certwright.dev/intent",
)


class LiveFeed:
    """Prints every change of the watched kinds, and events; runs beside the controllers."""

    def __init__(self, manager: Manager, resources: Iterable[Resource]) -> None:
        self._manager = manager
        self._resources = tuple(dict.fromkeys((*resources, Event)))
        self._started = False
        self._unread: OSError | None = None
        self._end = asyncio.Event()
        self.ready = asyncio.Event()
        """Set when everything that happens from now on will be shown."""

    async def run(self) -> None:
        """Print changes until cancelled; objects that existed before are not printed.

        Raises:
            OSError: the reader of a pipe has closed it.
        """
        shares = [(resource, self._manager.cache.store(resource)) for resource in self._resources]
        try:
            for resource, share in shares:
                await share.synced()
                share.listen(partial(self._print, resource))
            self._started = True
            self.ready.set()
            await self._end.wait()
            if self._unread is not None:
                raise self._unread
        finally:
            for _, share in shares:
                share.release()

    def _print(self, resource: Resource, old: Entry | None, new: Entry | None) -> None:
        line = describe(resource, old, new) if self._started else ""
        if not line or self._unread is not None:
            return
        try:
            print(f"{SYSTEM.now().astimezone():%H:%M:%S}  {line}", flush=True)
        except OSError as error:  # who calls listeners would only log it
            self._unread = error
            self._end.set()


def describe(resource: Resource, old: Entry | None, new: Entry | None) -> str:
    """Return one line about the change of an object; empty if it is not worth a line."""
    entry = new or old
    assert entry is not None
    if entry.key.name in _NAMESPACE_DEFAULTS:
        return ""
    if resource == Event:
        return _occurrence(new.obj()) if new else ""
    name = f"{resource.kind} {entry.key}"
    if new is None:
        return f"- deleted   {name}"
    if old is None:
        return f"+ created   {name}"
    if new.meta.deleting and not old.meta.deleting:
        waiting = f"  waits for {', '.join(new.meta.finalizers)}" if new.meta.finalizers else ""
        return f"~ deleting  {name}{waiting}"
    fields = changes(old.obj(), new.obj(), secret=resource.kind == "Secret")
    more = f" and {len(fields) - _SHOWN} more" if len(fields) > _SHOWN else ""
    return f"~ changed   {name}  {', '.join(fields[:_SHOWN])}{more}" if fields else ""


def changes(old: JsonObject, new: JsonObject, *, secret: bool = False) -> list[str]:
    """Return the fields that differ, conditions by type first; without new values if *secret*."""
    found = [] if secret else _changed_conditions(_conditions(old), _conditions(new))
    for operation in create_json_patch(orjson.dumps(_rest(old)), _rest(new)):
        steps = operation["path"].split("/")[1:]
        path = ".".join(step.replace("~1", "/").replace("~0", "~") for step in steps)
        gone = operation["op"] == "remove"
        for name, value in [(path, None)] if gone else _leaves(path, operation["value"]):
            if not name.startswith(_BOOKKEEPING):
                shown = name if secret else f"{name}: {_shortened(value)}"
                found.append(f"{name} removed" if gone else shown)
    return found


def _changed_conditions(old: dict[str, JsonObject], new: dict[str, JsonObject]) -> list[str]:
    """Return the conditions that changed, with their message if only that is new."""
    found = []
    for type_, condition in new.items():
        status, reason, message = (condition.get(name) for name in ("status", "reason", "message"))
        before = old.get(type_) or {}
        words = f"{type_}: {status} ({reason})" if reason else f"{type_}: {status}"
        if (status, reason) != (before.get("status"), before.get("reason")):
            found.append(words)
        elif message != before.get("message"):
            found.append(f"{words} {_shortened(message)}")
    return [*found, *(f"{type_} removed" for type_ in old if type_ not in new)]


def _conditions(obj: JsonObject) -> dict[str, JsonObject]:
    status = obj.get("status")
    listed = status.get("conditions") if isinstance(status, dict) else None
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {str(one.get("type")): one for one in found}


def _rest(obj: JsonObject) -> JsonObject:
    """Return an object without what `_conditions` has found."""
    if not _conditions(obj):
        return obj
    status = {name: value for name, value in obj["status"].items() if name != "conditions"}
    others = {name: value for name, value in obj.items() if name != "status"}
    return {**others, "status": status} if status else others


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    if not isinstance(value, dict) or not value:
        yield path, value
        return
    for name, inner in value.items():
        yield from _leaves(f"{path}.{name}", inner)


def _shortened(value: object) -> str:
    match value:
        case list():
            text = f"{len(value)} item{'' if len(value) == 1 else 's'}"
        case bool():
            text = str(value).lower()
        case _:
            text = redact_text(str(value))
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


def _occurrence(event: JsonObject) -> str:
    about = event.get("regarding") or {}
    who = "/".join(part for part in (about.get("namespace"), about.get("name")) if part)
    sign = "!" if event.get("type") == "Warning" else "·"
    note = _shortened(event.get("note") or "")
    return f"{sign} event     {about.get('kind', '')} {who}  {event.get('reason', '')}: {note}"
