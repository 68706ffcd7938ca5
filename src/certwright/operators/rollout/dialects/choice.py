"""Dialects by the names that people type, in the order in which they are asked."""

from collections.abc import Collection, Sequence
from typing import Final

from certwright.operators.rollout.dialects import certwright, ibm, redhat, reloader
from certwright.operators.rollout.dialects.certwright import CertwrightDialect
from certwright.operators.rollout.dialects.ibm import IbmDialect
from certwright.operators.rollout.dialects.redhat import RedhatDialect
from certwright.operators.rollout.dialects.reloader import ReloaderDialect
from certwright.operators.rollout.dialects.reloaderoptions import ReloaderOptions
from certwright.operators.rollout.policy import Dialect
from certwright.operators.rollout.workload import WorkloadKind

NAMES: Final = (certwright.NAME, redhat.NAME, reloader.NAME, ibm.NAME)
"""Those by which a workload asks come before the one that asks for all of them."""
DEFAULT: Final = (certwright.NAME, redhat.NAME, reloader.NAME)


def kinds_of(
    names: Collection[str],
    served: tuple[WorkloadKind, ...],
    options: ReloaderOptions | None = None,
) -> tuple[WorkloadKind, ...]:
    """Return the kinds to watch of those that are *served*: Jobs only where they are recreated."""
    if options is None or not options.recreate_jobs or reloader.NAME not in names:
        return served
    return served if WorkloadKind.JOB in options.ignored_workloads else (*served, WorkloadKind.JOB)


def dialects_of(
    names: Collection[str], options: ReloaderOptions | None = None
) -> Sequence[Dialect]:
    """Return dialects, each once; `KeyError` if there is none of a name."""
    made: dict[str, Dialect] = {
        certwright.NAME: CertwrightDialect(),
        redhat.NAME: RedhatDialect(),
        reloader.NAME: ReloaderDialect(options or ReloaderOptions()),
        ibm.NAME: IbmDialect(),
    }
    if unknown := set(names) - made.keys():
        raise KeyError(", ".join(sorted(unknown)))
    return [made[name] for name in NAMES if name in names]
