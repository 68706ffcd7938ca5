"""An engine on a cluster, its calls counted where they leave it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from certwright.apply import ChangeSet, Direct, Engine, Memory, ObjectRef, Rules, Wanted
from certwright.client import Client
from certwright.kube import JsonObject
from certwright.testkit import Cluster
from certwright.testkit.calls import CallLog, Calls, CountingTransport

MANAGER = "certwright"


class Bench:
    """An engine on a cluster; objects without a namespace go to the test's own."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.log = CallLog([])
        transport = CountingTransport(cluster.client.transport, self.log)
        self.client = Client(transport, clock=cluster.clock, field_manager=MANAGER)
        self.direct = Direct(self.client)
        self.restart()

    def restart(self) -> None:
        """Forget everything, as a new process would have."""
        self.engine = Engine(self.direct, Memory(), clock=self.cluster.clock)

    def placed(self, obj: JsonObject) -> JsonObject:
        """Return an object with the namespace of the test."""
        return {**obj, "metadata": {"namespace": self.cluster.namespace, **obj["metadata"]}}

    async def apply(
        self, *objects: JsonObject, rules: Rules | None = None, **options: Any
    ) -> ChangeSet:
        wanted = [Wanted(self.placed(obj), rules or Rules()) for obj in objects]
        return await self.engine.apply(wanted, **options)

    async def delete(self, *objects: JsonObject, **options: Any) -> ChangeSet:
        refs = [ObjectRef.of(self.placed(obj)) for obj in objects]
        return await self.engine.delete(refs, **options)

    @staticmethod
    def told(changes: ChangeSet) -> dict[str, str]:
        """Return what became of each object, by kind and name."""
        return {f"{e.ref.kind}/{e.ref.name}": e.action.value for e in changes.entries}

    @contextmanager
    def counted(self) -> Iterator[list[Calls]]:
        """Collect the calls made inside; the first item is there afterwards."""
        self.log.mark()
        found: list[Calls] = []
        yield found
        found.append(self.log.since_mark())


@pytest.fixture
def bench(cluster: Cluster) -> Bench:
    return Bench(cluster)

