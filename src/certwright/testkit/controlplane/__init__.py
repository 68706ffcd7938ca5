"""The real control plane, for tests, benchmarks and ``certwright up --real``.

Binaries are found or built once from Go modules (`assets`, `gobuild`); `control_plane` starts etcd,
kube-apiserver and kube-controller-manager in a folder of their own and gives a kubeconfig to reach
them. They end with the context, or with the process that started them (`guard`).
"""

from certwright.testkit.controlplane.assets import find_assets, obtain_assets
from certwright.testkit.controlplane.controlplane import ControlPlane, control_plane
from certwright.testkit.controlplane.errors import AssetsMissing, ControlPlaneError

__all__ = [
    "AssetsMissing",
    "ControlPlane",
    "ControlPlaneError",
    "control_plane",
    "find_assets",
    "obtain_assets",
]
