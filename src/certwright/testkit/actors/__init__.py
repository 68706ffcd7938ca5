"""Stand-ins for what else lives in a cluster, usable on the embedded and on the real server."""

from certwright.testkit.actors.approver import approver
from certwright.testkit.actors.workloads import ANNOTATION, WorkloadResult, workload_controllers

__all__ = ["ANNOTATION", "WorkloadResult", "approver", "workload_controllers"]
