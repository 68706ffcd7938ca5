"""Where the binaries of the real cert-manager come from: the user's cache, or a build.

The mains are ours (``modules/controller``, ``modules/webhook``); everything else is the published
module of cert-manager. It has a module of its own, apart from the control plane's: together they
would raise each other's dependencies, and neither would be what was released.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from certwright.testkit.controlplane.gobuild import GoBuild, Progress

MODULE = "github.com/cert-manager/cert-manager"

_SOURCE = Path(__file__).parent / "modules"


@dataclass(frozen=True, slots=True)
class CertManagerAssets:
    """The binaries to run, and where they were found."""

    folder: Path
    source: str
    """``cache`` or ``build``."""

    @property
    def controller(self) -> Path:
        """The controllers that Certificates need."""
        return self.folder / "controller"

    @property
    def webhook(self) -> Path:
        """The admission webhook."""
        return self.folder / "webhook"


def cert_manager_version() -> str:
    """Return the pinned version of cert-manager, such as ``1.21.1``."""
    pinned = re.search(rf"{re.escape(MODULE)} v(\S+)", (_SOURCE / "go.mod").read_text("utf-8"))
    assert pinned, "modules/go.mod pins no cert-manager"
    return pinned[1]


def cert_manager_build() -> GoBuild:
    """Describe the build of the pinned cert-manager."""
    return GoBuild(
        title=f"cert-manager {cert_manager_version()}",
        name="certmanager",
        version=cert_manager_version(),
        source=_SOURCE,
        files=("go.mod", "go.sum", "controller/main.go", "webhook/main.go"),
        packages={"controller": "./controller", "webhook": "./webhook"},
        linker_flags="-s -w",
        effort="two to three minutes on two cores",
        alternative="",
    )


def find_cert_manager(environ: Mapping[str, str] = os.environ) -> CertManagerAssets | None:
    """Return binaries that are already there, or None."""
    build = cert_manager_build()
    folder = build.cache_folder(environ) / "bin"
    return None if build.missing(folder) else CertManagerAssets(folder, "cache")


def obtain_cert_manager(
    environ: Mapping[str, str] = os.environ, progress: Progress = print
) -> CertManagerAssets:
    """Return binaries, building them if need be; *progress* gets a line per step.

    Raises:
        AssetsMissing: there is no Go.
        BuildFailed: the build ended with an error.
    """
    if found := find_cert_manager(environ):
        return found
    return CertManagerAssets(cert_manager_build().build(environ, progress), "build")


if __name__ == "__main__":
    print(obtain_cert_manager().folder)  # noqa: T201 - `make test-real` shows the build's progress
