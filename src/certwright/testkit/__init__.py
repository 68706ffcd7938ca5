"""Test controllers: an API server in this process, virtual time, faults, and the real thing.

Names are imported when first used: pytest loads the plugin of this package in every project
that has certwright installed, and most of them need nothing else of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from certwright.testkit.calls import Calls
    from certwright.testkit.cluster import Cluster, DidNotSettle
    from certwright.testkit.embedded import EmbeddedCluster
    from certwright.testkit.faults.faults import At, Plan, Storm
    from certwright.testkit.faults.simulation import (
        Campaign,
        Run,
        Scenario,
        SimulationFailed,
        simulate,
    )
    from certwright.testkit.faults.torture import (
        break_each_watch,
        crash_after_every_write,
        delay_each_event,
        drop_each_event,
        fail_every_request,
        lose_every_answer,
        refuse_every_write,
        repeat_each_event,
        stale_restart,
        survives,
    )
    from certwright.testkit.real import RealCluster
    from certwright.testkit.time.virtual import VirtualClock, VirtualLoop

__all__ = [
    "At",
    "Calls",
    "Campaign",
    "Cluster",
    "DidNotSettle",
    "EmbeddedCluster",
    "Plan",
    "RealCluster",
    "Run",
    "Scenario",
    "SimulationFailed",
    "Storm",
    "VirtualClock",
    "VirtualLoop",
    "break_each_watch",
    "crash_after_every_write",
    "delay_each_event",
    "drop_each_event",
    "fail_every_request",
    "lose_every_answer",
    "refuse_every_write",
    "repeat_each_event",
    "simulate",
    "stale_restart",
    "survives",
]

_HOMES = {
    "calls": ("Calls",),
    "cluster": ("Cluster", "DidNotSettle"),
    "embedded": ("EmbeddedCluster",),
    "faults.faults": ("At", "Plan", "Storm"),
    "real": ("RealCluster",),
    "faults.simulation": ("Campaign", "Run", "Scenario", "SimulationFailed", "simulate"),
    "faults.torture": (
        "break_each_watch", "crash_after_every_write", "delay_each_event", "drop_each_event",
        "fail_every_request", "lose_every_answer", "refuse_every_write", "repeat_each_event",
        "stale_restart", "survives",
    ),
    "time.virtual": ("VirtualClock", "VirtualLoop"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
