"""Looking at everything now and then, cheaply: what has not changed since all was well is left.

Everything is driven by events; this is for what no event tells, and it also opens the watches a
process will need before it has to work, so that a standby takes over without a list.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import timedelta
from typing import Final

from certwright.api.managedresources import ManagedResource
from certwright.client import TransportError
from certwright.kube import ApiError, Key
from certwright.operators.managedresource.dependants import wake_dependants
from certwright.operators.managedresource.inventory import recorded, ref_of
from certwright.operators.managedresource.keeper import Keeper
from certwright.runtime import BadObject, Context, Store

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
