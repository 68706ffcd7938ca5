"""Which workloads consume an authority and do not run with it yet: leaves wait for them.

A workload that restarts with an authority has its digest on record. One whose record says
something else is to be restarted first, or is being restarted; those without a record never are,
and are not waited for.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from certwright.kube import Key, NotFound
from certwright.kube.kinds import Secret
from certwright.operators.rollout.decision.compare import Counted, SourceContents, compare
from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.decision.record import read_record, source_name
from certwright.operators.rollout.engine.contents import contents_of
from certwright.operators.rollout.engine.keysecret import read_key
from certwright.operators.rollout.engine.views import RESOURCES, ReducedWorkload, read_workload
from certwright.operators.rollout.policy import RECORD, RolloutPolicy
from certwright.operators.rollout.workload import (
    SourceKind,
    SourceRef,
    SourceUse,
    Workload,
    WorkloadKind,
)
from certwright.runtime import BadObject, Context, Entry, select
from certwright.runtime.triggers import Watched

KINDS: Final = (WorkloadKind.DEPLOYMENT, WorkloadKind.STATEFUL_SET, WorkloadKind.DAEMON_SET)
RECORDED: Final = "recorded"
"""The index from the Secrets on record to workloads."""


def watched(kind: WorkloadKind) -> Watched:
    """Return how workloads of a kind are watched: as the operator that restarts them does."""
    return select(
        RESOURCES[kind], transform=ReducedWorkload(kind), indexes={RECORDED: recorded_secrets}
    )


def recorded_secrets(entry: Entry) -> Iterable[str]:
    """Index a workload by the Secrets on its record, as ``namespace/name``."""
    try:
        record = read_record((entry.annotations or {}).get(RECORD))
    except BadObject:
        return []
    prefix = f"{SourceKind.SECRET}/"
    found = [name.removeprefix(prefix) for name in (record.sources if record is not None else {})]
    return [name if "/" in name else f"{entry.key.namespace}/{name}" for name in found]


async def behind(ctx: Context, authority: Key, home: Key) -> Sequence[str]:
    """Return the workloads that consume an authority and do not run with it; *home* has the key."""
    consumers = list(_consumers(ctx, authority))
    if not consumers:
        return ()
    try:
        key = read_key(await ctx.client.get(Secret, home))
        secret = await ctx.client.get(Secret, authority)
    except NotFound:
        return ()
    ref = SourceRef(SourceKind.SECRET, authority.namespace, authority.name)
    contents = contents_of(ref, secret, key) if key is not None else None
    if key is None or contents is None:
        return ()
    return [str(one.ref) for one in consumers if _is_behind(one, contents, key)]


def _consumers(ctx: Context, authority: Key) -> Iterator[Workload]:
    for kind in KINDS:
        for entry in ctx.store(RESOURCES[kind]).by_index(RECORDED, str(authority)):
            yield read_workload(kind, entry.obj())


def _is_behind(workload: Workload, contents: SourceContents, key: DigestKey) -> bool:
    if workload.progress.rolling:
        return True
    use = next((one for one in workload.uses if one.ref == contents.ref), SourceUse(contents.ref))
    record = read_record(workload.annotations.get(RECORD))
    name = source_name(contents.ref, workload.ref.key.namespace)
    if record is None or name not in record.sources:
        return False
    found = compare(workload, RolloutPolicy(dialect=""), [Counted(use, contents)], key)
    return bool(found.changed)
