"""When the next pass is due: stored in a Lease, so that restarts do not bring it forward.

The Lease is written before a pass begins, so a process that crashes in every pass makes no more
passes than one that does not.
"""

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from certwright.kube import JsonObject, Key, parse_time
from certwright.kube.kinds import Lease
from certwright.kube.timestamps import format_micro_time

ROLE_LABEL: Final = "resources.certwright.dev/schedule"
ROLE: Final = "garbage-collector"

RETRY: Final = timedelta(minutes=1)
"""How soon to try again after a pass that failed."""


def due_in(lease: Mapping[str, Any] | None, now: datetime, period: timedelta) -> timedelta:
    """Return how long to wait for the next pass; zero when it is due.

    Never more than the period, which may have been made shorter. A last pass more than a period
    in the future was written by a clock that has been set back since, and is ignored.
    """
    spec = (lease or {}).get("spec") or {}
    try:
        last = parse_time(spec["renewTime"])
        wait = timedelta(seconds=spec["leaseDurationSeconds"])
    except (KeyError, TypeError, ValueError):
        return timedelta()
    if last - now > period:
        return timedelta()
    return min(max(last + wait - now, timedelta()), period)


def lease_of(home: Key, now: datetime, wait: timedelta) -> JsonObject:
    """Return the Lease of a pass that begins *now*, with the next one due after *wait*."""
    return {
        "apiVersion": Lease.api_version,
        "kind": Lease.kind,
        "metadata": {"namespace": home.namespace, "name": home.name, "labels": {ROLE_LABEL: ROLE}},
        "spec": {
            "holderIdentity": ROLE,
            "renewTime": format_micro_time(now),
            "leaseDurationSeconds": max(1, math.ceil(wait.total_seconds())),
        },
    }
