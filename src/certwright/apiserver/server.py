"""The embedded API server: one object that answers requests like a kube-apiserver.

The way of a request: bytes become a `Request` (`http.listener`, `http.transport`), its user is
settled (`access.impersonation`), its path is read and authorized (`http.request`, `access.rbac`),
and it becomes a `Call`. `dispatch` chooses the verb, the verb reads from `storage` or sends its
object through `writes` (decode, default, own, validate, store), and records become a response
(`http.responses`). Each stored change wakes watches (`verbs.watches`) and the server's own
`controllers`, which run before `handle` returns. Other paths are answered by `discovery`. Where a
webhook has to be called, the request is handed in again with its answer (`webhooks`).
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from functools import cache, lru_cache, partial
from random import Random
from typing import Final, TypeVar

import orjson

from certwright.apiserver.access.impersonation import effective_user
from certwright.apiserver.access.rbac import Attributes, Authorizer
from certwright.apiserver.access.tokens import Tokens
from certwright.apiserver.access.users import ADMIN, AUTHENTICATED, MASTERS, UserInfo
from certwright.apiserver.admission.configuration import MUTATING, VALIDATING
from certwright.apiserver.admission.webhooks import StoredWebhooks
from certwright.apiserver.backend import Backend
from certwright.apiserver.bootstrap import (
    RecordedWrite,
    create_initial_objects,
    repeat,
    serves_beginning,
)
from certwright.apiserver.builtins import served_kinds
from certwright.apiserver.controllers.background import Background
from certwright.apiserver.controllers.customresources import DEFINITIONS
from certwright.apiserver.discovery.paths import Paths
from certwright.apiserver.dispatch import Dispatch
from certwright.apiserver.http.bodies import DEPTH_EXCEEDED
from certwright.apiserver.http.listener import Endpoint, TlsListener
from certwright.apiserver.http.request import Call, attributes_of, parse_call, parse_path
from certwright.apiserver.http.responses import refusal_response
from certwright.apiserver.http.transport import MemoryTransport
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.refusals import KindNotServed
from certwright.apiserver.storage.registry import Registry
from certwright.apiserver.storage.storage import ChangeType, Storage, StoredChange, storage_key
from certwright.apiserver.storage.versions import view
from certwright.apiserver.verbs.lists import selection
from certwright.apiserver.verbs.logs import Logs
from certwright.apiserver.verbs.watches import WatchStream
from certwright.apiserver.webhooks.httpscaller import HttpsReviewCaller
from certwright.apiserver.webhooks.reviews import ReviewCaller, ReviewLog, ReviewsNeeded
from certwright.apiserver.webhooks.servicetable import ServiceTable
from certwright.apiserver.writes.deletion import ObjectDeleter
from certwright.apiserver.writes.escalation import AuthorizedWriter
from certwright.apiserver.writes.writes import ObjectWriter
from certwright.client.request import Selection, WriteOptions, apply
from certwright.client.transport import RefusedStream, Request, Response, Stream, Transport
from certwright.clock import SYSTEM, Clock
from certwright.kube.errors import ApiError, BadRequest, ServerTimeout
from certwright.kube.kinds import CustomResourceDefinition
from certwright.kube.objects import JsonObject, Key, Resource

T = TypeVar("T")

_REVIEWED_SECONDS: Final = 34
"""How long a request may take that webhooks are called for, as in kube-apiserver."""
_TOO_SLOW: Final = (
    "Timeout: request did not complete within requested timeout - context deadline exceeded"
)


class ApiServer:
    """A Kubernetes API server in this process.

    `handle` and `watch` are the whole of it: synchronous, in memory, deterministic given
    *clock* and *rng*. `transport` puts them behind the client's seam, `serve` behind TLS.
    Nothing outlives the object, and two servers share nothing.

    What users may do depends on the roles and bindings stored; without *rbac* every user may
    do everything. With *namespace_defaults*, every namespace gets a default
    ServiceAccount and the ConfigMap ``kube-root-ca.crt``, as from a controller manager;
    garbage collection and namespace deletion are always on. *history_limit* is how many
    changes of a kind watches can go back at least, unless those of all kinds hold more than
    *history_bytes*. Events are gone an hour after their last write.

    Webhooks are called through *webhooks*, by default over HTTPS, with Services found in
    `services`. `respond` and `open` are `handle` and `watch` with what webhooks have to say.
    """

    def __init__(
        self,
        *,
        clock: Clock = SYSTEM,
        rng: Random | None = None,
        rbac: bool = True,
        namespace_defaults: bool = False,
        kinds: Iterable[ServedKind] | None = None,
        history_limit: int = 10_000,
        history_bytes: int = 8 * 2**20,
        webhooks: ReviewCaller | None = None,
    ) -> None:
        rng = rng or Random()
        # Clients must not rely on where numbers start.
        storage = Storage(
            revision=rng.randrange(1_000, 1_000_000),
            history_limit=history_limit,
            history_bytes=history_bytes,
        )
        registry = Registry(storage, served_kinds() if kinds is None else kinds)
        self._backend = Backend(storage, registry, clock, rng)
        self.services = ServiceTable(storage)
        """Where the ports of Services are found; a node that runs pods fills it."""
        self._webhooks = webhooks or HttpsReviewCaller(self.services, clock)
        self._configured = StoredWebhooks(self._backend)
        self._configurations = storage.collection(*MUTATING), storage.collection(*VALIDATING)
        self._tokens = Tokens(clock)
        self._authorizer = Authorizer(self._backend, enabled=rbac)
        self._paths = Paths(registry)
        deletion = ObjectDeleter(self._backend)
        writes = AuthorizedWriter(self._backend, deletion, self._authorizer)
        self._dispatch = Dispatch(self._backend, writes, deletion, self._authorizer, self._tokens)
        self.background = Background(
            self._backend, writes, deletion, namespace_defaults=namespace_defaults
        )
        self._adds_defaults = namespace_defaults
        self._begin(writes)
        storage.on_change(self._tokens.observe)

    def _begin(self, writes: ObjectWriter) -> None:
        """Store what every cluster has from the start."""
        plain = not self._adds_defaults and serves_beginning(self._backend)
        if plain:
            repeat(self._backend, _beginning())
        self._backend.storage.on_change(self.background.observe)
        if not plain:
            self._begin_anew(writes)

    def _begin_anew(self, writes: ObjectWriter) -> None:
        create_initial_objects(self._backend, writes)
        self.background.run()

    async def respond(self, request: Request, user: UserInfo = ADMIN) -> Response:
        """Answer a request, with the reviews of the webhooks that it concerns."""
        try:
            return self.handle(request, user)
        except ReviewsNeeded as needed:
            first = needed.with_traceback(None)  # which holds this frame, and the request
        try:
            return await self._reviewed(partial(self.handle, request, user), first)
        except TimeoutError:
            return refusal_response(ServerTimeout(_TOO_SLOW))

    async def open(self, request: Request, user: UserInfo = ADMIN) -> Stream:
        """Open a watch, with the reviews of the webhooks that it concerns."""
        try:
            return self.watch(request, user)
        except ReviewsNeeded as needed:
            first = needed.with_traceback(None)  # which holds this frame, and the request
        try:
            return await self._reviewed(partial(self.watch, request, user), first)
        except TimeoutError:
            return RefusedStream(refusal_response(ServerTimeout(_TOO_SLOW)))

    async def _reviewed(self, attempt: Callable[[ReviewLog], T], needed: ReviewsNeeded) -> T:
        """Have webhooks called and try again, until nothing more is needed."""
        reviews = self._backend.reviews  # begun by the attempt that has just ended
        async with asyncio.timeout(_REVIEWED_SECONDS):
            while True:
                await reviews.obtain(needed, self._webhooks, self._backend.new_uid)
                try:
                    return attempt(reviews)
                except ReviewsNeeded as more:
                    needed = more.with_traceback(None)

    def handle(
        self, request: Request, user: UserInfo = ADMIN, reviews: ReviewLog | None = None
    ) -> Response:
        """Answer a request. What it sets off in the background is done before this returns.

        Raises:
            ReviewsNeeded: webhooks have to be called first; *reviews* takes what they say.
        """
        self._backend.begun = reviews
        try:
            user = effective_user(request, user, self._authorizer)
        except ApiError as error:
            return refusal_response(error)
        return self._handle(request, user)

    def _handle(self, request: Request, user: UserInfo) -> Response:
        """Answer a request of the user it is to be carried out as."""
        warnings: list[str] = []
        self.background.expire()
        try:
            call = self._understand(request, user)
            if call is None:
                asked = Attributes(request.method.lower(), path=request.path)
                self._authorizer.check(user, asked)
                return self._paths.answer(request)
            warnings = call.warnings
            if self._configurations[0] or self._configurations[1]:
                call.webhooks = self._configured
            response = self._dispatch(call)
        except ApiError as error:
            response = refusal_response(error, warnings)
        except RecursionError:
            response = refusal_response(BadRequest(DEPTH_EXCEEDED), warnings)
        self.background.run()
        return response

    def watch(
        self, request: Request, user: UserInfo = ADMIN, reviews: ReviewLog | None = None
    ) -> Stream:
        """Open a watch; a refusal is a stream with another status than 200.

        Raises:
            ReviewsNeeded: webhooks have to be called first; *reviews* takes what they say.
        """
        self._backend.begun = reviews
        try:
            user = effective_user(request, user, self._authorizer)
            self.background.expire()
            call = self._understand(request, user)
            if call is not None and call.subresource == "log" and call.verb == "get":
                return self._dispatch.logs.stream(call)
            if call is None or call.verb != "watch":
                return RefusedStream(self._handle(request, user))
            return WatchStream(self._backend, call, self._webhooks)
        except ApiError as error:
            return RefusedStream(refusal_response(error))

    def transport(
        self, user: str = ADMIN.name, groups: Iterable[str] = (MASTERS, AUTHENTICATED)
    ) -> Transport:
        """Return a transport that carries requests here as a user."""
        return MemoryTransport(self, UserInfo(user, tuple(groups)))

    def serve(self, port: int = 0) -> AbstractAsyncContextManager[Endpoint]:
        """Serve over TLS on 127.0.0.1 while the context is open.

        Users show a bearer token or a client certificate. Without either they are
        system:anonymous, who may do what roles allow; without *rbac* they are refused.
        """
        front = TlsListener(
            self, self._tokens, self._backend.clock, anonymous=self._authorizer.enabled
        )
        self.background.publish(front.authority)
        return front.serve(port)

    @property
    def logs(self) -> Logs:
        """What containers have written; whatever runs the pods is its source."""
        return self._dispatch.logs

    def token(self, user: UserInfo) -> str:
        """Return a bearer token with which `serve` lets a user in."""
        return self._tokens.issue(user)

    def objects(self) -> Iterator[JsonObject]:
        """Yield every stored object as it is now; not to be changed."""
        for collection in self._backend.storage.collections():
            for record in collection.records():
                yield record.obj

    def held(self, resource: Resource, chosen: Selection) -> list[JsonObject]:
        """Return what a list would show, not to be changed; `NotFound` if it is not served."""
        kind = self._backend.registry.find(resource.group, resource.version, resource.plural)
        if kind is None:
            raise KindNotServed
        wanted = selection(kind, chosen.namespace, chosen.labels, chosen.fields)
        records = self._backend.registry.collection(kind).records(wanted.prefix)
        return [view(record, kind) for record in records if wanted.matches(record)]

    def stored(self, resource: Resource, key: Key) -> JsonObject | None:
        """Return one object that `held` would show, not to be changed; None if there is none."""
        kind = self._backend.registry.find(resource.group, resource.version, resource.plural)
        record = self._backend.find(kind, key.namespace, key.name) if kind else None
        return view(record, kind) if record is not None and kind is not None else None

    def define(self, definitions: Sequence[JsonObject], manager: str) -> bool:
        """Store CustomResourceDefinitions as if *manager* had applied them to a new server.

        What another server made of them is not worked out again. Returns False, and does
        nothing, where there are others in their groups, whose names they would have to spare.
        """
        groups = {definition["spec"]["group"] for definition in definitions}
        existing = self._backend.storage.collection(*DEFINITIONS).records()
        if any(record.obj["spec"]["group"] in groups for record in existing):
            return False
        repeat(self._backend, _defined(orjson.dumps(definitions), manager))
        return True

    def restore(self, objects: Iterable[JsonObject], revision: int = 0) -> None:
        """Store objects as another server had them, uids included; what it began with gives way.

        Numbers of writes go on after *revision*. Objects of kinds that are not served are dropped.
        """
        storage = self._backend.storage
        storage.revision = max(storage.revision, revision)
        ordered = sorted(objects, key=lambda obj: obj["kind"] != CustomResourceDefinition.kind)
        definitions = True
        for obj in ordered:
            if definitions and obj["kind"] != CustomResourceDefinition.kind:
                self.background.run()  # serve the kinds that are defined
                definitions, self.background.paused = False, True  # owners may come later
            self._restore(obj)
        self.background.paused = False
        self.background.run()

    def _restore(self, obj: JsonObject) -> None:
        registry, metadata = self._backend.registry, obj["metadata"]
        group, _, version = obj["apiVersion"].rpartition("/")
        wanted = (group, version, obj["kind"])
        for kind in registry:
            resource = kind.resource
            if (resource.group, resource.version, resource.kind) == wanted:
                key = storage_key(metadata.get("namespace", ""), metadata["name"])
                self._backend.storage.put(registry.collection(kind), key, kind, obj)
                return

    def on_change(self, listener: Callable[[JsonObject | None, JsonObject | None], None]) -> None:
        """Call a listener with each object before and after every write; not to be changed.

        None stands for "not there". This sees what no watch may: whatever was there between
        two looks.
        """

        def tell(change: StoredChange) -> None:
            gone = change.type is ChangeType.DELETED
            before = change.previous.obj if change.previous is not None else None
            listener(before, None if gone else change.record.obj)

        self._backend.storage.on_change(tell)

    def trim_history(self) -> None:
        """Forget all history: watches and pages that need it get 410 Gone."""
        self._backend.storage.trim_history()

    @property
    def resource_version(self) -> str:
        """The number of the latest write."""
        return str(self._backend.storage.revision)

    def _understand(self, request: Request, user: UserInfo) -> Call | None:
        """Parse and authorize a request to a resource; None for other paths."""
        address = parse_path(request.path)
        if address is None:
            return None
        if not self._authorizer.trusts(user):
            self._authorizer.check(user, attributes_of(request, address))
        return parse_call(request, user, self._backend.registry, address, self._backend.clock)


class _Instant:
    """A clock that stands still."""

    def now(self) -> datetime:
        """Return the one instant."""
        return datetime(2000, 1, 1, tzinfo=UTC)

    def monotonic(self) -> float:
        """Return no time at all."""
        return 0.0


class _First(ApiServer):
    """A server that notes how it began, and what was written since."""

    def __init__(self) -> None:
        self.written: list[RecordedWrite] = []
        super().__init__(clock=_Instant(), rng=Random(0))

    def _begin(self, writes: ObjectWriter) -> None:
        storage = self._backend.storage
        storage.on_change(self.background.observe)
        storage.on_change(lambda change: self.written.append(RecordedWrite.of(change)))
        self._begin_anew(writes)


@cache
def _beginning() -> tuple[RecordedWrite, ...]:
    """Return the writes that make a new cluster."""
    return tuple(_First().written)


@lru_cache(maxsize=128)
def _defined(definitions: bytes, manager: str) -> tuple[RecordedWrite, ...]:
    """Return the writes that follow when a new server gets definitions; `ApiError` if refused."""
    server = _First()
    server.written.clear()
    options = WriteOptions(field_manager=manager)
    for definition in orjson.loads(definitions):
        response = server.handle(apply(CustomResourceDefinition, definition, options))
        if response.status >= 300:
            raise ApiError.from_status(response.status, orjson.loads(response.body))
    return tuple(server.written)
