"""A node that runs pods as processes of this machine, without containers and without root.

A pod of the API enters; processes, files and ports of 127.0.0.1 come of it, and its status and
events go back to the API as kubelet writes them. `node` takes pods, `scheduler` binds them,
`worker` runs one: it gathers facts, lets `pod.plan` decide, and carries that out with `containers`
and `mounts`. It works the same on the embedded server and on a real one.
"""

from certwright.testkit.node.embedded import server_with_node
from certwright.testkit.node.node import local_node
from certwright.testkit.node.plane import control_plane_with_node
from certwright.testkit.node.process.images import LOCAL, STUB, Program
from certwright.testkit.node.services import NodeSettings

__all__ = [
    "LOCAL",
    "STUB",
    "NodeSettings",
    "Program",
    "control_plane_with_node",
    "local_node",
    "server_with_node",
]
