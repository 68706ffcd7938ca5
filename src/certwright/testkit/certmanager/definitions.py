"""The CustomResourceDefinitions that cert-manager publishes with its Go module.

Only the module itself is downloaded for them: they are to be had without a build.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import yaml

from certwright.kube import JsonObject
from certwright.testkit.certmanager.assets import MODULE, cert_manager_build
from certwright.testkit.controlplane.errors import BuildFailed
from certwright.testkit.controlplane.gobuild import Progress

DIGEST = "d0ff997cdd45daabc3fdbb849c83b4807709ce732c32ebdd5c1fe8e35f3d5390"
"""SHA-256 over the names and contents of the definitions, in the order of their names."""


def official_definitions(
    environ: Mapping[str, str] = os.environ, progress: Progress = print
) -> list[JsonObject]:
    """Return the definitions of the pinned version, downloading its module the first time.

    Raises:
        AssetsMissing: there is no Go to download it with.
        BuildFailed: it cannot be had, or is not what was pinned.
    """
    folder = cert_manager_build().cache_folder(environ) / "crds"
    if not folder.is_dir():
        _download(folder, environ, progress)
    if (found := digest_of(folder)) != DIGEST:
        raise BuildFailed(
            f"the definitions in {folder} are not those that were pinned (their digest is"
            f" {found}); remove the folder to have them downloaded again"
        )
    # libyaml where there is one: the definitions are a megabyte
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return [yaml.load(path.read_bytes(), loader) for path in _files(folder)]  # noqa: S506 - safe


def digest_of(folder: Path) -> str:
    """Return the digest of the definitions in a folder."""
    digest = hashlib.sha256()
    for path in _files(folder):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.name} {content}\n".encode())
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.yaml"))


def _download(target: Path, environ: Mapping[str, str], progress: Progress) -> None:
    build = cert_manager_build()
    with build.workshop(environ, progress) as folder:
        if target.is_dir():
            return
        progress(f"fetching the definitions of {build.title}")
        answer = subprocess.run(  # noqa: S603 - our own arguments
            [build.find_go(environ), "mod", "download", "-json", MODULE],
            cwd=folder, env={**environ, "GOTOOLCHAIN": "local"}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if answer.returncode:
            raise BuildFailed(f"{build.title} cannot be downloaded: {answer.stderr.strip()[-500:]}")
        published = Path(json.loads(answer.stdout)["Dir"]) / "deploy" / "crds"
        unfinished = folder / "unfinished" / "crds"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        for path in _files(published):
            shutil.copyfile(path, unfinished / path.name)
        unfinished.rename(target)  # atomic: the folder is complete once it has its name
