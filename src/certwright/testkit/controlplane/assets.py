"""Where the binaries of the real control plane come from.

In this order: the folder named by ``KUBEBUILDER_ASSETS`` (the convention of the ecosystem),
the cache folder of the user, a build from Go modules. The cache is keyed by a digest of all
inputs of the build, so another pinned version never runs stale binaries.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from certwright.testkit.controlplane.build import control_plane_build
from certwright.testkit.controlplane.errors import AssetsMissing
from certwright.testkit.controlplane.gobuild import Progress


@dataclass(frozen=True, slots=True)
class Assets:
    """The binaries to run, and where they were found."""

    folder: Path
    source: str
    """``KUBEBUILDER_ASSETS``, ``cache`` or ``build``."""

    @property
    def etcd(self) -> Path:
        """The store of the API server."""
        return self.folder / "etcd"

    @property
    def apiserver(self) -> Path:
        """The API server."""
        return self.folder / "kube-apiserver"

    @property
    def controller_manager(self) -> Path:
        """The controllers of Kubernetes itself."""
        return self.folder / "kube-controller-manager"

    @property
    def kubectl(self) -> Path:
        """The command-line client."""
        return self.folder / "kubectl"


def find_assets(environ: Mapping[str, str] = os.environ) -> Assets | None:
    """Return binaries that are already there, or None.

    Raises:
        AssetsMissing: ``KUBEBUILDER_ASSETS`` is set and incomplete. Falling back silently
            would test another version than the one asked for.
    """
    build = control_plane_build()
    if named := environ.get("KUBEBUILDER_ASSETS"):
        folder = Path(named)
        if missing := build.missing(folder):
            raise AssetsMissing(
                f"KUBEBUILDER_ASSETS is {named}, but {', '.join(missing)} is not in it;"
                " unset it to use the cached or built binaries, or complete the folder"
            )
        return Assets(folder, "KUBEBUILDER_ASSETS")
    folder = build.cache_folder(environ) / "bin"
    return None if build.missing(folder) else Assets(folder, "cache")


def obtain_assets(environ: Mapping[str, str] = os.environ, progress: Progress = print) -> Assets:
    """Return binaries, building them if need be; *progress* gets a line per step."""
    if found := find_assets(environ):
        return found
    return Assets(control_plane_build().build(environ, progress), "build")


if __name__ == "__main__":
    print(obtain_assets().folder)  # noqa: T201 - `make test-real` shows the build's progress
