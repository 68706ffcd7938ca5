"""What the commands of ``certwright rollout`` do, besides running it."""

import sys
from dataclasses import dataclass
from typing import Final

from certwright.cli.connection import Session, connected, require_name
from certwright.cli.errors import UsageError
from certwright.cli.options import Output, Target
from certwright.cli.rollout.reader import WorkloadReader
from certwright.cli.rollout.text import documented, explanation, plan_text, status_table
from certwright.cli.terminal.output import document, terminal_width
from certwright.kube import Key, NotFound
from certwright.operators.rollout.dialects.choice import NAMES, dialects_of
from certwright.operators.rollout.dialects.reloaderoptions import ReloaderOptions
from certwright.operators.rollout.dialects.restraint import PAUSED
from certwright.operators.rollout.engine.settings import DEFAULT_HOME
from certwright.operators.rollout.engine.views import RESOURCES
from certwright.operators.rollout.workload import (
    SourceKind,
    SourceRef,
    WorkloadKind,
    WorkloadRef,
)

_WORKLOADS: Final = {
    "deployment": WorkloadKind.DEPLOYMENT, "deployments": WorkloadKind.DEPLOYMENT,
    "deploy": WorkloadKind.DEPLOYMENT,
    "statefulset": WorkloadKind.STATEFUL_SET, "statefulsets": WorkloadKind.STATEFUL_SET,
    "sts": WorkloadKind.STATEFUL_SET,
    "daemonset": WorkloadKind.DAEMON_SET, "daemonsets": WorkloadKind.DAEMON_SET,
    "ds": WorkloadKind.DAEMON_SET,
    "cronjob": WorkloadKind.CRON_JOB, "cronjobs": WorkloadKind.CRON_JOB,
    "cj": WorkloadKind.CRON_JOB,
    "job": WorkloadKind.JOB, "jobs": WorkloadKind.JOB,
    "rollout": WorkloadKind.ROLLOUT, "rollouts": WorkloadKind.ROLLOUT,
}  # fmt: skip
_SOURCES: Final = {
    "secret": SourceKind.SECRET, "secrets": SourceKind.SECRET,
    "configmap": SourceKind.CONFIG_MAP, "configmaps": SourceKind.CONFIG_MAP,
    "cm": SourceKind.CONFIG_MAP,
    "secretproviderclass": SourceKind.PROVIDER_CLASS,
    "secretproviderclasses": SourceKind.PROVIDER_CLASS,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReaderOptions:
    """With whose eyes to look: which dialects count, and where the key of digests is."""

    dialects: tuple[str, ...] = NAMES
    home: Key = DEFAULT_HOME

    def reader(self, session: Session) -> WorkloadReader:
        """Return what reads workloads."""
        dialects = dialects_of(self.dialects, ReloaderOptions(argo_rollouts=True))
        return WorkloadReader(session.client, dialects, self.home)


def workload_of(text: str, namespace: str) -> WorkloadRef:
    """Read ``KIND/NAME``; `UsageError` if it names no workload."""
    kind, _, name = text.partition("/")
    if kind.lower() not in _WORKLOADS or not name:
        raise UsageError(f"{text!r} is no workload; write it like deployment/web")
    require_name(name, kind)
    return WorkloadRef(_WORKLOADS[kind.lower()], Key(namespace, name))


def source_of(text: str, namespace: str) -> SourceRef:
    """Read ``secret/NAME`` or ``configmap/NAME``; `UsageError` if it is neither."""
    kind, _, name = text.partition("/")
    if kind.lower() not in _SOURCES or not name:
        raise UsageError(f"{text!r} is no source; write it like secret/web-tls or configmap/web")
    require_name(name, kind)
    return SourceRef(_SOURCES[kind.lower()], namespace, name)


async def why(target: Target, workload: str, output: Output, asked: ReaderOptions) -> int:
    """Print what a workload consumes, and whether and why it restarts or does not."""
    async with connected(target) as session:
        ref = workload_of(workload, session.namespace)
        reader = asked.reader(session)
        try:
            seen = await reader.workload(ref)
        except NotFound:
            raise _absent(ref) from None
    print(explanation(seen) if output is Output.TABLE else document(documented(seen), output))
    _tell(reader)
    return 0


async def plan(
    target: Target, source: str, output: Output, asked: ReaderOptions, *, all_namespaces: bool
) -> int:
    """Print which workloads restart when a source changes."""
    async with connected(target) as session:
        ref = source_of(source, session.namespace)
        reader = asked.reader(session)
        seen = await reader.workloads("" if all_namespaces else session.namespace, ref)
        await reader.note_absence(ref)
    if output is Output.TABLE:
        print(plan_text(ref, seen, width=terminal_width()))
    else:
        print(
            document({"source": str(ref), "workloads": [documented(one) for one in seen]}, output)
        )
    _tell(reader)
    return 0


async def status(
    target: Target, output: Output, asked: ReaderOptions, *, all_namespaces: bool
) -> int:
    """Print the workloads that ask for restarts, and how they are."""
    async with connected(target) as session:
        reader = asked.reader(session)
        seen = await reader.workloads("" if all_namespaces else session.namespace)
    if output is not Output.TABLE:
        print(document({"workloads": [documented(one) for one in seen]}, output))
    elif seen:
        print(status_table(seen, namespaces=all_namespaces, width=terminal_width()))
    else:
        place = "in this cluster" if all_namespaces else f"in namespace {session.namespace}"
        print(f"no workload {place} asks for restarts", file=sys.stderr)
    _tell(reader)
    return 0


async def pause(target: Target, workload: str, reason: str, *, dry_run: bool) -> int:
    """Hold the restarts of a workload back until `resume`."""
    return await _annotate(target, workload, reason or "true", "paused", dry_run=dry_run)


async def resume(target: Target, workload: str, *, dry_run: bool) -> int:
    """Let a workload restart again."""
    return await _annotate(target, workload, None, "resumed", dry_run=dry_run)


async def _annotate(
    target: Target, workload: str, value: str | None, done: str, *, dry_run: bool
) -> int:
    async with connected(target) as session:
        ref = workload_of(workload, session.namespace)
        change = {"metadata": {"annotations": {PAUSED: value}}}
        try:
            await session.client.patch(RESOURCES[ref.kind], ref.key, change, dry_run=dry_run)
        except NotFound:
            raise _absent(ref) from None
    print(f"{ref.kind} {ref.key} {done}{' (dry run: nothing was changed)' if dry_run else ''}")
    return 0


def _absent(ref: WorkloadRef) -> UsageError:
    return UsageError(
        f"there is no {ref.kind} {ref.key.name} in namespace {ref.key.namespace}; choose another"
        " namespace with -n, or list those that ask for restarts: certwright rollout status -A"
    )


def _tell(reader: WorkloadReader) -> None:
    for note in reader.notes:
        print(f"note: {note}", file=sys.stderr)
