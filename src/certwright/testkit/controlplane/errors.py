"""What can go wrong before the real control plane answers.

::

    ControlPlaneError            the base; the message says what to do
    ├── AssetsMissing            no binaries, and none can be built
    ├── BuildFailed              the Go build ended with an error; its log is named
    └── ComponentFailed          a process ended or never became ready; its log is named
"""


class ControlPlaneError(RuntimeError):
    """The real control plane cannot be had; the message names the fix."""


class AssetsMissing(ControlPlaneError):
    """There are no binaries to run and no way to make them."""


class BuildFailed(ControlPlaneError):
    """Building the binaries from Go modules failed."""


class ComponentFailed(ControlPlaneError):
    """A component ended, or did not become ready in time."""
