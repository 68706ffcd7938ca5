"""From settings to controllers: what restarts need in one process.

::

    operator = rollout_operator(RolloutSettings(dialects=dialects_of(DEFAULT)))
    await Manager(client, [operator]).run()
"""

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

from certwright.client import Client
from certwright.kube import Key, NotFound
from certwright.kube.kinds import Job, Namespace, PodDisruptionBudget, Secret
from certwright.operators.rollout.decision.compare import SourceChange, SourceContents
from certwright.operators.rollout.engine.consumers import CONSUMED, Consumers
from certwright.operators.rollout.engine.controller import RolloutController
from certwright.operators.rollout.engine.keysecret import KeySecret
from certwright.operators.rollout.engine.metrics import RolloutMetrics
from certwright.operators.rollout.engine.providerclasses import POD_STATUS
from certwright.operators.rollout.engine.registry import RestartRegistry
from certwright.operators.rollout.engine.settings import BUILT_IN, RolloutSettings
from certwright.operators.rollout.engine.sources import SOURCE_RESOURCES, SourceStores
from certwright.operators.rollout.engine.surroundings import RolloutSurroundings
from certwright.operators.rollout.engine.views import (
    ARGO_ROLLOUT,
    COMPRESSION,
    RESOURCES,
    ReducedWorkload,
)
from certwright.operators.rollout.workload import (
    BUILT_IN_SOURCES,
    SourceKind,
    SourceRef,
    WorkloadKind,
    WorkloadRef,
)
from certwright.runtime import (
    Backoff,
    Cache,
    Channel,
    Context,
    Controller,
    Entry,
    Operator,
    OperatorHost,
    Part,
    PolicyRule,
    allow,
    select,
)

FIELD_MANAGER: Final = "certwright-rollout"
_NO_KEYS: Final[tuple[Key, ...]] = ()


def rollout_operator(settings: RolloutSettings) -> Operator:
    """Return what restarts workloads when what their pods consume changes.

    Without a dialect there is nothing to restart, and nothing is watched.
    """

    def build(host: OperatorHost) -> Iterator[Part]:
        if not settings.dialects:
            return
        process = _Process(settings, host)
        yield process.cache
        yield process.sources
        for kind in settings.kinds:
            yield process.controller(kind)

    return Operator("rollout", build)


async def served_kinds(client: Client) -> tuple[WorkloadKind, ...]:
    """Return the kinds of workloads that a cluster has: the built-in ones, and Argo's."""
    try:
        await client.discovery.resource_for(ARGO_ROLLOUT.gvk)
    except NotFound:
        return BUILT_IN
    return (*BUILT_IN, WorkloadKind.ROLLOUT)


async def served_sources(client: Client) -> frozenset[SourceKind]:
    """Return the kinds of sources that a cluster has: the built-in ones, and of the CSI driver."""
    try:
        await client.discovery.resource_for(POD_STATUS.gvk)
    except NotFound:
        return BUILT_IN_SOURCES
    return frozenset(SourceKind)


class _Process:
    """What the controllers of one process share."""

    def __init__(self, settings: RolloutSettings, host: OperatorHost) -> None:
        self._settings = settings
        self.cache = Cache(host.client, field_managers=[FIELD_MANAGER], rng=host.rng)
        self._channels = {kind: Channel() for kind in settings.kinds}
        self._metrics = RolloutMetrics(host.metrics)
        self._consumers = Consumers(settings.dialects)
        self._registry = RestartRegistry(settings.patience, self._wake)
        self._controllers: dict[WorkloadKind, RolloutController] = {}
        self._opened = False
        self.sources = SourceStores(
            host.client,
            self.cache,
            KeySecret(host.client, settings.home, settings.random_bytes),
            Backoff(rng=host.rng),
            namespace=settings.namespace,
            wanted=self._consumers.exist,
            changed=self._source_changed,
        )
        self._surroundings = RolloutSurroundings(
            self.cache, settings.namespace, self._namespace_changed, self._budget_changed
        )
        if settings.budgets:
            self._surroundings.watch_budgets()
        if any(dialect.reads_namespaces for dialect in settings.dialects):
            self._surroundings.watch_namespaces()
        self._clock = host.clock

    def controller(self, kind: WorkloadKind) -> Controller:
        """Return the controller of one kind of workloads."""
        controller = RolloutController(
            kind,
            self._settings,
            self._consumers,
            self.sources,
            self._registry,
            self._surroundings,
            self._metrics,
            self._clock,
        )
        self._controllers[kind] = controller
        return Controller(
            select(
                RESOURCES[kind],
                namespace=self._settings.namespace,
                transform=ReducedWorkload(kind),
                indexes={CONSUMED: self._consumers.index(kind)},
                compression=COMPRESSION,
            ),
            controller.reconcile,
            name=f"rollout-{kind.lower()}",
            field_manager=FIELD_MANAGER,
            channels=[self._channels[kind]],
            predicate=controller.workload_changed,
            sources=[self._attach(kind)],
            workers=self._settings.workers,
            rbac=list(rules(self._settings)),
        )

    def _attach(self, kind: WorkloadKind) -> Callable[[Context], AsyncIterator[Key]]:
        """Return a source that takes note of the store of a kind as soon as it is complete.

        It yields nothing: channels wake workloads.
        """

        async def attach(ctx: Context) -> AsyncIterator[Key]:
            store = ctx.store(RESOURCES[kind])
            self._consumers.stores[kind] = store

            def on_change(old: Entry | None, new: Entry | None) -> None:
                self.sources.forget(self._consumers.released(kind, old, new))

            store.listen(on_change)
            expected = set(self._settings.kinds) - {WorkloadKind.ROLLOUT}
            if expected <= self._consumers.stores.keys() and not self._opened:
                self._opened = True
                wanted = frozenset[SourceKind]().union(
                    *(dialect.sources for dialect in self._settings.dialects)
                )
                served = wanted & self._settings.sources
                await self.sources.open(served, self._consumers.all_consumed())
            for key in _NO_KEYS:
                yield key

        return attach

    def _wake(self, ref: WorkloadRef) -> None:
        self._channels[ref.kind].send(ref.key)

    def _source_changed(
        self, ref: SourceRef, contents: SourceContents | None, change: SourceChange
    ) -> None:
        self._metrics.source(ref, contents)
        if change is SourceChange.NONE or not self.sources.is_ready:
            return
        for workload in self._consumers.of(ref):
            seconds = self._controllers[workload.kind].source_changed(workload, change)
            if seconds is not None:
                self._channels[workload.kind].send(workload.key, after_seconds=seconds)

    def _namespace_changed(self, namespace: str) -> None:
        for kind, store in self._consumers.stores.items():
            for entry in store.by_namespace(namespace):
                self._channels[kind].send(entry.key)

    def _budget_changed(self, namespace: str) -> None:
        for kind, controller in self._controllers.items():
            for key in controller.held_by_budgets(namespace):
                self._channels[kind].send(key)


def rules(settings: RolloutSettings) -> Iterator[PolicyRule]:
    """Yield what the operator may do besides reading and patching workloads."""
    for kind in sorted(SourceKind):
        if any(kind in dialect.sources for dialect in settings.dialects):
            yield allow(SOURCE_RESOURCES.get(kind, POD_STATUS), "get", "list", "watch")
    yield allow(Secret, "get", "list", "watch", "create")
    yield PolicyRule(Secret.group, Secret.plural, ("delete",), (settings.home.name,))
    yield allow(Namespace, "get", "list", "watch")
    yield allow(PodDisruptionBudget, "get", "list", "watch")
    yield allow(Job, "create", *(("delete",) if WorkloadKind.JOB in settings.kinds else ()))
