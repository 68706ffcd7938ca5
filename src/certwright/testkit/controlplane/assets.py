"""Where the binaries of the real control plane come from.

In this order: the folder named by ``KUBEBUILDER_ASSETS`` (the convention of the ecosystem),
the cache folder of the user, a build from Go modules. The cache is keyed by a digest of all
inputs of the build, so another pinned version never runs stale binaries.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from certwright.testkit.controlplane.errors import AssetsMissing
from certwright.testkit.controlplane.gobuild import GoBuild, Progress

_MODULES = Path(__file__).parent / "modules"


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


def kubernetes_version() -> str:
    """Return the pinned version of Kubernetes, such as ``1.36.3``."""
    pinned = re.search(r"k8s\.io/kubernetes v(\S+)", (_MODULES / "go.mod").read_text("utf-8"))
    assert pinned, "modules/go.mod pins no k8s.io/kubernetes"
    return pinned[1]


def control_plane_build() -> GoBuild:
    """Describe the build of the pinned control plane."""
    version = kubernetes_version()
    major, minor, _ = version.split(".")
    package = "k8s.io/component-base/version"
    return GoBuild(
        title=f"the Kubernetes {version} control plane",
        name="controlplane",
        version=version,
        source=_MODULES,
        files=("go.mod", "go.sum"),
        packages={
            "etcd": "go.etcd.io/etcd/server/v3",
            "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
            "kubectl": "k8s.io/kubernetes/cmd/kubectl",
            "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
        },
        linker_flags=(
            f"-s -w -X {package}.gitVersion=v{version} -X {package}.gitMajor={major}"
            f" -X {package}.gitMinor={minor}"
        ),
        effort="five to ten minutes on two cores",
        alternative=(
            ", or point KUBEBUILDER_ASSETS at a folder with etcd, kube-apiserver,"
            " kube-controller-manager and kubectl"
        ),
    )


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
