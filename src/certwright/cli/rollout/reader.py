"""Workloads and what they consume, read from a cluster once, and judged as the operator does."""

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from certwright.client import Client
from certwright.clock import SYSTEM, Clock
from certwright.kube import ApiError, JsonObject, Key, NotFound
from certwright.kube.kinds import Namespace, PodDisruptionBudget, Secret
from certwright.operators.rollout.decision.compare import (
    ContentComparison,
    Counted,
    SourceContents,
    compare,
    counted,
)
from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.decision.record import read_record
from certwright.operators.rollout.decision.restraint import (
    Circumstances,
    RestartObstacle,
    obstacles,
)
from certwright.operators.rollout.dialects import reloader
from certwright.operators.rollout.engine.contents import contents_of
from certwright.operators.rollout.engine.keysecret import read_key
from certwright.operators.rollout.engine.providerclasses import (
    POD_STATUS,
    class_contents,
    class_names,
)
from certwright.operators.rollout.engine.registry import gave_up, last_restart
from certwright.operators.rollout.engine.settings import DEFAULT_HOME
from certwright.operators.rollout.engine.sources import SOURCE_RESOURCES
from certwright.operators.rollout.engine.surroundings import forbids
from certwright.operators.rollout.engine.views import RESOURCES, read_workload
from certwright.operators.rollout.policy import (
    Dialect,
    NamespaceFacts,
    RolloutPolicy,
    policy_of,
)
from certwright.operators.rollout.workload import (
    SourceKind,
    SourceRef,
    SourceUse,
    UsePath,
    Workload,
    WorkloadKind,
    WorkloadRef,
)

_FLAGS: Final = {WorkloadKind.JOB: "--recreate-jobs", WorkloadKind.ROLLOUT: "--is-argo-rollouts"}
"""What the operator has to be asked for, which is not known here."""


@dataclass(frozen=True, slots=True)
class SeenWorkload:
    """A workload, how it is treated, and what follows from its sources."""

    workload: Workload
    policy: RolloutPolicy | None = None
    """None if it asks for restarts in no dialect."""
    present: tuple[Counted, ...] = ()
    comparison: ContentComparison | None = None
    """None if it cannot be known: there is no key, or it may not be read."""
    recorded: str = ""
    """The digest of what is on record; empty if nothing is, or the key is not known."""
    on_record: frozenset[str] = frozenset()
    """The sources on record, as records name them."""
    obstacles: tuple[RestartObstacle, ...] = ()
    """What a restart would wait for now; those of other workloads are not known."""


@dataclass(slots=True)
class WorkloadReader:
    """Reads workloads of a cluster; each source is read once."""

    client: Client
    dialects: Sequence[Dialect]
    home: Key = DEFAULT_HOME
    clock: Clock = SYSTEM
    notes: dict[str, None] = field(default_factory=dict)
    """What could not be read, and what that means."""
    _key: DigestKey | None = None
    _key_read: bool = False
    _sources: dict[SourceRef, SourceContents | None] = field(default_factory=dict)
    _unreadable: set[SourceRef] = field(default_factory=set)
    _namespaces: dict[str, NamespaceFacts] = field(default_factory=dict)
    _budgets: dict[str, list[JsonObject]] = field(default_factory=dict)

    async def workload(self, ref: WorkloadRef) -> SeenWorkload:
        """Return one workload; `NotFound` if there is none."""
        obj = await self.client.get(RESOURCES[ref.kind], ref.key)
        return await self._seen(read_workload(ref.kind, obj))

    async def workloads(self, namespace: str, about: SourceRef | None = None) -> list[SeenWorkload]:
        """Return the workloads of a namespace that ask for restarts; empty means all namespaces.

        With *about*, those that restart when this source changes.
        """
        found: list[SeenWorkload] = []
        for kind in WorkloadKind:
            for obj in await self._listed(kind, namespace):
                workload = read_workload(kind, obj)
                policy = await self._policy(workload)
                if policy is None or (about is not None and not _names(policy, about)):
                    continue
                seen = await self._seen(workload)
                if about is None or any(
                    one.use.ref == about and not one.excluded for one in seen.present
                ):
                    found.append(seen)
        return found

    async def note_absence(self, ref: SourceRef) -> None:
        """Add a note if there is no such Secret or ConfigMap: its name may be misspelt."""
        absent = await self._contents(ref) is None and ref not in self._unreadable
        if absent and ref.kind is not SourceKind.PROVIDER_CLASS:
            self.notes[f"there is no {ref} now; choose another namespace with -n"] = None

    async def _listed(self, kind: WorkloadKind, namespace: str) -> Sequence[JsonObject]:
        try:
            return (await self.client.list(RESOURCES[kind], namespace)).items
        except NotFound:
            return ()  # this cluster does not have the kind

    async def _seen(self, workload: Workload) -> SeenWorkload:
        policy = await self._policy(workload)
        if policy is None:
            return SeenWorkload(workload)
        if policy.dialect == reloader.NAME and workload.ref.kind in _FLAGS:
            self.notes[
                f"{workload.ref.kind}s with the annotations of Reloader restart only where the"
                f" operator has {_FLAGS[workload.ref.kind]}"
            ] = None
        present = tuple([one async for one in self._present(policy)])
        key = await self._digest_key()
        comparison = None if key is None else compare(workload, policy, present, key)
        now = self.clock.now()
        around = Circumstances(
            now=now,
            last_restart=last_restart(workload),
            stalled=gave_up(workload),
            budget=await self._forbidding_budget(workload),
        )
        changed = () if comparison is None else comparison.changed
        found = tuple(obstacles(workload, policy, changed, around))
        record = read_record(workload.annotations.get(policy.record_annotation))
        if key is None or record is None or record.key != key.id:
            return SeenWorkload(workload, policy, present, comparison, obstacles=found)
        recorded = f"{record.key}.{key.of_digests(record.digests())}"
        names = frozenset(record.sources)
        return SeenWorkload(workload, policy, present, comparison, recorded, names, found)

    async def _policy(self, workload: Workload) -> RolloutPolicy | None:
        namespace = await self._namespace(workload.ref.key.namespace)
        for dialect in self.dialects:
            if dialect.covers(namespace):
                policy = policy_of(dialect, workload)
                if policy is not None:
                    return policy
        return None

    async def _namespace(self, name: str) -> NamespaceFacts:
        if name not in self._namespaces:
            labels: dict[str, str] = {}
            try:
                found = await self.client.get(Namespace, Key("", name))
                labels = found["metadata"].get("labels") or {}
            except ApiError as error:
                self.notes[f"labels of namespace {name} are not known: {error}"] = None
            self._namespaces[name] = NamespaceFacts(name, labels)
        return self._namespaces[name]

    # Sources

    async def _present(self, policy: RolloutPolicy) -> AsyncIterator[Counted]:
        for candidate in policy.candidates:
            contents = await self._contents(candidate.use.ref)
            yield counted(candidate.use, contents, *candidate.conditions)
        known = {candidate.use.ref for candidate in policy.candidates}
        for pattern in policy.patterns:
            for ref in await self._names(pattern.kind, pattern.namespace):
                if ref not in known and pattern.matches(ref.name):
                    known.add(ref)
                    use = SourceUse(ref, None, frozenset({UsePath.NAMED}))
                    yield counted(use, await self._contents(ref), *pattern.conditions)

    async def _contents(self, ref: SourceRef) -> SourceContents | None:
        if ref not in self._sources:
            key = await self._digest_key() or DigestKey(bytes(32))
            try:
                self._sources[ref] = await self._read(ref, key)
            except NotFound:
                self._sources[ref] = None
            except ApiError as error:
                self.notes[f"{ref} cannot be read: {error}"] = None
                self._unreadable.add(ref)
                self._sources[ref] = None
        return self._sources[ref]

    async def _read(self, ref: SourceRef, key: DigestKey) -> SourceContents | None:
        if ref.kind is SourceKind.PROVIDER_CLASS:
            found = await self.client.list(POD_STATUS, ref.namespace)
            return class_contents(ref, found.items, key)
        return contents_of(ref, await self.client.get(SOURCE_RESOURCES[ref.kind], ref.key), key)

    async def _names(self, kind: SourceKind, namespace: str) -> Iterable[SourceRef]:
        if kind is SourceKind.PROVIDER_CLASS:
            statuses = await self.client.list(POD_STATUS, namespace)
            return [SourceRef(kind, namespace, name) for name in class_names(statuses.items)]
        found = await self.client.list(SOURCE_RESOURCES[kind], namespace)
        return [SourceRef(kind, namespace, one["metadata"]["name"]) for one in found.items]

    async def _digest_key(self) -> DigestKey | None:
        if not self._key_read:
            self._key_read = True
            try:
                self._key = read_key(await self.client.get(Secret, self.home))
                why = "it holds no key"
            except NotFound:
                why = "there is none; it is created by: certwright rollout run"
            except ApiError as error:
                why = str(error)
            if self._key is None:
                self.notes[
                    f"what has changed is not known without the key in Secret {self.home}: {why}"
                ] = None
        return self._key

    async def _forbidding_budget(self, workload: Workload) -> str:
        namespace = workload.ref.key.namespace
        if namespace not in self._budgets:
            try:
                found = await self.client.list(PodDisruptionBudget, namespace)
                self._budgets[namespace] = list(found.items)
            except ApiError as error:
                self.notes[f"PodDisruptionBudgets are not known: {error}"] = None
                self._budgets[namespace] = []
        for budget in self._budgets[namespace]:
            if forbids(budget, workload):
                return str(budget["metadata"]["name"])
        return ""


def _names(policy: RolloutPolicy, ref: SourceRef) -> bool:
    return any(one.use.ref == ref for one in policy.candidates) or any(
        (one.kind, one.namespace) == (ref.kind, ref.namespace) and one.matches(ref.name)
        for one in policy.patterns
    )
