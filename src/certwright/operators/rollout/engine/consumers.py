"""Who consumes what: policies of workloads, and from a source to the workloads that consume it."""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Final, TypeAlias

from certwright.operators.rollout.engine.sources import ANY_NAME
from certwright.operators.rollout.engine.views import read_workload
from certwright.operators.rollout.policy import (
    Dialect,
    NamespaceFacts,
    RolloutPolicy,
    policy_of,
)
from certwright.operators.rollout.workload import SourceRef, Workload, WorkloadKind, WorkloadRef
from certwright.runtime import BadObject, Entry, Store
from certwright.runtime.cache.entries import IndexFunction

CONSUMED: Final = "consumed"
"""The index from what is consumed to workloads."""
RECENT: Final = 512
"""How many workloads are remembered as they were read last."""

Policies: TypeAlias = tuple[tuple[Dialect, RolloutPolicy], ...]


class Consumers:
    """The workloads of a cluster, found by what they consume."""

    def __init__(self, dialects: Sequence[Dialect]) -> None:
        self._dialects = tuple(dialects)
        self.stores: dict[WorkloadKind, Store] = {}
        self.read = lru_cache(maxsize=RECENT)(self._read)
        """Returns the workload of an entry, with its policy in each dialect that has one.

        Raises `BadObject` if it cannot be read. A change is looked at several times in a row: by
        the index, by what it releases, and by the pass that it wakes.
        """

    def _read(self, kind: WorkloadKind, entry: Entry) -> tuple[Workload, Policies]:
        workload = read_workload(kind, entry.obj(), entry.key)
        asked = ((dialect, policy_of(dialect, workload)) for dialect in self._dialects)
        return workload, tuple((dialect, policy) for dialect, policy in asked if policy is not None)

    def index(self, kind: WorkloadKind) -> IndexFunction:
        """Return the function that finds what an object of a kind consumes."""
        return partial(self._consumed, kind)

    def _consumed(self, kind: WorkloadKind, entry: Entry) -> Sequence[SourceRef]:
        return sources_of(self._policy_of(kind, entry))

    def _policy_of(self, kind: WorkloadKind, entry: Entry) -> RolloutPolicy | None:
        try:
            return chosen(self.read(kind, entry)[1])
        except BadObject:
            return None

    def of(self, ref: SourceRef) -> Iterator[WorkloadRef]:
        """Yield the workloads that consume a source, by name or by a pattern."""
        by_pattern = SourceRef(ref.kind, ref.namespace, ANY_NAME)
        for kind, store in self.stores.items():
            for entry in store.by_index(CONSUMED, ref):
                yield WorkloadRef(kind, entry.key)
            for entry in store.by_index(CONSUMED, by_pattern):
                policy = self._policy_of(kind, entry)
                if policy is not None and any(
                    one.kind is ref.kind and one.matches(ref.name) for one in policy.patterns
                ):
                    yield WorkloadRef(kind, entry.key)

    def exist(self, ref: SourceRef) -> bool:
        """Return whether any workload consumes a source; `ANY_NAME` asks for patterns."""
        return next(self.of(ref), None) is not None

    def all_consumed(self) -> Iterator[SourceRef]:
        """Yield everything that is consumed, some of it more than once."""
        for kind, store in self.stores.items():
            for entry in store.items():
                yield from sources_of(self._policy_of(kind, entry))

    def released(
        self, kind: WorkloadKind, old: Entry | None, new: Entry | None
    ) -> Iterable[SourceRef]:
        """Return what a changed object of a kind does not consume any more."""
        if old is None or (new is not None and old.raw == new.raw):
            return ()
        after = () if new is None else self._consumed(kind, new)
        return set(self._consumed(kind, old)) - set(after)


def chosen(policies: Policies, namespace: NamespaceFacts | None = None) -> RolloutPolicy | None:
    """Return the policy of the first dialect; None if a workload is not to be restarted.

    Without *namespace* it does not count which namespaces a dialect covers.
    """
    for dialect, policy in policies:
        if namespace is None or dialect.covers(namespace):
            return policy if policy.enabled else None
    return None


def sources_of(policy: RolloutPolicy | None) -> list[SourceRef]:
    """Return what a policy names; for patterns, a reference with the name `ANY_NAME`."""
    if policy is None:
        return []
    return [
        *(candidate.use.ref for candidate in policy.candidates),
        *(SourceRef(one.kind, one.namespace, ANY_NAME) for one in policy.patterns),
    ]
