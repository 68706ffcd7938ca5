"""Watches: the changes of a kind as they happen, from any point of the history kept.

A watch is a position in the history of its collection, not a queue of its own: a slow
reader costs nothing, and one that falls behind trimmed history is told so (410).

Where a webhook converts between versions, a watch has the changes at hand converted before it moves
on; those that happen meanwhile wait in the history. So events keep their order, and a slow webhook
holds up the watches of other versions than the stored one, and nothing else.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping

import orjson

from certwright.apiserver.backend import Backend
from certwright.apiserver.causes import forbidden_value, unsupported_value
from certwright.apiserver.http.request import Call
from certwright.apiserver.http.responses import EventEncoder, status_of, with_warnings
from certwright.apiserver.refusals import Failed, invalid, too_large_resource_version
from certwright.apiserver.storage.storage import ChangeType, StoredChange, StoredRecord
from certwright.apiserver.verbs.lists import parse_version, selection_of
from certwright.apiserver.webhooks.conversions import shown
from certwright.apiserver.webhooks.reviews import ReviewCaller, ReviewLog, ReviewsNeeded
from certwright.kube.errors import ApiError, BadRequest, Cause, Gone
from certwright.kube.objects import JsonObject

BOOKMARK_SECONDS = 60.0
_SHORTEST_SECONDS = 1800.0
_LAST_BOOKMARK_SECONDS = 2.0
"""A client that is cut off gets a bookmark shortly before, to continue from."""

_HEADERS = {"content-type": "application/json", "cache-control": "no-cache, private"}


class _Ended(Exception):
    """The server ends a watch that it cannot continue."""


class WatchStream:
    """An open watch. Its position is fixed when it is opened, not when it is first read."""

    status = 200

    def __init__(self, backend: Backend, call: Call, webhooks: ReviewCaller) -> None:
        self._backend = backend
        self._webhooks = webhooks
        self._kind = call.kind
        self._warnings = call.warnings
        self._collection = backend.registry.collection(call.kind)
        self._epoch = self._collection.epoch
        self._selection = selection_of(call)
        self._encode = EventEncoder(call)
        self._bookmarks = call.flag("allowWatchBookmarks")
        self._seconds = float(call.integer("timeoutSeconds")) or _SHORTEST_SECONDS * (
            1 + backend.rng.random()
        )
        self._initial: list[StoredRecord] | None = None
        self._refusal: ApiError | None = None
        self._position = backend.storage.revision
        self._start(call)

    @property
    def headers(self) -> Mapping[str, str]:
        """The answer's headers."""
        return with_warnings(_HEADERS, self._warnings)

    def _start(self, call: Call) -> None:
        send_initial = check_watch_options(call)
        asked = _version(call.query.get("resourceVersion", ""))
        current = self._backend.storage.revision
        if send_initial:
            if asked > current:
                self._refusal = too_large_resource_version(asked, current)
            self._initial = list(self._collection.records(self._selection.prefix))
        elif asked:
            self._position = asked
            if asked < self._collection.floor:
                self._refusal = self._too_old(asked)

    def _too_old(self, revision: int) -> Gone:
        return Gone(f"too old resource version: {revision} ({self._collection.floor})")

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield events, one JSON document per line; ends when the server ends the watch."""
        try:
            async for chunk in self._chunks():
                yield chunk
        except _Ended:
            return
        except ApiError as error:
            yield _error_line(error)

    async def _chunks(self) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds
        bookmark_at = self._next_bookmark(loop.time(), deadline)
        if self._refusal is not None:
            raise self._refusal
        if self._initial is not None:
            chunk = self._initial_lines(await self._shown(self._initial))
            self._initial = None
            if chunk:
                yield chunk
        while self._collection.epoch == self._epoch:
            if self._position < self._collection.trimmed:
                raise self._too_old(self._position)
            chunk = await self._pending_lines()
            if chunk:
                yield chunk
                continue
            now = loop.time()
            if now >= deadline:
                return
            if now >= bookmark_at:
                bookmark_at = self._next_bookmark(now, deadline)
                yield self._bookmark_line()
                continue
            await self._wait(min(deadline, bookmark_at))

    def _next_bookmark(self, now: float, deadline: float) -> float:
        last = deadline - _LAST_BOOKMARK_SECONDS
        wanted = self._bookmarks and now < last
        return min(now + BOOKMARK_SECONDS, last) if wanted else float("inf")

    async def _wait(self, until: float) -> None:
        """Sleep until something changes, or until a time."""
        waiter = self._collection.changed()
        timer = waiter.get_loop().call_at(until, _finish, waiter)
        try:
            await waiter
        finally:
            timer.cancel()
            self._collection.forget(waiter)

    def _initial_lines(self, records: list[StoredRecord]) -> bytes:
        matches = self._selection.matches
        lines = [self._encode(ChangeType.ADDED, record) for record in records if matches(record)]
        if self._bookmarks:
            lines.append(self._bookmark_line({"k8s.io/initial-events-end": "true"}))
        return b"".join(lines)

    async def _pending_lines(self) -> bytes:
        changes = self._collection.changes_since(self._position)
        # Everything up to the current revision is in hand, also writes to other kinds.
        position = max(self._position, self._backend.storage.revision)
        if self._kind.conversion is not None:
            try:
                changes = await self._shown_changes(changes)
            except Failed:
                raise _Ended from None  # without a word: the client lists again, and is told
        self._position = position
        return b"".join(filter(None, (self._line(change) for change in changes)))

    async def _shown_changes(self, changes: list[StoredChange]) -> list[StoredChange]:
        inside = [c for c in changes if c.record.key.startswith(self._selection.prefix)]
        if self._selection.is_everything:
            after = await self._shown([change.record for change in inside])
            pairs = zip(inside, after, strict=True)
            return [StoredChange(change.type, now, change.previous) for change, now in pairs]
        both = [each for c in inside for each in (c.record, c.previous) if each is not None]
        shown = iter(await self._shown(both))
        return [
            StoredChange(c.type, next(shown), None if c.previous is None else next(shown))
            for c in inside
        ]

    async def _shown(self, records: list[StoredRecord]) -> list[StoredRecord]:
        """Return records that can be read in the version watched, once webhooks converted them."""
        if self._kind.conversion is None:
            return records
        reviews = ReviewLog()
        while True:
            try:
                return shown(records, self._kind, reviews)
            except ReviewsNeeded as needed:
                await reviews.obtain(needed, self._webhooks, self._backend.new_uid)

    def _line(self, change: StoredChange) -> bytes | None:
        selection = self._selection
        if selection.namespace and not change.record.key.startswith(selection.prefix):
            return None
        if selection.is_everything:
            return self._encode(change.type, change.record)
        before = change.previous is not None and selection.matches(change.previous)
        after = change.type is not ChangeType.DELETED and selection.matches(change.record)
        if before and after:
            return self._encode(ChangeType.MODIFIED, change.record)
        if after:
            return self._encode(ChangeType.ADDED, change.record)
        if before:
            return self._encode(ChangeType.DELETED, _as_of(change))
        return None

    def _bookmark_line(self, annotations: dict[str, str] | None = None) -> bytes:
        resource = self._selection.kind.resource
        metadata: JsonObject = {"resourceVersion": str(self._position)}
        if annotations:
            metadata["annotations"] = annotations
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return self._encode.bookmark(obj)


def check_watch_options(call: Call) -> bool:
    """Return whether the watch begins with the objects that exist; refuse nonsense."""
    query, causes = call.query, list[Cause]()
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    path = "resourceVersionMatch"
    if "sendInitialEvents" in query:
        if match != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            causes.append(forbidden_value(path, why))
    elif match:
        why = f"{path} is forbidden for watch unless sendInitialEvents is provided"
        causes.append(forbidden_value(path, why))
    if match and match != "NotOlderThan":
        causes.append(unsupported_value(path, match, ["NotOlderThan"]))
    if query.get("continue"):
        causes.append(forbidden_value(path, f"{path} is forbidden when continue is provided"))
    if causes:
        raise invalid("ListOptions", "meta.k8s.io", "", causes)
    if "sendInitialEvents" in query:
        return call.flag("sendInitialEvents")
    return version in {"", "0"}


def _version(text: str) -> int:
    try:
        return parse_version(text)
    except BadRequest as error:  # a watch blames itself where a list blames the client
        raise Failed(error.message.removeprefix("invalid resource version: ")) from None


def _as_of(change: StoredChange) -> StoredRecord:
    """Return the object a selector no longer matches: as it was, with the change's number."""
    if change.type is ChangeType.DELETED:
        return change.record
    assert change.previous is not None
    before = change.previous
    metadata = {**before.metadata, "resourceVersion": str(change.revision)}
    last = StoredRecord(
        before.key, before.kind, {**before.obj, "metadata": metadata}, change.revision
    )
    return before.carry_views(last)


def _error_line(error: ApiError) -> bytes:
    return b'{"type":"ERROR","object":' + orjson.dumps(status_of(error)) + b"}\n"


def _finish(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)
