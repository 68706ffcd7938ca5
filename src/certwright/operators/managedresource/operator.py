"""Looking at everything now and then, cheaply: what has not changed since all was well is left.

Everything is driven by events; this is for what no event tells, and it also opens the watches a
process will need before it has to work, so that a standby takes over without a list.

From a configuration to controllers: what `ManagedResource` needs in one process.

::

    operator = resource_operator(configuration)
    await Manager(client, [operator]).run()

The source cluster is that of the manager. The target is the same one, unless another client is
given. All state is made anew for each process that runs the operator.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import lru_cache, partial
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct, ValidationError, field

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import (
    ManagedResource,
    ManagedResourceCondition,
    ManagedResourceSpec,
    ManagedResourceStatus,
)
from certwright.apply import Engine, Memory
from certwright.client import Client, TransportError
from certwright.keep.cluster import TargetCluster
from certwright.keep.drift import Wakeups
from certwright.keep.health import HealthChecks
from certwright.keep.stores import Targets
from certwright.kube import ApiError, Key, NotFound, ObjectMeta
from certwright.kube.kinds import ConfigMap, Secret
from certwright.operators.managedresource.configuration import Configuration
from certwright.operators.managedresource.decision import (
    DEPENDENCIES,
    ResourceClass,
    dependencies_of,
    wake_dependants,
    worth_a_look,
    worth_a_pass,
)
from certwright.operators.managedresource.inventory import recorded, ref_of
from certwright.operators.managedresource.judging import Judge
from certwright.operators.managedresource.keeper import Keeper
from certwright.operators.managedresource.metrics import ResourceMetrics
from certwright.operators.managedresource.ownership import (
    IDENTITY,
    needs_identity,
    owner_of,
    resolve_cluster_id,
)
from certwright.operators.managedresource.policy import PREDECESSOR, field_manager
from certwright.operators.managedresource.reconcile import Reconciler
from certwright.operators.managedresource.secrets import SECRETS, Secrets, referenced_secrets
from certwright.operators.managedresource.shards import WatchedCompanions
from certwright.operators.managedresource.state import Memories
from certwright.runtime import (
    Backoff,
    BadObject,
    Cache,
    Channel,
    Context,
    Controller,
    Entry,
    Operator,
    OperatorHost,
    Part,
    PolicyRule,
    Predicate,
    Store,
    Watched,
    allow,
    select,
)

PER_TURN: Final = 100
"""How many ManagedResources are looked at before the rest of the event loop has a turn."""


class Sweep:
    """A source of keys for the controller of one namespace, or of all."""

    def __init__(
        self, keeper: Keeper, namespace: str, period: timedelta, wake: Callable[[Key], None]
    ) -> None:
        self._keeper = keeper
        self._namespace = namespace
        self._period = period.total_seconds()
        self._wake = wake

    async def run(self, ctx: Context) -> AsyncIterator[Key]:
        """Yield, once per period, what is not known to be well."""
        store = ctx.store(ManagedResource)
        if self._namespace not in self._keeper.stores:
            self._keeper.stores[self._namespace] = store
            wake_dependants(store, self._wake)
        with suppress(ApiError, TransportError):
            await self._warm_up(store)
        while self._period:
            await asyncio.sleep(self._period)
            memories, now = self._keeper.memories, ctx.clock.monotonic()
            self._keeper.fights.forget_quiet(now)
            for number, key in enumerate(store.keys(), start=1):
                if not memories.is_settled(key) and not memories.is_put_off(key, now):
                    yield key
                if not number % PER_TURN:
                    await asyncio.sleep(0)

    async def _warm_up(self, store: Store) -> None:
        """Open the watches of Secrets and of every kind that an inventory names."""
        keeper = self._keeper
        keeper.secrets.serve(store)
        await keeper.secrets.ready()
        opened: set[tuple[str, str, str]] = set()
        for number, entry in enumerate(store.items(), start=1):
            if not number % PER_TURN:
                await asyncio.sleep(0)
            with suppress(BadObject, ValueError):
                resource = entry.as_(ManagedResource)
                if not keeper.our_class.held(resource):
                    continue
                for ref in map(ref_of, recorded(resource)):
                    place = (ref.api_version, ref.kind, ref.namespace)
                    if place not in opened:
                        opened.add(place)
                        with suppress(ApiError):
                            kind = await keeper.targets.resource(ref.gvk)
                            await keeper.targets.open(kind, ref.namespace)


Wake: TypeAlias = Callable[[Key], None]
Matters: TypeAlias = Callable[[ManagedResource | None, ManagedResource, ResourceClass], bool]

SOURCE_RULES: Final = (
    allow(Secret, "get", "list", "watch"),
    allow(ConfigMap, "get", "list", "watch", "create", "patch", "delete"),
)
"""What is needed in the source cluster besides ManagedResources themselves."""
TARGET_RULES: Final = (PolicyRule("*", "*", ("*",)),)
"""What is needed in the target cluster: manifests may hold anything."""
SHORTEST_DEADLINE: Final = timedelta(minutes=1)
"""A pass may take one period, and no less than this."""
RETRY_SECONDS: Final = (0.1, 300.0)
"""How long to wait before a failed pass is repeated: at first, and at most."""


async def cluster_id(configuration: Configuration, source: Client) -> str:
    """Return the id of the source cluster, as configured or as its ConfigMap says.

    Raises:
        ValueError: it is to come from the ConfigMap, which does not have it.
        ApiError, TransportError: the ConfigMap cannot be read.
    """
    configured = configuration.controllers.cluster_id
    identity = None
    if needs_identity(configured):
        try:
            identity = await source.get(ConfigMap, IDENTITY)
        except NotFound:
            identity = None
    return resolve_cluster_id(configured, identity)


def resource_operator(
    configuration: Configuration, *, target: Client | None = None, identity: str = ""
) -> Operator:
    """Return what keeps ManagedResources; *identity* is the resolved `cluster_id`."""

    def build(site: OperatorHost) -> Iterator[Part]:
        return _Assembly(configuration, site, target or site.client, identity).parts()

    return Operator("resources", build, kinds=[ManagedResource])


class _Assembly:
    """Puts together what one process needs."""

    def __init__(
        self, configuration: Configuration, site: OperatorHost, target: Client, identity: str
    ) -> None:
        self._settings = configuration.controllers
        self._namespaces = configuration.source_client_connection.namespaces or ("",)
        self._shared = target is site.client
        self._our_class = ResourceClass(self._settings.resource_class)
        self._channels = {
            name: {namespace: Channel() for namespace in self._namespaces}
            for name in ("apply", "judge")
        }
        self._managed_by = self._settings.managed_resource.managed_by_label_value
        managers = (field_manager(self._managed_by), PREDECESSOR)
        self._target_cache = Cache(
            target,
            cluster="" if self._shared else "target",
            field_managers=managers,
            rng=site.rng,
        )
        self._secret_cache = (
            self._target_cache if self._shared else Cache(site.client, rng=site.rng)
        )
        self._keeper = self._make_keeper(configuration, site, target, identity)

    def _make_keeper(
        self, configuration: Configuration, site: OperatorHost, target: Client, identity: str
    ) -> Keeper:
        targets = Targets(
            target,
            self._target_cache,
            label=f"{keys.MANAGED_BY}={self._managed_by}",
            namespaces=configuration.target_client_connection.namespaces,
        )
        cluster = TargetCluster(targets, field_manager(self._managed_by))
        memory, memories = Memory(), Memories()
        wake_judge = self._wake("judge")

        def judge(key: Key) -> None:
            memories.changed.add(key)
            wake_judge(key)

        targets.watcher = Wakeups(
            targets,
            partial(owner_of, cluster_id=identity),
            apply=self._wake("apply"),
            judge=judge,
            unsettle=memories.unsettle,
            follow=memories.follow,
            waiting=memories.awaiting_kinds,
        )
        secrets = Secrets(
            site.client,
            self._secret_cache,
            namespaces=configuration.source_client_connection.namespaces,
            wake=self._wake("apply"),
        )
        health_period = self._settings.health.sync_period.total_seconds()
        return Keeper(
            configuration=configuration,
            cluster_id=identity,
            our_class=self._our_class,
            secrets=secrets,
            companions=self._companions(site, memories),
            targets=targets,
            cluster=cluster,
            engine=Engine(cluster, memory, clock=site.clock),
            memory=memory,
            checks=HealthChecks(targets, site.clock, health_period),
            metrics=ResourceMetrics(site.metrics),
            backoff=Backoff(*RETRY_SECONDS, rng=site.rng),
            memories=memories,
            wake_apply=self._wake("apply"),
            wake_judge=judge,
        )

    def _companions(self, site: OperatorHost, memories: Memories) -> WatchedCompanions:
        wake = self._wake("apply")

        def touched(key: Key, companion: str) -> None:
            memories.touch(key, companion)
            wake(key)

        return WatchedCompanions(
            site.client,
            self._secret_cache,
            label=f"{keys.INVENTORY}={self._managed_by}",
            namespaces=[namespace for namespace in self._namespaces if namespace],
            touched=touched,
        )

    def _wake(self, name: str) -> Wake:
        channels = self._channels[name]

        def wake(key: Key) -> None:
            channel = channels.get("") or channels.get(key.namespace)
            if channel is not None:
                channel.send(key)

        return wake

    def parts(self) -> Iterator[Part]:
        """Yield the caches and controllers."""
        yield self._target_cache
        if self._secret_cache is not self._target_cache:
            yield self._secret_cache
        for namespace in self._namespaces:
            if self._settings.managed_resource.enabled:
                yield self._applying(namespace)
            if self._settings.health.enabled:
                yield self._judging(namespace)

    def _applying(self, namespace: str) -> Controller:
        settings = self._settings.managed_resource
        sweep = Sweep(self._keeper, namespace, settings.sync_period, self._wake("apply"))
        return Controller(
            _resources(namespace),
            Reconciler(self._keeper).reconcile,
            name=self._named("managedresource", namespace),
            channels=[self._channels["apply"][namespace]],
            sources=[sweep.run],
            predicate=self._predicate(worth_a_pass),
            workers=settings.concurrent_syncs,
            deadline=max(settings.sync_period, SHORTEST_DEADLINE),
            rbac=[*SOURCE_RULES, *(TARGET_RULES if self._shared else ())],
        )

    def _judging(self, namespace: str) -> Controller:
        settings = self._settings.health
        return Controller(
            _resources(namespace),
            Judge(self._keeper).reconcile,
            name=self._named("health", namespace),
            channels=[self._channels["judge"][namespace]],
            predicate=self._predicate(worth_a_look),
            workers=settings.concurrent_syncs,
            deadline=max(settings.sync_period, SHORTEST_DEADLINE),
        )

    def _named(self, name: str, namespace: str) -> str:
        return name if len(self._namespaces) == 1 else f"{name}-{namespace}"

    def _predicate(self, matters: Matters) -> Predicate:
        def is_worth_it(old: Entry | None, new: Entry | None) -> bool:
            if new is None:
                return True
            try:
                return matters(_read(old) if old is not None else None, _read(new), self._our_class)
            except ValidationError:
                return True  # the reconcile says what is wrong with it

        return is_worth_it


def _resources(namespace: str) -> Watched:
    indexes = {SECRETS: referenced_secrets, DEPENDENCIES: dependencies_of}
    return select(ManagedResource, namespace=namespace, indexes=indexes)


class _Said(Struct):
    conditions: list[ManagedResourceCondition] = []


class _Seen(Struct):
    """A ManagedResource without its inventory, which may be long and does not matter here."""

    metadata: ObjectMeta
    spec: ManagedResourceSpec
    status: _Said = field(default_factory=_Said)


_SEEN: Final = msgspec.json.Decoder(_Seen)


@lru_cache(maxsize=64)
def _read(entry: Entry) -> ManagedResource:
    """Return a ManagedResource; each change is looked at by several predicates."""
    seen = _SEEN.decode(entry.raw)
    status = ManagedResourceStatus(conditions=seen.status.conditions)
    return ManagedResource(metadata=seen.metadata, spec=seen.spec, status=status)
