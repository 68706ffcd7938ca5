"""Stand-ins for what else lives in a cluster, usable on the embedded and on the real server."""

from certwright.testkit.actors.approver import approver
from certwright.testkit.actors.workloads import ANNOTATION, Fate, workload_controllers

__all__ = ["ANNOTATION", "Fate", "approver", "workload_controllers"]
