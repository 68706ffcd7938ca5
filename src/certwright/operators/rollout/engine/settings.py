"""How the operator is set up."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from certwright.kube import Key
from certwright.operators.rollout.decision.restraint import RolloutLimits
from certwright.operators.rollout.policy import Dialect
from certwright.operators.rollout.workload import BUILT_IN_SOURCES, SourceKind, WorkloadKind

NO_LIMITS: Final = RolloutLimits()
DEFAULT_HOME: Final = Key("kube-system", "certwright-rollout-key")
DEFAULT_QUIET: Final = timedelta(seconds=5)
DEFAULT_PATIENCE: Final = timedelta(minutes=10)
"""As long as Deployments have for progress by default."""
BUILT_IN: Final = (
    WorkloadKind.DEPLOYMENT,
    WorkloadKind.STATEFUL_SET,
    WorkloadKind.DAEMON_SET,
    WorkloadKind.CRON_JOB,
)


@dataclass(frozen=True, kw_only=True)
class RolloutSettings:
    """What is restarted, and how carefully."""

    dialects: Sequence[Dialect]
    """In the order in which they are asked."""
    kinds: tuple[WorkloadKind, ...] = BUILT_IN
    """Which kinds are watched; `served_kinds` finds those that a cluster has."""
    sources: frozenset[SourceKind] = BUILT_IN_SOURCES
    """Which kinds of sources are watched, if a dialect counts them; see `served_sources`."""
    namespace: str = ""
    """Where workloads are watched; everywhere if empty."""
    home: Key = DEFAULT_HOME
    """The Secret with the key of the digests."""
    quiet: timedelta = DEFAULT_QUIET
    """How long contents must be unchanged before a restart."""
    patience: timedelta = DEFAULT_PATIENCE
    """How long pods may take to be replaced before a restart counts as failed."""
    limits: RolloutLimits = NO_LIMITS
    dry_run: bool = False
    """Whether restarts are only reported; contents are recorded all the same."""
    budgets: bool = True
    """Whether PodDisruptionBudgets are watched."""
    random_bytes: Callable[[int], bytes] = secrets.token_bytes
    workers: int = 16
    """How many workloads of a kind are looked at, and written, at the same time. What limits how
    many restart is `limits`; fewer workers only make all of them wait for the API server."""

    def __post_init__(self) -> None:
        if self.quiet < timedelta():
            raise ValueError("the quiet window must not be negative")
        if self.patience <= timedelta():
            raise ValueError("the patience with a rollout must be positive")
