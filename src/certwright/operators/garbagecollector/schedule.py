"""When the next pass is due: remembered in a Lease, so that restarts do not bring it forward.

The Lease is written before a pass begins. A process that crashes in the middle of it, and
again and again, so makes no more passes than one that runs through.
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
    """Return how long to wait for the next pass; nothing when it is due.

    Never more than the period, which may have been made shorter. A last pass that lies more
    than a period ahead was noted by a clock that has been set back, and counts for nothing.
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
    """Return the Lease that says that a pass begins *now* and the next one comes after *wait*."""
    return {
        "apiVersion": Lease.api_version,
        "kind": Lease.kind,
        "metadata": {
            "namespace": home.namespace,
            "name": home.name,
            "labels": {ROLE_LABEL: ROLE},
        },
        "spec": {
            "holderIdentity": ROLE,
            "renewTime": format_micro_time(now),
            "leaseDurationSeconds": max(1, math.ceil(wait.total_seconds())),
        },
    }
