"""Serves what is published. Runs in every replica; writes nothing.

A revision is served because its status says that it is published, which the leading replica wrote.
So all replicas serve the same, and one that has just started needs nothing but its watches. What
cannot be served leaves what was served before in place: Envoys keep what they have.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

import structlog

from certwright.api.envoyconfigs import EnvoyConfigRevision
from certwright.client import TransportError
from certwright.clock import Clock
from certwright.kube import ApiError, JsonObject, Key, LabelSelector, Resource
from certwright.kube.kinds import EndpointSlice, Secret
from certwright.operators.discoveryservice.config.assembly import (
    PREFIX,
    AssembledConfig,
    CheckedConfig,
    assemble,
    check,
)
from certwright.operators.discoveryservice.config.content import (
    ConfigContent,
    EndpointSource,
    read_content,
)
from certwright.operators.discoveryservice.config.secrets import SecretUnusable
from certwright.operators.discoveryservice.config.served import ServedConfig, ServedHistory
from certwright.operators.discoveryservice.config.versions import same_content
from certwright.runtime import BadObject, Cache, Entry, StoreHandle
from certwright.runtime.serve.health import Check
from certwright.xds.schema.errors import FieldProblem, ResourceRefused
from certwright.xds.schema.references import ENDPOINTS, SECRET
from certwright.xds.schema.schema import MessageSchema
from certwright.xds.snapshot import NodeKey, NodeSnapshot, XdsResource
from certwright.xds.store import SnapshotStore

_log = structlog.get_logger()
_BY_NODE: Final = "node"
_NEVER: Final = datetime.min.replace(tzinfo=UTC)


@dataclass(slots=True)
class _Node:
    """What is known of one node."""

    uid: str = ""
    generation: int = 0
    """Of the revision that was checked last."""
    checked: CheckedConfig | None = None
    problems: tuple[FieldProblem, ...] = ()
    served: ServedConfig | None = None
    history: ServedHistory = field(default_factory=ServedHistory)


class Publisher:
    """Keeps snapshots as the published revisions and the objects that they name say.

    *changed* is called with a node when what is served for it is another, *looked* whenever its
    revisions or their statuses changed.
    """

    def __init__(
        self,
        schema: MessageSchema,
        snapshots: SnapshotStore,
        cache: Cache,
        clock: Clock,
        changed: Callable[[NodeKey], None] = lambda _: None,
        looked: Callable[[NodeKey], None] = lambda _: None,
    ) -> None:
        self._schema = schema
        self._snapshots = snapshots
        self._cache = cache
        self._clock = clock
        self._changed = changed
        self._looked = looked
        self._nodes: dict[NodeKey, _Node] = {}
        self._sources: dict[tuple[Resource, str], StoreHandle] = {}
        self._dirty: dict[NodeKey, None] = {}
        self._wake = asyncio.Event()
        self._caught_up = False
        self._revisions = cache.store(EnvoyConfigRevision, indexes={_BY_NODE: _node_of_entry})
        self._revisions.listen(self._revision_changed)

    def served(self, node: NodeKey) -> ServedConfig | None:
        """Return what is served for a node; None if nothing is, or nothing is decided yet."""
        known = self._nodes.get(node)
        return known.served if known else None

    def published(self, node: NodeKey) -> EnvoyConfigRevision | None:
        """Return the revision of a node that is published; None if none is."""
        return newest_published(self._revisions_of(node))

    def history(self, node: NodeKey) -> ServedHistory:
        """Return what was served for a node since this process started."""
        known = self._nodes.get(node)
        return known.history if known else ServedHistory()

    def readiness(self) -> Iterator[Check]:
        """Yield whether all that is published is served: Envoys are not to find less before."""
        problem = "" if self._caught_up else "not all published revisions are served yet"
        yield Check("published configurations", problem, f"{len(self._nodes)} nodes")

    async def run(self) -> None:
        """Publish what changes until cancelled."""
        await self._revisions.synced()
        while True:
            while self._dirty:
                node = next(iter(self._dirty))
                del self._dirty[node]
                await self.publish(node)
                self._looked(node)
            self._caught_up = True
            self._wake.clear()
            await self._wake.wait()

    async def publish(self, node: NodeKey) -> None:
        """Serve for a node what its revisions say."""
        revisions = list(self._revisions_of(node))
        if not revisions:
            self._snapshots.remove(node)
            if self._nodes.pop(node, None) is not None:
                self._changed(node)
            return
        revision = newest_published(revisions)
        if revision is None:
            return  # what was served stays
        known = self._nodes.setdefault(node, _Node())
        await self._check(known, revision, node.namespace)
        before = known.served
        if known.checked is None:
            known.served = replace(
                before or ServedConfig("", {}),
                refused_version=revision.spec.version,
                refused=known.problems,
            )
        else:
            known.served, snapshot = await self._made(node, revision, known.checked)
            if self._snapshots.put(node, snapshot):
                _log.info("serving", node=str(node), version=revision.spec.version)
            known.history.note(known.served)
        if known.served != before:
            self._changed(node)

    async def preview(self, node: NodeKey, revision: EnvoyConfigRevision) -> ServedConfig | None:
        """Return what would be served for a node of a revision; None if it cannot be."""
        try:
            checked = await asyncio.to_thread(
                checked_revision, self._schema, revision, node.namespace
            )
        except ResourceRefused:
            return None
        return (await self._made(node, revision, checked))[0]

    async def _made(
        self, node: NodeKey, revision: EnvoyConfigRevision, checked: CheckedConfig
    ) -> tuple[ServedConfig, NodeSnapshot]:
        """Return what a revision and the objects that it names make of a node."""
        made = await self._assemble(checked, node.namespace)
        snapshot = NodeSnapshot.of(_with_kept(made, self._snapshots.get(node)))
        types = {url: one.version for url, one in snapshot.types.items()}
        generated = generated_types(checked.content)
        return ServedConfig(revision.spec.version, types, generated, made.missing), snapshot

    def _revisions_of(self, node: NodeKey) -> Iterator[EnvoyConfigRevision]:
        for entry in self._revisions.store.by_index(_BY_NODE, node):
            if not entry.meta.deleting:
                yield entry.as_(EnvoyConfigRevision)

    async def _check(self, known: _Node, revision: EnvoyConfigRevision, namespace: str) -> None:
        identity = (revision.metadata.uid, revision.metadata.generation)
        if identity == (known.uid, known.generation):
            return
        try:
            checked = await asyncio.to_thread(checked_revision, self._schema, revision, namespace)
        except ResourceRefused as refused:
            known.checked, known.problems = None, refused.problems
        else:
            known.checked, known.problems = checked, ()
        known.uid, known.generation = identity

    async def _assemble(self, checked: CheckedConfig, namespace: str) -> AssembledConfig:
        secrets = slices = None
        if checked.content.secrets:
            secrets = await self._source(Secret, namespace)
        if checked.content.endpoints:
            slices = await self._source(EndpointSlice, namespace)

        def secret(name: str) -> JsonObject | None:
            if secrets is None:
                raise SecretUnusable("cannot be read; the discovery service needs a Role for it")
            entry = secrets.store.get(Key(namespace, name))
            return entry.obj() if entry else None

        def selected(source: EndpointSource) -> Iterable[JsonObject]:
            selector = LabelSelector.from_spec(source.selector)
            entries = slices.store.items() if slices else ()
            return [one.obj() for one in entries if selector.matches(one.meta.labels)]

        now = self._clock.now()
        return await asyncio.to_thread(assemble, self._schema, checked, secret, selected, now)

    async def _source(self, kind: Resource, namespace: str) -> StoreHandle | None:
        """Return the objects of a kind in one namespace; None while they cannot be read."""
        handle = self._sources.get((kind, namespace))
        if handle is None:
            handle = self._cache.store(kind, namespace=namespace, required=False)
            self._sources[kind, namespace] = handle
            handle.listen(lambda old, new: self._source_changed(namespace, kind, new or old))
        try:
            await handle.ready()
        except (ApiError, TransportError) as error:
            _log.warning(
                "objects cannot be read", kind=kind.kind, namespace=namespace, error=str(error)
            )
            return None
        return handle

    def _revision_changed(self, old: Entry | None, new: Entry | None) -> None:
        for entry in (old, new):
            for node in _node_of_entry(entry) if entry else ():
                self._mark(node)

    def _source_changed(self, namespace: str, kind: Resource, entry: Entry | None) -> None:
        for node, known in self._nodes.items():
            if entry is None or node.namespace != namespace or known.checked is None:
                continue
            content = known.checked.content
            names = {one.secret for one in content.secrets}
            if content.endpoints if kind is EndpointSlice else entry.key.name in names:
                self._mark(node)

    def _mark(self, node: NodeKey) -> None:
        self._dirty[node] = None
        self._wake.set()


def newest_published(revisions: Iterable[EnvoyConfigRevision]) -> EnvoyConfigRevision | None:
    """Return the revision that was published last, of those that are; None if none is."""
    published = [one for one in revisions if one.status.published is True]
    return max(published, key=lambda one: one.status.last_published_at or _NEVER, default=None)


def checked_revision(
    schema: MessageSchema, revision: EnvoyConfigRevision, namespace: str
) -> CheckedConfig:
    """Return what a revision declares; `ResourceRefused` if it cannot be served."""
    if not same_content(revision.spec):
        problem = "the content is not that of the version; revisions are not to be edited"
        raise ResourceRefused([FieldProblem("spec", problem)])
    return check(schema, read_content(revision.spec, namespace))


def generated_types(content: ConfigContent) -> frozenset[str]:
    """Return the types of which some resources are made of other objects."""
    sources = ((SECRET, content.secrets), (ENDPOINTS, content.endpoints))
    return frozenset(PREFIX + kind for kind, found in sources if found)


def _with_kept(made: AssembledConfig, before: NodeSnapshot | None) -> list[XdsResource]:
    """Return what is served: for Secrets that cannot be used, what was served of them before."""
    url = PREFIX + SECRET
    earlier = before.types[url].resources if before and url in before.types else {}
    kept = [earlier[one.resource] for one in made.missing if one.resource in earlier]
    return [*made.resources, *kept]


def _node_of_entry(entry: Entry) -> Iterable[NodeKey]:
    try:
        spec = entry.as_(EnvoyConfigRevision).spec
    except BadObject:
        return ()
    return (NodeKey(entry.key.namespace, spec.node_id),)
