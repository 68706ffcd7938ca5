"""How the binaries of the real control plane are built."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from certwright.testkit.controlplane.gobuild import GoBuild

_MODULES = Path(__file__).parent / "modules"


def kubernetes_version() -> str:
    """Return the pinned version of Kubernetes, such as ``1.36.3``."""
    pinned = re.search(r"k8s\.io/kubernetes v(\S+)", (_MODULES / "go.mod").read_text("utf-8"))
    assert pinned, "modules/go.mod pins no k8s.io/kubernetes"
    return pinned[1]


def control_plane_build() -> GoBuild:
    """Describe the build of the pinned control plane."""
    return GoBuild(
        title=f"the Kubernetes {kubernetes_version()} control plane",
        name="controlplane",
        version=kubernetes_version(),
        source=_MODULES,
        files=("go.mod", "go.sum"),
        packages={
            "etcd": "go.etcd.io/etcd/server/v3",
            "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
            "kubectl": "k8s.io/kubernetes/cmd/kubectl",
            "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
        },
        linker_flags=_linker_flags(),
        effort="five to ten minutes on two cores",
        alternative=(
            ", or point KUBEBUILDER_ASSETS at a folder with etcd, kube-apiserver,"
            " kube-controller-manager and kubectl"
        ),
    )


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for binaries of exactly the pinned inputs; it may not exist yet."""
    return control_plane_build().cache_folder(environ)


def _linker_flags() -> str:
    version = kubernetes_version()
    major, minor, _ = version.split(".")
    package = "k8s.io/component-base/version"
    return (
        f"-s -w -X {package}.gitVersion=v{version} -X {package}.gitMajor={major}"
        f" -X {package}.gitMinor={minor}"
    )
