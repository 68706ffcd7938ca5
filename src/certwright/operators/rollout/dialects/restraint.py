"""What holds the restarts of a workload back, in every dialect: annotations of ours.

| annotation of the workload | value |
|---|---|
| ``rollout.certwright.dev/paused`` | ``true``, or why: no restart until it is removed |
| ``rollout.certwright.dev/window`` | ``0 2 * * 6 for 4h in Europe/Berlin``: only then |
| ``rollout.certwright.dev/minimum-interval`` | ``1h``: at most one restart in this time |
| ``rollout.certwright.dev/quiet`` | ``30s``: how long contents must be unchanged |
| ``rollout.certwright.dev/check-certificates`` | ``false``: restart onto expired certificates too |
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final

from certwright.kube.durations import parse_duration
from certwright.operators.rollout.decision.window import MaintenanceWindow
from certwright.operators.rollout.policy import (
    DOMAIN,
    NamespaceFacts,
    RolloutPolicy,
    SourceCondition,
)

PAUSED: Final = f"{DOMAIN}/paused"
WINDOW: Final = f"{DOMAIN}/window"
MINIMUM_INTERVAL: Final = f"{DOMAIN}/minimum-interval"
QUIET: Final = f"{DOMAIN}/quiet"
CHECK_CERTIFICATES: Final = f"{DOMAIN}/check-certificates"
IGNORE: Final = f"{DOMAIN}/ignore"
"""On a Secret or ConfigMap, as an annotation: it counts nowhere. On a namespace, as a label: its
workloads are left alone."""

_RESTRAINTS: Final = frozenset({PAUSED, WINDOW, MINIMUM_INTERVAL, QUIET, CHECK_CERTIFICATES})

NOT_IGNORED: Final = SourceCondition(IGNORE, "true", negated=True)
_LONGEST: Final = timedelta(days=30)
_LONGEST_REASON: Final = 200


def is_ignored(namespace: NamespaceFacts) -> bool:
    """Return whether a label asks to leave the workloads of a namespace alone."""
    return namespace.labels.get(IGNORE) == "true"


def restrained(policy: RolloutPolicy, annotations: Mapping[str, str]) -> RolloutPolicy:
    """Return a policy with what the annotations of its workload hold back."""
    if policy.check_certificates and _RESTRAINTS.isdisjoint(annotations):
        return policy
    problems: list[str] = []
    return replace(
        policy,
        paused=policy.paused or _paused(annotations),
        window=_window(annotations, problems) or policy.window,
        minimum_interval=_duration(annotations, MINIMUM_INTERVAL, problems)
        or policy.minimum_interval,
        quiet=_quiet(annotations, problems, policy.quiet),
        check_certificates=_checks(annotations, problems),
        problems=(*policy.problems, *problems),
    )


def parse_window(text: str) -> MaintenanceWindow:
    """Read ``CRON for DURATION``, with ``in ZONE`` if not UTC; `ValueError` if it is not that."""
    when, said, rest = text.partition(" for ")
    if not said:
        raise ValueError(f"{text[:64]!r} is not of the form '0 2 * * 6 for 4h in Europe/Berlin'")
    duration, _, zone = rest.partition(" in ")
    return MaintenanceWindow.parse(
        when.strip(), parse_duration(duration.strip()), zone.strip() or "UTC"
    )


def _paused(annotations: Mapping[str, str]) -> str:
    said = annotations.get(PAUSED, "")
    if said in {"", "false"}:
        return ""
    reason = f"; {said[:_LONGEST_REASON]}" if said != "true" else ""
    return f"annotation {PAUSED}{reason}"


def _window(annotations: Mapping[str, str], problems: list[str]) -> MaintenanceWindow | None:
    text = annotations.get(WINDOW)
    if not text:
        return None
    try:
        return parse_window(text)
    except ValueError as error:
        problems.append(f"annotation {WINDOW}: {error}")
        return None


def _quiet(
    annotations: Mapping[str, str], problems: list[str], before: timedelta | None
) -> timedelta | None:
    return before if QUIET not in annotations else _duration(annotations, QUIET, problems)


def _duration(annotations: Mapping[str, str], name: str, problems: list[str]) -> timedelta:
    text = annotations.get(name)
    if not text:
        return timedelta()
    try:
        found = parse_duration(text[:64])
        if not timedelta() <= found <= _LONGEST:
            raise ValueError(f"{text[:64]} is not between 0s and {_LONGEST.days * 24}h")
    except ValueError as error:
        problems.append(f"annotation {name}: {error}")
        return timedelta()
    return found


def _checks(annotations: Mapping[str, str], problems: list[str]) -> bool:
    said = annotations.get(CHECK_CERTIFICATES, "true")
    if said not in {"true", "false"}:
        problems.append(f"annotation {CHECK_CERTIFICATES}: {said[:64]!r} is not true or false")
    return said != "false"
