"""Which nodes pods run on."""

from copy import deepcopy

from certwright.operators.certmanager.overlays.bundlecopy import BundleCopy, ComponentObjects, child
from certwright.operators.certmanager.request import InstallRequest


def placement(copy: BundleCopy, request: InstallRequest) -> None:
    """Set selectors of nodes, tolerations, affinity, spread, priority and runtime class."""
    for one in copy.components():
        _placement(one, request)


def _placement(one: ComponentObjects, request: InstallRequest) -> None:
    wanted, pod = one.wanted, one.pod
    nodes = {**request.node_selector, **(wanted.node_selector or {})}
    if nodes:
        child(pod, "nodeSelector").update(nodes)
    tolerations = [*request.tolerations, *wanted.tolerations]
    if tolerations:
        pod["tolerations"] = deepcopy(tolerations)
    if wanted.affinity:
        pod["affinity"] = deepcopy(wanted.affinity)
    if wanted.topology_spread_constraints:
        pod["topologySpreadConstraints"] = deepcopy(list(wanted.topology_spread_constraints))
    if priority := wanted.priority_class_name or request.priority_class_name:
        pod["priorityClassName"] = priority
    if runtime := wanted.runtime_class_name or request.runtime_class_name:
        pod["runtimeClassName"] = runtime
