"""Stand-ins for what else lives in a cluster, usable on the embedded and on the real server.

They are ordinary controllers: a manager runs them, and they write what kube-controller-manager
would write into the status of workloads, or cert-manager's approver into requests. `pods` makes
pods, too, where nothing else does, and `claims` lets unused PersistentVolumeClaims go.
"""

from certwright.testkit.actors.approver import approver
from certwright.testkit.actors.pods import ANNOTATION
from certwright.testkit.actors.workloads import workload_controllers

__all__ = ["ANNOTATION", "approver", "workload_controllers"]
