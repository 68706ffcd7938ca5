"""The real control plane, for tests, benchmarks and ``certwright up --real``.

`GoBuild` and `running` serve others that build Go programs and run them the same way.
"""

from certwright.testkit.controlplane.assets import Assets, find_assets, obtain_assets
from certwright.testkit.controlplane.component import Component, free_ports, running
from certwright.testkit.controlplane.controlplane import ControlPlane, control_plane
from certwright.testkit.controlplane.errors import (
    AssetsMissing,
    BuildFailed,
    ComponentFailed,
    ControlPlaneError,
)
from certwright.testkit.controlplane.gobuild import GoBuild, Progress

__all__ = [
    "Assets",
    "AssetsMissing",
    "BuildFailed",
    "Component",
    "ComponentFailed",
    "ControlPlane",
    "ControlPlaneError",
    "GoBuild",
    "Progress",
    "control_plane",
    "find_assets",
    "free_ports",
    "obtain_assets",
    "running",
]
