"""Writing kept objects: they are exactly as declared, but for what the table of `keptfields` lists.

An object is created with a POST and changed with a PUT of its whole manifest, on condition that it
is still as it was read. An annotation carries a digest of what was declared. So a process that has
just started knows, without a write or a read, whether the object was written for the same manifest;
managedFields tell whether others have changed it since. What the server or a webhook made of
our own write is no change by others, whatever it is.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from certwright.apply.changeset import LastWriter
from certwright.apply.cluster import Live
from certwright.apply.engine.adoption import handed_over, own_names
from certwright.apply.engine.apply import Application
from certwright.apply.engine.declared import ObjectOrigin
from certwright.apply.engine.findings import Holder, ObjectOutcome, configured, created
from certwright.apply.engine.keptfields import value_at
from certwright.apply.engine.leftovers import merged_metadata
from certwright.apply.engine.memory import difference_of
from certwright.apply.engine.preserve import Sent, preserve
from certwright.kube import AlreadyExists, Conflict, Invalid, JsonObject, NotFound
from certwright.kube.comparison import contains, held_otherwise, lacks
from certwright.kube.ownership import FieldSet

SCALE = "scale"
_NAMES = ("labels", "annotations")
_REPLICAS = ("spec", "replicas")


class Replacement(Application):
    """Creates an object, or replaces it."""

    async def _create(self) -> ObjectOutcome:
        run, ref = self._run, self._wanted.ref
        cluster = await run.writable()
        try:
            body = self._marked(ObjectOrigin.CREATED.value)
            if self._rules.created_as is not None:
                body = self._rules.created_as(body)
            live = await cluster.create(self._resource, body, dry_run=run.dry_run)
        except AlreadyExists:
            existing = await self._read(fresh=True)
            if existing is None:
                raise Conflict(f"{ref} came and went") from None
            return await self._update(existing)
        except Invalid:  # which may have to do with the one that is there
            existing = None if run.cluster.sees_all else await self._read(fresh=True)
            if existing is None:
                raise
            return await self._update(existing)
        if not run.dry_run:
            place = (self._resource, ref.key)
            run.memory.remember_created(place, live, self._digest, self._rules)
        return created(ref, live, dry_run=run.dry_run)

    async def _bring_in_line(self, before: Live) -> ObjectOutcome:
        run, ref = self._run, self._wanted.ref
        first = bool(self._mark) and self._mark not in before.annotations
        if first and not before.whole:
            whole = await self._read(fresh=True)
            if whole is None:
                raise Conflict(f"{ref} is gone")
            return await self._update(whole)
        sent = self._sent(before)
        if not run.always and self._is_in_place(before, sent.obj):
            self._remember(before, sent)
            return configured(ref, before, before, sent.ignored)
        holders = list(self._holders(before, sent.obj))
        body = sent.obj
        if first and (managed := handed_over(before.managed, self._manager, body)):
            body = {**body, "metadata": {**body["metadata"], "managedFields": managed}}
        cluster = await run.writable()
        try:
            after = await cluster.update(self._resource, body, dry_run=run.dry_run)
        except NotFound as error:
            raise Conflict(f"{ref} is gone") from error
        except Invalid as refusal:
            return await self._recreate(before, refusal)
        self._remember(after)
        writer = next(self._writers(before, holders), None)
        return configured(ref, before, after, sent.ignored, writer, holders)

    @property
    def _manager(self) -> str:
        return self._run.cluster.field_manager

    @property
    def _mark(self) -> str:
        return self._run.owner.digest if self._run.owner is not None else ""

    @property
    def _origin(self) -> str:
        return self._run.owner.origin if self._run.owner is not None else ""

    def _marked(self, origin: str) -> JsonObject:
        """Return the object as declared, with the digest of itself and how it became ours."""
        marks = {self._mark: self._digest.hex()} if self._mark else {}
        marks |= {self._origin: origin} if self._origin else {}
        if not marks:
            return self._desired
        metadata: Any = self._desired["metadata"]
        annotations = {**(metadata.get("annotations") or {}), **marks}
        return {**self._desired, "metadata": {**metadata, "annotations": annotations}}

    def _sent(self, live: Live) -> Sent:
        """Return what is written for an object in this state."""
        origin = live.annotations.get(self._origin) or ObjectOrigin.ADOPTED.value
        desired, manager = self._marked(origin), self._manager
        sent = preserve(
            desired, live.obj, None, self._rules, replaces=True, scaled=_scaled(live.managed)
        )
        written = live.annotations.get(self._mark) == self._digest.hex()
        # What is ours and was not removed when the same was declared, the server has added.
        own = {} if written else own_names(live.managed, manager, self._rules.take_over_from)
        metadata = merged_metadata(sent.obj, live, self._rules, own)
        return Sent({**sent.obj, "metadata": metadata}, guarded=True, ignored=sent.ignored)

    def _is_in_place(self, live: Live, body: JsonObject) -> bool:
        """Return whether writing an object would change nothing but what others may change."""
        known = self._run.memory.get(self._resource, self._wanted.ref.key)
        known = known if known is not None and known.digest == self._digest else None
        if known is not None and known.uid == live.uid and known.difference is not None:
            return known.difference == difference_of(body, live.obj)
        declared: JsonObject = body["metadata"]
        same_names = all(
            (declared.get(part) or {}).keys() == (live.metadata.get(part) or {}).keys()
            for part in _NAMES
        )
        return (
            same_names
            and declared["annotations"].get(self._mark) == live.annotations.get(self._mark)
            and _uids(declared) == _uids(live.metadata)
            and any(writer.manager == self._manager for writer in live.writers())
            and next(self._holders(live, body), None) is None
            and not lacks(live.obj, body)
            # Who scales to zero does not hold the number: the server leaves zeros out there.
            and (value_at(body, _REPLICAS) in {None, value_at(live.obj, _REPLICAS)})
            and bool(self._mark or contains(live.obj, body))
        )

    def _holders(self, live: Live, body: JsonObject) -> Iterator[Holder]:
        """Yield what others hold of an object and is not as it would be written."""
        for entry in live.managed:
            subresource, manager = entry.get("subresource"), str(entry.get("manager") or "")
            if subresource not in {None, "", SCALE} or (
                manager == self._manager and not subresource
            ):
                continue
            try:
                fields = FieldSet.parse(entry.get("fieldsV1") or {})
            except ValueError:
                yield Holder("metadata.managedFields", manager)
                continue
            for path in held_otherwise(fields, live.obj, body):
                yield Holder(_text(path), manager)

    def _writers(self, live: Live, holders: list[Holder]) -> Iterator[LastWriter]:
        managers = {holder.manager for holder in holders}
        return (writer for writer in live.writers() if writer.manager in managers)

    def _remember(self, live: Live, sent: Sent | None = None) -> None:
        run = self._run
        if not run.dry_run:
            body = (sent or self._sent(live)).obj
            place = (self._resource, self._wanted.ref.key)
            run.memory.remember_replaced(place, live, self._digest, body, self._rules)


def _uids(metadata: JsonObject) -> set[str]:
    return {str(owner.get("uid")) for owner in metadata.get("ownerReferences") or ()}


def _scaled(managed: Any) -> Iterator[tuple[str, ...]]:
    """Yield the fields that were set through the subresource for scaling."""
    for entry in managed:
        if entry.get("subresource") == SCALE:
            for path in FieldSet.parse(entry.get("fieldsV1") or {}):
                if all(element.startswith("f:") for element in path):
                    yield tuple(element[2:] for element in path)


def _text(path: tuple[str, ...]) -> str:
    """Return a path of managedFields as a `FieldChange` names it."""
    text = ""
    for element in path:
        kind, _, name = element.partition(":")
        if kind == "k":
            named = orjson.loads(name)
            only = named.get("name") if len(named) == 1 else None
            text += f"[name={only}]" if only else f"[{_pairs(named)}]"
        elif kind != "f":
            text += f"[{name}]"
        elif "." in name or "/" in name:
            text += f'["{name}"]'
        else:
            text += f".{name}" if text else name
    return text


def _pairs(named: dict[str, Any]) -> str:
    return ",".join(f"{name}={value}" for name, value in named.items())
