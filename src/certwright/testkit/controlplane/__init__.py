"""The real control plane, for tests, benchmarks and ``certwright up --real``."""

from certwright.testkit.controlplane.assets import Assets, find_assets, obtain_assets
from certwright.testkit.controlplane.controlplane import ControlPlane, control_plane
from certwright.testkit.controlplane.errors import (
    AssetsMissing,
    BuildFailed,
    ComponentFailed,
    ControlPlaneError,
)

__all__ = [
    "Assets",
    "AssetsMissing",
    "BuildFailed",
    "ComponentFailed",
    "ControlPlane",
    "ControlPlaneError",
    "control_plane",
    "find_assets",
    "obtain_assets",
]
