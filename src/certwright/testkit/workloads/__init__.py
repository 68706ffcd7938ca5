"""The workload controllers of Kubernetes, for servers that have none.

Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs enter; pods without a node leave, and
the status that kube-controller-manager would write. They are ordinary controllers: a manager runs
them, on the embedded and on the real server. What is decided is decided by pure functions over
what the stores hold (`rollout`, `deploymentstatus` …); the controllers act on it.
"""

from certwright.testkit.workloads.controllers import controller_manager

__all__ = ["controller_manager"]
