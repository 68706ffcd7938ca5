"""The target as the engine sees it: read from stores, written to, and noted there at once.

The stores hold what carries our label and nothing else, so an object that is not in them may
exist all the same; the engine knows and asks for a fresh read where that matters.

The stores are those of the process, which may read more than the user a set acts as. `Access`
stands between the two: nothing is read from a store that this user may not read.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Final

import orjson

from certwright.apply import Direct, Live, ObjectRef
from certwright.apply.cluster import refuse_unserved
from certwright.client import BadResponse, Client, request
from certwright.client.request import Validation, WriteOptions
from certwright.clock import Clock
from certwright.keep.stores import TargetStores
from certwright.kube import (
    Forbidden,
    GroupVersionKind,
    JsonObject,
    Key,
    NotFound,
    Resource,
    ServiceUnavailable,
)
from certwright.kube.kinds import (
    CustomResourceDefinition,
    HorizontalPodAutoscaler,
    SelfSubjectAccessReview,
)
from certwright.runtime import BadObject, Entry

SERVED_SECONDS: Final = 0.1
"""How often a server is asked whether it serves a kind that was just established."""
ALLOWED_SECONDS: Final = 60.0
"""For how long it counts that a user may read something: a revocation is seen after that."""
DENIED_SECONDS: Final = 5.0
"""For how long it counts that a user may not."""
MOST_ANSWERS: Final = 1000
"""How many answers about one user are remembered."""
MOST_REFUSALS: Final = 100
"""How many objects of a kind and namespace are asked about by name while all are refused."""

Refuses = Callable[[Resource, Key], str]
"""Returns why an object must not be touched at all; empty if it may."""


class Access:
    """What may be read and written for a set: as *user*, or as ourselves if that is empty.

    The server is asked what the user may read (a SelfSubjectAccessReview, as that user), once
    for a kind and namespace as long as the answer counts; writes it judges by itself. What the
    installation *refuses* no user may touch.
    """

    def __init__(
        self, client: Client, clock: Clock, user: str = "", refuses: Refuses | None = None
    ) -> None:
        self.user = user
        self.client = client.acting_as(user) if user else client
        self.guarded = bool(user) or refuses is not None
        """Whether anything has to be checked."""
        self._clock = clock
        self._refuses = refuses
        self._answers: dict[tuple[str, Resource, str, str], tuple[bool, float]] = {}
        self._refusals: Counter[tuple[str, Resource, str]] = Counter()
        self._asking = asyncio.Lock()

    async def check(self, resource: Resource, key: Key, verb: str = "get") -> None:
        """Return if an object may be touched; a key without a name means all of a namespace.

        Raises:
            Forbidden: it may not, in the words of the server, or of the installation.
            ApiError, TransportError: the server does not answer.
        """
        if self._refuses and key.name and (why := self._refuses(resource, key)):
            raise Forbidden(why)
        if not self.user or await self._may(verb, resource, key.namespace):
            return
        if not key.name or not await self._may(verb, resource, key.namespace, key.name):
            raise Forbidden(_forbidden(self.user, verb, resource, key))

    async def _may(self, verb: str, resource: Resource, namespace: str, name: str = "") -> bool:
        question = (verb, resource, namespace, name)
        if (known := self._known(question)) is not None:
            return known
        if name and self._refusals[verb, resource, namespace] >= MOST_REFUSALS:
            return False
        async with self._asking:  # objects are read several at a time
            if (known := self._known(question)) is None:
                known = await self._review(*question)
                if len(self._answers) >= MOST_ANSWERS:
                    self._answers.clear()
                    self._refusals.clear()
                if not name:
                    self._refusals.pop((verb, resource, namespace), None)
                elif not known:
                    self._refusals[verb, resource, namespace] += 1
                seconds = ALLOWED_SECONDS if known else DENIED_SECONDS
                self._answers[question] = (known, self._clock.monotonic() + seconds)
        return known

    def _known(self, question: tuple[str, Resource, str, str]) -> bool | None:
        allowed, until = self._answers.get(question, (False, 0.0))
        return allowed if self._clock.monotonic() < until else None

    async def _review(self, verb: str, resource: Resource, namespace: str, name: str) -> bool:
        attributes = {
            "verb": verb,
            "group": resource.group,
            "version": resource.version,
            "resource": resource.plural,
            "namespace": namespace,
            "name": name,
        }
        kind = SelfSubjectAccessReview
        review = {
            "apiVersion": kind.api_version,
            "kind": kind.kind,
            "spec": {"resourceAttributes": {n: v for n, v in attributes.items() if v}},
        }
        answer = await self.client.send(request.create(kind, review, WriteOptions()))
        return (orjson.loads(answer.body).get("status") or {}).get("allowed") is True


def _forbidden(user: str, verb: str, resource: Resource, key: Key) -> str:
    """Return what the server would say."""
    where = f'in the namespace "{key.namespace}"' if key.namespace else "at the cluster scope"
    what = f'{resource.qualified} "{key.name}"' if key.name else resource.qualified
    return (
        f'{what} is forbidden: User "{user}" cannot {verb} resource "{resource.plural}" '
        f'in API group "{resource.group}" {where}'
    )


class CachedLive(Live):
    """An object of a store, decoded as far as it is looked at."""

    whole = False

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    @cached_property
    def obj(self) -> JsonObject:  # type: ignore[override]
        """Everything but managedFields; `BadResponse` if it is too deep to be read."""
        try:
            return self._entry.obj()
        except BadObject as error:
            raise BadResponse(str(error)) from error

    @cached_property
    def managed(self) -> Sequence[JsonObject]:  # type: ignore[override]
        """The entries of managedFields that the store keeps."""
        return self._entry.managed_fields

    @property
    def resource_version(self) -> str:
        """What tells this state of the object from others."""
        return self._entry.meta.resource_version

    @cached_property
    def labels(self) -> dict[str, str]:
        """The labels."""
        return self._entry.meta.labels

    @cached_property
    def annotations(self) -> dict[str, str]:
        """The annotations."""
        return self._entry.annotations

    @property
    def deleting(self) -> bool:
        """Whether the object is about to go."""
        return self._entry.meta.deleting


class WatchedCluster(Direct):
    """An `apply.Cluster` over the stores of the target; what they cannot know it asks for."""

    sees_all = False
    validation = Validation.WARN  # as for any client that creates an object: it is reported

    def __init__(self, stores: TargetStores, field_manager: str, access: Access) -> None:
        super().__init__(access.client, field_manager=field_manager)
        self._stores = stores
        self._access = access

    async def forbidden(self, refs: Iterable[ObjectRef]) -> dict[ObjectRef, str]:
        """Return which objects must not be touched, each with the reason."""
        if not self._access.guarded:
            return {}
        found: dict[ObjectRef, str] = {}
        for ref in refs:
            try:
                await self._access.check(await self._find(ref.gvk), ref.key)
            except Forbidden as error:
                found[ref] = str(error)
            except (NotFound, ServiceUnavailable, ValueError):
                continue  # applying it tells
        return found

    async def autoscalers(self, namespaces: Iterable[str]) -> list[JsonObject]:
        """Return the autoscalers in namespaces; none where there is no such API."""
        wanted = list(namespaces)
        for namespace in wanted:
            await self._access.check(HorizontalPodAutoscaler, Key(namespace, ""), "list")
        return await self._stores.autoscalers(wanted)

    async def read(self, resource: Resource, key: Key, *, fresh: bool = False) -> Live | None:
        """Return an object from its store, or as the server has it right now."""
        if self._access.guarded:
            await self._access.check(resource, key)
        store = await self._stores.open(resource, key.namespace)
        entry = store.get(key)
        if not fresh:
            return None if entry is None else CachedLive(entry)
        try:
            answer = await self._client.send(request.get(resource, key))
        except NotFound as error:
            refuse_unserved(resource, error)
            if entry is not None:
                self._stores.note_delete(resource, key, entry.uid)
            return None
        self._note_write(resource, answer.body)
        return Live.of(orjson.loads(answer.body))

    async def until(
        self, resource: Resource, key: Key, ready: Callable[[Live], bool], seconds: float
    ) -> Live | None:
        """Wait for the events that make an object ready."""
        await self._access.check(resource, key)
        store = await self._stores.open(resource, key.namespace)
        changed = asyncio.Event()
        stop = store.listen(lambda *_: changed.set())
        found: Live | None = None
        try:
            async with asyncio.timeout(seconds):
                while True:
                    changed.clear()
                    entry = store.get(key)
                    found = None if entry is None else CachedLive(entry)
                    if found is not None and ready(found):
                        break
                    await changed.wait()
                if resource == CustomResourceDefinition:
                    await self._served(found.obj["spec"])
        except TimeoutError:
            pass
        finally:
            stop()
        return found

    async def _served(self, definition: JsonObject) -> None:
        """Return when what a definition defines can be used: discovery takes a moment longer."""
        kinds = [
            GroupVersionKind(definition["group"], version["name"], definition["names"]["kind"])
            for version in definition["versions"]
            if version.get("served", True)
        ]
        for gvk in kinds:
            while self._client.discovery.known(gvk) is None:
                self._client.discovery.invalidate()
                with suppress(NotFound, ServiceUnavailable):
                    await self._client.discovery.resource_for(gvk)
                    break
                await asyncio.sleep(SERVED_SECONDS)

    async def _find(self, gvk: GroupVersionKind) -> Resource:
        """Return how a kind is served, and see to it that its objects are watched."""
        return await self._stores.resource(gvk)

    def _note_write(self, resource: Resource, raw: bytes) -> None:
        self._stores.note_write(resource, raw)

    def _note_deletion(self, resource: Resource, live: Live) -> None:
        self._stores.note_delete(resource, ObjectRef.of(live.obj).key, live.uid)
