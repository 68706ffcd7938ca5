"""go-control-plane with a small main of ours: serves the snapshots that it reads as lines of JSON.

A line names a node and, by type, a version and the encoded messages of resources by their names;
it is answered with a line once the snapshot is served. The first line written says that the server
listens. The arguments are the port and the folder of certificates.
"""

from pathlib import Path
from typing import Final

from certwright.testkit.controlplane.gobuild import GoBuild

VERSION: Final = "0.14.0"
_BUILD: Final = GoBuild(
    title=f"go-control-plane {VERSION}",
    name="gocontrolplane",
    version=VERSION,
    source=Path(__file__).parent,
    files=("go.mod", "go.sum", "main.go"),
    packages={"gocontrolplane": "."},
    linker_flags="-s -w",
    effort="about a minute",
    alternative="",
)


def go_control_plane() -> Path:
    """Return the binary, built the first time.

    Raises:
        AssetsMissing: there is no Go.
        BuildFailed: it ended with an error.
    """
    return _BUILD.build() / "gocontrolplane"
