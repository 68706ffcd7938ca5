"""Files of a volume on disk, swapped as a whole as kubelet does it.

The files are in a folder with a timestamp as name; ``..data`` is a link to it, and what a program
sees are links through ``..data``. A new version becomes visible in one rename.
"""

import shutil
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from certwright.testkit.node.pod.volumes import FileContent

_DATA = "..data"


def project(folder: Path, files: Mapping[str, FileContent], now: datetime) -> bool:
    """Make a folder show these files and no others; return whether anything changed."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / _DATA
    if data.is_symlink() and _read(data) == dict(_plain(files)):
        return False
    version = Path(tempfile.mkdtemp(prefix=now.strftime("..%Y_%m_%d_%H_%M_%S."), dir=folder))
    version.chmod(0o755)
    for path, file in files.items():
        target = version / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(file.content)
        target.chmod(file.mode)
    old = data.readlink().name if data.is_symlink() else ""
    fresh = folder / "..data_tmp"
    fresh.symlink_to(version.name)
    fresh.rename(data)
    _link(folder, {path.partition("/")[0] for path in files})
    if old:
        shutil.rmtree(folder / old)
    return True


def _plain(files: Mapping[str, FileContent]) -> list[tuple[str, tuple[bytes, int]]]:
    return [(path, (file.content, file.mode)) for path, file in files.items()]


def _read(folder: Path) -> dict[str, tuple[bytes, int]]:
    found: dict[str, tuple[bytes, int]] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            mode = path.stat().st_mode & 0o777
            found[str(path.relative_to(folder))] = (path.read_bytes(), mode)
    return found


def _link(folder: Path, names: set[str]) -> None:
    """Link what the volume holds, and remove the links to what it no longer does."""
    for link in folder.iterdir():
        if not link.name.startswith("..") and link.name not in names:
            link.unlink()
    for name in names:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"{_DATA}/{name}")
