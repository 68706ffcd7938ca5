"""The definition of ManagedResource that Gardener publishes with its Go module.

It is in no package of ours: `go` downloads the module once (about 30 MB), one file of it is kept
in the cache folder of the user, and its digest is checked at every use.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from certwright.kube import JsonObject
from certwright.testkit.controlplane.errors import BuildFailed
from certwright.testkit.controlplane.gobuild import GoBuild, Progress

MODULE: Final = "github.com/gardener/gardener"
VERSION: Final = "1.149.3"
DIGEST: Final = "1d23e8ecfeaf311c4acc2358c4a8ff09c5fced4c09a6c2ce1fee229dbcd596a1"
"""SHA-256 of the file."""
_FILE: Final = "10-crd-resources.gardener.cloud_managedresources.yaml"


def gardener_definition(
    environ: Mapping[str, str] = os.environ, progress: Progress = print
) -> JsonObject:
    """Return the CustomResourceDefinition of the pinned version, downloaded the first time.

    Raises:
        AssetsMissing: there is no Go to download it with.
        BuildFailed: it cannot be had, or is not what was pinned.
    """
    path = _download().cache_folder(environ) / _FILE
    if not path.exists():
        _fetch(path, environ, progress)
    content = path.read_bytes()
    if (found := hashlib.sha256(content).hexdigest()) != DIGEST:
        raise BuildFailed(
            f"{path} is not the definition that was pinned (its digest is {found});"
            " remove it to have it downloaded again"
        )
    definition: JsonObject = yaml.safe_load(content)
    return definition


def _download() -> GoBuild:
    return GoBuild(
        title=f"Gardener {VERSION}'s definition of ManagedResource",
        name="gardener",
        version=VERSION,
        source=Path(__file__).parent,
        files=(),
        packages={},
        linker_flags="",
        effort="a quarter of a minute",
        alternative="",
    )


def _fetch(path: Path, environ: Mapping[str, str], progress: Progress) -> None:
    """Download the module into a folder of its own, keep one file, and remove the rest."""
    download = _download()
    with download.workshop(environ, progress) as folder:
        if path.exists():
            return
        go = download.find_go(environ)
        progress(f"fetching {download.title}")
        cache = folder / "modules"
        settings = {"GOTOOLCHAIN": "local", "GOMODCACHE": str(cache), "GOFLAGS": "-modcacherw"}
        try:
            answer = subprocess.run(  # noqa: S603 - our own arguments
                [go, "mod", "download", "-json", f"{MODULE}@v{VERSION}"],
                cwd=folder, env={**environ, **settings}, stdin=subprocess.DEVNULL,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if answer.returncode:
                why = answer.stderr.strip()[-500:]
                raise BuildFailed(f"{download.title} cannot be downloaded: {why}")
            published = Path(json.loads(answer.stdout)["Dir"]) / "example" / "seed-crds" / _FILE
            unfinished = folder / "unfinished"
            shutil.copyfile(published, unfinished)
            unfinished.rename(path)  # atomic: the file is complete once it has its name
        finally:
            shutil.rmtree(cache, ignore_errors=True)


if __name__ == "__main__":
    print(gardener_definition()["metadata"]["name"])  # noqa: T201 - `make test-real` shows it
