"""Where the binaries of the real cert-manager come from: the user's cache, or a build.

The mains are ours (``modules/controller``, ``webhook``, ``cainjector``); everything else is the
published module of cert-manager, which each folder of ``modules/versions`` pins. It has modules of
its own, apart from the control plane's: together they would raise each other's dependencies, and
neither would be what was released.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from certwright.testkit.controlplane.gobuild import GoBuild, Progress

MODULE: Final = "github.com/cert-manager/cert-manager"
VERSIONS: Final = ("1.18.6", "1.19.5", "1.20.3", "1.21.2")
"""The versions that can be built, oldest first."""
LATEST: Final = VERSIONS[-1]
COMPONENTS: Final = ("controller", "webhook", "cainjector")

_SOURCE: Final = Path(__file__).parent / "modules"


@dataclass(frozen=True, slots=True)
class CertManagerAssets:
    """The binaries to run, and where they were found."""

    folder: Path
    source: str
    """``cache`` or ``build``."""
    version: str = LATEST

    @property
    def controller(self) -> Path:
        """The controllers that Certificates need."""
        return self.folder / "controller"

    @property
    def webhook(self) -> Path:
        """The admission webhook."""
        return self.folder / "webhook"

    @property
    def cainjector(self) -> Path:
        """The CA injector."""
        return self.folder / "cainjector"


def cert_manager_build(version: str = LATEST) -> GoBuild:
    """Describe the build of a pinned version of cert-manager."""
    return GoBuild(
        title=f"cert-manager {version}",
        name="certmanager",
        version=version,
        source=_SOURCE,
        files=("go.mod", "go.sum", "pod/pod.go", *(f"{one}/main.go" for one in COMPONENTS)),
        pins=_SOURCE / "versions" / version,
        packages={one: f"./{one}" for one in COMPONENTS},
        linker_flags="-s -w",
        effort="two to three minutes on two cores",
        alternative="",
    )


def find_cert_manager(
    environ: Mapping[str, str] = os.environ, version: str = LATEST
) -> CertManagerAssets | None:
    """Return binaries that are already there, or None."""
    build = cert_manager_build(version)
    folder = build.cache_folder(environ) / "bin"
    return None if build.missing(folder) else CertManagerAssets(folder, "cache", version)


def obtain_cert_manager(
    environ: Mapping[str, str] = os.environ, progress: Progress = print, version: str = LATEST
) -> CertManagerAssets:
    """Return binaries of a version, building them if need be; *progress* gets a line per step.

    Raises:
        AssetsMissing: there is no Go.
        BuildFailed: the build ended with an error.
    """
    if found := find_cert_manager(environ, version):
        return found
    folder = cert_manager_build(version).build(environ, progress)
    return CertManagerAssets(folder, "build", version)


if __name__ == "__main__":
    for wanted in sys.argv[1:] or [LATEST]:
        print(obtain_cert_manager(version=wanted).folder)  # noqa: T201 - shows the build's progress
