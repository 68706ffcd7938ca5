"""marin3r, whose discovery service is built from its published module."""

import subprocess
from pathlib import Path
from typing import Any, Final

import yaml

from certwright.testkit.controlplane.gobuild import GoBuild

VERSION: Final = "0.13.0"
MODULE: Final = "github.com/3scale-ops/marin3r"
_BUILD: Final = GoBuild(
    title=f"marin3r {VERSION}",
    name="marin3r",
    version=VERSION,
    source=Path(__file__).parent,
    files=("go.mod", "go.sum", "tools.go"),
    packages={"marin3r": MODULE},
    linker_flags="-s -w",
    effort="two to three minutes on two cores",
    alternative="",
)
_DEFINITIONS: Final = ("envoyconfigs", "envoyconfigrevisions")


def marin3r() -> Path:
    """Return the binary, built the first time.

    Raises:
        AssetsMissing: there is no Go.
        BuildFailed: it ended with an error.
    """
    return _BUILD.build() / "marin3r"


def definitions(environ: dict[str, str]) -> list[dict[str, Any]]:
    """Return the CustomResourceDefinitions that the module has for its discovery service."""
    answer = subprocess.run(
        [_BUILD.find_go(environ), "list", "-mod=readonly", "-m", "-f", "{{.Dir}}", MODULE],
        cwd=_BUILD.cache_folder(environ), env=environ, capture_output=True, text=True, check=True,
    )  # fmt: skip
    folder = Path(answer.stdout.strip()) / "config" / "crd" / "bases"
    return [
        yaml.safe_load((folder / f"marin3r.3scale.net_{name}.yaml").read_bytes())
        for name in _DEFINITIONS
    ]
