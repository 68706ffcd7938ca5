"""The Go module in which a version of cert-manager is published: fetched, and checked.

Go brings the module as an archive, from the proxy that is configured or from its cache. The sum is
computed here, over the archive that is then read: what lies unpacked in the cache may have been
changed since.
"""

import base64
import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from certwright.bundles.catalogue import VersionFacts
from certwright.bundles.errors import BuildError, ModuleUnavailable, ToolMissing
from certwright.bundles.tools import GO

_FETCH_SECONDS: Final = 600.0
_MOST_FILES: Final = 20_000
_MOST_UNPACKED: Final = 500 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ModuleArchive:
    """An archive whose sum was checked."""

    path: Path
    prefix: str
    """How the names of all files in it begin: ``module@version/``."""

    def read(self, folder: str) -> dict[str, bytes]:
        """Return the files below a folder, by their path in it."""
        begin = f"{self.prefix}{folder}/"
        with zipfile.ZipFile(self.path) as archive:
            names = [name for name in archive.namelist() if name.startswith(begin)]
            return {name.removeprefix(begin): archive.read(name) for name in names if _plain(name)}


def fetch(facts: VersionFacts, environ: Mapping[str, str] = os.environ) -> ModuleArchive:
    """Return the module of a version, downloaded if Go's cache does not have it.

    Raises:
        ToolMissing: there is no Go.
        ModuleUnavailable: it cannot be fetched.
        BuildError: it is not what was pinned.
    """
    wanted = f"{facts.module}@{facts.version}"
    path = _download(wanted, facts.module, environ)
    try:
        found = module_sum(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise BuildError(f"{path} cannot be read: {error}; run: go clean -modcache") from error
    if found != facts.sum:
        raise BuildError(
            f"{path} is not {wanted} as it was published: its sum is {found} instead of"
            f" {facts.sum}; run: go clean -modcache, and look at GOPROXY if that does not help"
        )
    return ModuleArchive(path, f"{wanted}/")


def module_sum(path: Path) -> str:
    """Return the sum of an archive as ``go.sum`` has it, of the kind ``h1:``."""
    total = hashlib.sha256()
    with zipfile.ZipFile(path) as archive:
        entries = sorted(archive.infolist(), key=lambda entry: entry.filename)
        size = sum(entry.file_size for entry in entries)
        if len(entries) > _MOST_FILES or size > _MOST_UNPACKED:
            raise BuildError(f"{path}: {len(entries)} files, {size} bytes are too many")
        for entry in entries:
            content = hashlib.sha256(archive.read(entry)).hexdigest()
            total.update(f"{content}  {entry.filename}\n".encode())
    return f"h1:{base64.b64encode(total.digest()).decode()}"


def _download(wanted: str, module: str, environ: Mapping[str, str]) -> Path:
    unchecked = ",".join(filter(None, [environ.get("GONOSUMDB"), module]))
    settings = {
        **environ,
        "GO111MODULE": "on",
        "GOFLAGS": "",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        # The sum is pinned here: asking the public database for it would need the network.
        "GONOSUMDB": unchecked,
    }
    with tempfile.TemporaryDirectory(prefix="certwright-") as folder:
        try:
            answer = GO.run(
                ["mod", "download", "-json", wanted],
                folder=Path(folder), environ=settings, seconds=_FETCH_SECONDS,
            )  # fmt: skip
        except ToolMissing:
            raise
        except BuildError as error:
            problem = f"{error}; without a network, set GOPROXY to a mirror, or GOMODCACHE to a"
            raise ModuleUnavailable(f"{wanted}: {problem} cache that has it") from None
    try:
        return Path(json.loads(answer)["Zip"])
    except (ValueError, KeyError, TypeError):
        raise BuildError(f"{wanted}: Go does not say where it put the module") from None


def _plain(name: str) -> bool:
    """Return whether an entry is a file that stays in its folder."""
    return not name.endswith("/") and ".." not in PurePosixPath(name).parts
