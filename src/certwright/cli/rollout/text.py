"""Workloads and what they consume, as text and as documents. Pure functions."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from certwright.cli.rollout.reader import SeenWorkload
from certwright.cli.terminal.output import fitted, one_line, table
from certwright.kube import JsonObject
from certwright.kube.timestamps import format_time
from certwright.operators.rollout.decision.compare import Counted
from certwright.operators.rollout.decision.record import source_name
from certwright.operators.rollout.engine.messages import obstacle_text
from certwright.operators.rollout.engine.registry import last_restart
from certwright.operators.rollout.workload import SourceRef, SourceUse

CURRENT: Final = "current"
PENDING: Final = "pending"
UNRECORDED: Final = "not recorded"
UNKNOWN: Final = "unknown"
OFF: Final = "off"
_LONGEST_MESSAGE: Final = 200
_KEYS_SHOWN: Final = 5
_HEADS: Final = ("KIND", "NAME", "DIALECT", "STATE", "LAST RESTART", "MESSAGE")


def state_of(seen: SeenWorkload) -> str:
    """Return in one word how a workload is."""
    if seen.policy is None or not seen.policy.enabled:
        return OFF
    if seen.comparison is None:
        return UNKNOWN
    if seen.comparison.changed:
        return PENDING
    return CURRENT if seen.comparison.recorded else UNRECORDED


def status_table(seen: Iterable[SeenWorkload], *, namespaces: bool, width: int = 0) -> str:
    """Return a line for each workload, those that wait for a restart first."""
    rows = sorted(seen, key=lambda one: (state_of(one) != PENDING, one.workload.ref))
    heads = (("NAMESPACE",) if namespaces else ()) + _HEADS
    return fitted(table(heads, [_row(one, namespaces=namespaces) for one in rows]), width)


def plan_text(ref: SourceRef, seen: Sequence[SeenWorkload], *, width: int = 0) -> str:
    """Return which workloads restart when a source changes."""
    if not seen:
        return f"no workload restarts when {ref} changes"
    rows = [
        (
            str(one.workload.ref.kind),
            one.workload.ref.key.name,
            one.policy.dialect if one.policy is not None else "",
            _use(next(each.use for each in one.present if each.use.ref == ref)),
            one_line("; ".join(map(obstacle_text, one.obstacles)) or "at once", _LONGEST_MESSAGE),
        )
        for one in sorted(seen, key=lambda one: one.workload.ref)
    ]
    number = f"{len(rows)} workload{'' if len(rows) == 1 else 's'}"
    heads = ("KIND", "NAME", "DIALECT", "CONSUMES", "WHEN")
    return f"{number} would restart when {ref} changes\n\n{fitted(table(heads, rows), width)}"


def explanation(seen: SeenWorkload) -> str:
    """Return all that is known about one workload."""
    workload, policy = seen.workload, seen.policy
    title = f"{workload.ref.kind} {workload.ref.key}: {_headline(seen)}"
    if policy is None:
        return title
    lines = [title, *(f"  {line}" for line in _facts(seen))]
    lines += _section("Consumes", table_lines(_sources(seen)))
    lines += _section("Problems", policy.problems)
    waits = [obstacle_text(one) for one in seen.obstacles]
    pending = seen.comparison is not None and seen.comparison.changed
    lines += _section("Not restarted yet, because" if pending else "Would wait, because", waits)
    return "\n".join(lines)


def documented(seen: SeenWorkload) -> JsonObject:
    """Return what is known about a workload, for programs."""
    ref, policy, comparison = seen.workload.ref, seen.policy, seen.comparison
    restarted = last_restart(seen.workload)
    return {
        "kind": str(ref.kind),
        "namespace": ref.key.namespace,
        "name": ref.key.name,
        "dialect": policy.dialect if policy is not None else None,
        "state": state_of(seen),
        "lastRestart": format_time(restarted) if restarted is not None else None,
        "digest": {
            "recorded": seen.recorded or None,
            "present": comparison.digest if comparison is not None else None,
        },
        "consumes": [
            {
                "kind": str(one.use.ref.kind),
                "namespace": one.use.ref.namespace,
                "name": one.use.ref.name,
                "keys": sorted(one.use.keys) if one.use.keys is not None else None,
                "paths": sorted(one.use.paths),
                "containers": list(one.use.containers),
                "state": _source_state(one, seen),
            }
            for one in seen.present
        ],
        "problems": list(policy.problems) if policy is not None else [],
        "waitsFor": [
            {
                "reason": str(one.reason),
                "until": format_time(one.until) if one.until is not None else None,
                "message": obstacle_text(one),
            }
            for one in seen.obstacles
        ],
    }


def table_lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return rows with their columns aligned, without heads."""
    return table(rows[0], rows[1:]).splitlines() if rows else []


def _row(seen: SeenWorkload, *, namespaces: bool) -> list[str]:
    ref = seen.workload.ref
    restarted = last_restart(seen.workload)
    message = "; ".join(seen.policy.problems) if seen.policy is not None else ""
    if not message and seen.obstacles:
        waits = obstacle_text(seen.obstacles[0])
        message = waits if state_of(seen) == PENDING else f"would wait: {waits}"
    return [
        *([ref.key.namespace] if namespaces else []),
        str(ref.kind),
        ref.key.name,
        seen.policy.dialect if seen.policy is not None else "",
        state_of(seen),
        format_time(restarted) if restarted is not None else "",
        one_line(message, _LONGEST_MESSAGE),
    ]


def _headline(seen: SeenWorkload) -> str:
    match state_of(seen):
        case "off" if seen.policy is not None:
            return "asks not to be restarted"
        case "off":
            return "asks for restarts in none of the dialects that are looked at"
        case "unknown":
            return "whether it is to restart is not known"
        case "pending":
            return "is to restart"
        case "not recorded":
            return "its contents are not on record yet"
        case _:
            return "its pods have the present contents"


def _facts(seen: SeenWorkload) -> Iterator[str]:
    assert seen.policy is not None
    yield f"dialect       {seen.policy.dialect}"
    restarted = last_restart(seen.workload)
    yield f"last restart  {format_time(restarted) if restarted is not None else 'never'}"
    if seen.comparison is not None:
        yield f"digests       on record {seen.recorded or 'none'}, now {seen.comparison.digest}"
    if seen.workload.progress.on_delete:
        yield "strategy      OnDelete: pods have new contents once they are deleted by hand"


def _sources(seen: SeenWorkload) -> list[tuple[str, str, str]]:
    return [
        (str(one.use.ref), _use(one.use), _source_state(one, seen))
        for one in sorted(seen.present, key=lambda one: one.use.ref)
    ]


def _source_state(one: Counted, seen: SeenWorkload) -> str:
    if one.excluded:
        return "does not count"
    if one.contents is None:
        return "does not exist"
    if seen.comparison is None:
        return "unknown"
    for changed in seen.comparison.changed:
        if changed.use.ref == one.use.ref:
            return f"changed: {', '.join(changed.keys)}" if changed.keys else "changed"
    name = source_name(one.use.ref, seen.workload.ref.key.namespace)
    return "as recorded" if name in seen.on_record else "not on record"


def _use(use: SourceUse) -> str:
    """Return how and by which containers a source is consumed, and which keys of it."""
    paths = ", ".join(sorted(use.paths))
    where = f" in {', '.join(use.containers)}" if use.containers else ""
    if use.keys is None:
        return f"{paths}{where}: all keys"
    keys = sorted(use.keys)
    more = f" and {len(keys) - _KEYS_SHOWN} more" if len(keys) > _KEYS_SHOWN else ""
    return f"{paths}{where}: {', '.join(keys[:_KEYS_SHOWN])}{more}"


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", title, *(f"  {line}" for line in lines)] if lines else []
