"""The controllers of workloads and a played node: workloads run without anything that runs."""

from certwright.runtime import Controller
from certwright.testkit.actors.pods import played_node
from certwright.testkit.workloads import controller_manager


def workload_controllers(namespace: str = "") -> list[Controller]:
    """Return the controllers of workloads and of played pods, of one namespace or all."""
    return [*controller_manager(namespace), *played_node(namespace)]
