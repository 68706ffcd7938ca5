"""From a configuration to controllers: what `ManagedResource` needs in one process.

::

    operator = resource_operator(configuration)
    await Manager(client, [operator]).run()

The source cluster is that of the manager. The target is the same one, unless another client is
given. All state is made anew for each process that runs the operator.

Everything is driven by events. Besides, everything is looked at now and then, cheaply: what has
not changed since all was well is left. That is for what no event tells, and it also opens the
watches a process will need before it has to work, so that a standby takes over without a list.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final

from certwright.api import resourcekeys as keys
from certwright.api.managedresources import ManagedResource
from certwright.client import Client, TransportError
from certwright.keep import KeptSets, SetStates, TargetStores
from certwright.keep.drift import Drift
from certwright.kube import ApiError, Key, NotFound
from certwright.kube.kinds import ConfigMap, Secret, ServiceAccount
from certwright.operators.managedresource.configuration import Configuration, Controllers
from certwright.operators.managedresource.controller import ResourceController
from certwright.operators.managedresource.decision import (
    DEPENDENCIES,
    ResourceClass,
    dependencies_of,
    predicate,
    wake_dependants,
    worth_a_look,
    worth_a_pass,
)
from certwright.operators.managedresource.health import HealthController, ResourceMetrics
from certwright.operators.managedresource.input import SECRETS, Secrets, referenced_secrets
from certwright.operators.managedresource.inventory import recorded, ref_of
from certwright.operators.managedresource.ownership import (
    IDENTITY,
    Owners,
    field_manager,
    needs_identity,
    owner_of,
    resolve_cluster_id,
)
from certwright.operators.managedresource.shards import ShardStore
from certwright.operators.managedresource.state import Actors, Channels, ResourceState
from certwright.operators.managedresource.status import EXPECTED
from certwright.runtime import (
    Backoff,
    BadObject,
    Cache,
    Context,
    Controller,
    Operator,
    OperatorHost,
    Part,
    PolicyRule,
    Store,
    Watched,
    allow,
    select,
)

SOURCE_RULES: Final = (
    allow(Secret, "get", "list", "watch"),
    allow(ConfigMap, "get", "list", "watch", "create", "patch", "delete"),
)
"""What is needed in the source cluster besides ManagedResources themselves."""
TARGET_RULES: Final = (PolicyRule("*", "*", ("*",)),)
"""What is needed in the target cluster: manifests may hold anything."""
ACTING_RULES: Final = (
    PolicyRule("*", "*", ("get", "list", "watch")),
    allow(ServiceAccount, "impersonate"),
)
"""What is needed there if ManagedResources act as ServiceAccounts: the writes are theirs."""
SHORTEST_DEADLINE: Final = timedelta(minutes=1)
"""A pass may take one period, and no less than this."""
STEPS: Final = 5
"""In how many parts this is divided: one for reading, and one and a half each for applying and
deleting."""
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

    def build(host: OperatorHost) -> Iterator[Part]:
        return _Assembly(configuration, host, target or host.client, identity).parts()

    return Operator("resources", build, kinds=[ManagedResource])


class _Assembly:
    """Puts together what one process needs."""

    def __init__(
        self, configuration: Configuration, host: OperatorHost, target: Client, identity: str
    ) -> None:
        self._settings = settings = configuration.controllers
        source = configuration.source_client_connection.namespaces
        self._namespaces = source or ("",)
        self._shared = target is host.client
        self._class = ResourceClass(settings.resource_class)
        self._apply = Channels(self._namespaces)
        self._judge = Channels(self._namespaces)
        self._owners = Owners(identity, self._apply.wake)
        label = settings.managed_resource.managed_by_label_value
        manager = field_manager(label)
        self._target_cache = Cache(
            target,
            cluster="" if self._shared else "target",
            field_managers=(manager,),
            rng=host.rng,
        )
        self._source_cache = (
            self._target_cache if self._shared else Cache(host.client, rng=host.rng)
        )
        states = SetStates(ResourceState)
        stores = TargetStores(
            target,
            self._target_cache,
            label=f"{keys.MANAGED_BY}={label}",
            namespaces=configuration.target_client_connection.namespaces,
        )
        stores.watcher = Drift(
            stores,
            states,
            partial(owner_of, cluster_id=identity),
            repair=self._apply.wake if settings.managed_resource.enabled else self._judge.wake,
            judge=self._judge.wake,
        )
        self._kept = KeptSets(
            stores,
            states,
            field_manager=manager,
            clock=host.clock,
            health_seconds=settings.health.sync_period.total_seconds(),
            step_seconds=_deadline(settings.managed_resource.sync_period).total_seconds() / STEPS,
        )
        self._secrets = Secrets(
            host.client, self._source_cache, namespaces=source, wake=self._apply.wake
        )
        shards = ShardStore(
            host.client,
            self._source_cache,
            label=f"{keys.INVENTORY}={label}",
            namespaces=source,
            touched=self._shard_touched,
        )
        self._metrics = metrics = ResourceMetrics(host.metrics)
        actors = Actors(settings.managed_resource, self._kept)
        self._health = HealthController(
            settings,
            self._kept,
            shards,
            metrics,
            actors,
            Backoff(*RETRY_SECONDS, rng=host.rng),
            wake=self._judge.wake,
            wake_apply=self._apply.wake,
        )
        self._resources = ResourceController(
            settings,
            self._kept,
            self._secrets,
            shards,
            self._owners,
            self._health,
            metrics,
            Backoff(*RETRY_SECONDS, rng=host.rng),
        )

    def _shard_touched(self, key: Key, shard: str) -> None:
        """Have a part of an inventory restored that others deleted or changed."""
        self._kept.states.unsettle(key)
        self._kept.states.of(key).touched.add(shard)
        self._apply.wake(key)

    def parts(self) -> Iterator[Part]:
        """Yield the caches and controllers."""
        yield self._target_cache
        if self._source_cache is not self._target_cache:
            yield self._source_cache
        for namespace in self._namespaces:
            if self._settings.managed_resource.enabled:
                yield self._apply_controller(namespace)
            if self._settings.health.enabled:
                yield self._health_controller(namespace)

    def _apply_controller(self, namespace: str) -> Controller:
        settings = self._settings.managed_resource
        sweep = Sweep(
            namespace, self._settings, self._kept, self._secrets, self._owners, self._apply.wake
        )
        return Controller(
            _resources(namespace),
            self._resources.reconcile,
            name=self._named("managedresource", namespace),
            channels=[self._apply.of(namespace)],
            sources=[sweep.run],
            predicate=predicate(worth_a_pass, self._class),
            workers=settings.concurrent_syncs,
            deadline=_deadline(settings.sync_period),
            rbac=[*SOURCE_RULES, *(self._target_rules() if self._shared else ())],
            conditions=EXPECTED,
            condition_events=True,
        )

    def _target_rules(self) -> Sequence[PolicyRule]:
        acting = self._settings.managed_resource.service_account_name
        return ACTING_RULES if acting else TARGET_RULES

    def _health_controller(self, namespace: str) -> Controller:
        settings = self._settings.health
        return Controller(
            _resources(namespace),
            self._health.reconcile,
            name=self._named("health", namespace),
            channels=[self._judge.of(namespace)],
            # What another process applies is judged whenever it reports something else.
            predicate=predicate(
                worth_a_look, self._class, inventory=not self._settings.managed_resource.enabled
            ),
            workers=settings.concurrent_syncs,
            deadline=_deadline(settings.sync_period),
            conditions=EXPECTED,
            condition_events=True,
        )

    def _named(self, name: str, namespace: str) -> str:
        return name if len(self._namespaces) == 1 else f"{name}-{namespace}"


def _deadline(period: timedelta) -> timedelta:
    return max(period, SHORTEST_DEADLINE)


def _resources(namespace: str) -> Watched:
    indexes = {SECRETS: referenced_secrets, DEPENDENCIES: dependencies_of}
    return select(ManagedResource, namespace=namespace, indexes=indexes)


PER_TURN: Final = 100
"""How many ManagedResources are looked at before the rest of the event loop has a turn."""


class Sweep:
    """A source of keys for the controller of one namespace, or of all."""

    def __init__(
        self,
        namespace: str,
        settings: Controllers,
        kept: KeptSets[ResourceState],
        secrets: Secrets,
        owners: Owners,
        wake: Callable[[Key], None],
    ) -> None:
        self._namespace = namespace
        self._period = settings.managed_resource.sync_period.total_seconds()
        self._class = ResourceClass(settings.resource_class)
        self._kept = kept
        self._secrets = secrets
        self._owners = owners
        self._wake = wake

    async def run(self, ctx: Context) -> AsyncIterator[Key]:
        """Yield, once per period, what is not known to be well."""
        store = ctx.store(ManagedResource)
        if self._owners.serve(self._namespace, store):
            wake_dependants(store, self._wake)
        with suppress(ApiError, TransportError):
            await self._warm_up(store)
        while self._period:
            await asyncio.sleep(self._period)
            states, now = self._kept.states, ctx.clock.monotonic()
            self._kept.fights.forget_quiet(now)
            for number, key in enumerate(store.keys(), start=1):
                if (state := states.known(key)) is not None and 0 < state.recheck_at <= now:
                    state.recheck_at = 0.0
                    states.unsettle(key)
                if not states.is_settled(key) and not _is_put_off(state, now):
                    yield key
                if not number % PER_TURN:
                    await asyncio.sleep(0)

    async def _warm_up(self, store: Store) -> None:
        """Open the watches of Secrets and of every kind that an inventory names."""
        self._secrets.serve(store)
        await self._secrets.ready()
        opened: set[tuple[str, str, str]] = set()
        for number, entry in enumerate(store.items(), start=1):
            if not number % PER_TURN:
                await asyncio.sleep(0)
            with suppress(BadObject, ValueError):
                resource = entry.as_(ManagedResource)
                if not self._class.held(resource):
                    continue
                for ref in map(ref_of, recorded(resource)):
                    place = (ref.api_version, ref.kind, ref.namespace)
                    if place not in opened:
                        opened.add(place)
                        with suppress(ApiError):
                            kind = await self._kept.stores.resource(ref.gvk)
                            await self._kept.stores.open(kind, ref.namespace)


def _is_put_off(state: ResourceState | None, now: float) -> bool:
    """Return whether a failed pass will be repeated later, so that no reminder is needed."""
    return state is not None and state.retry_at > now
