"""What can go wrong before the real control plane answers."""


class ControlPlaneError(RuntimeError):
    """The real control plane cannot be had; the message names the fix."""


class AssetsMissing(ControlPlaneError):
    """There are no binaries to run and no way to make them."""


class BuildFailed(ControlPlaneError):
    """Building the binaries from Go modules failed."""


class ComponentFailed(ControlPlaneError):
    """A component ended, or did not become ready in time."""
