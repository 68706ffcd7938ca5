"""What ``certwright up`` keeps from one start to the next: a folder of its own.

A lock in it dies with the process, so a folder is used by one at a time, and one that was left
behind is used again. Objects are written when they have changed, and at the end. They are stored
as the server has them, Secrets included: only their owner may read the folder.
"""

import asyncio
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import orjson
from msgspec import Struct

from certwright.apiserver import ApiServer
from certwright.cli.errors import UsageError
from certwright.kube import JsonObject

_SAVE_SECONDS: Final = 2.0
_TRANSIENT: Final = frozenset({"Event", "Lease"})


class SavedState(Struct, forbid_unknown_fields=True):
    """The contents of the file."""

    port: int = 0
    revision: int = 0
    objects: list[JsonObject] = []


class StateFolder:
    """A folder that this process has for itself."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def kubeconfig(self) -> Path:
        """Where the kubeconfig is, each time."""
        return self.path / "kubeconfig"

    @property
    def _file(self) -> Path:
        return self.path / "state.json"

    def load(self) -> SavedState:
        """Return what was kept; nothing if the folder is new."""
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=SavedState)
        except FileNotFoundError:
            return SavedState()
        except (OSError, msgspec.DecodeError) as error:
            raise UsageError(
                f"--state: {self._file} cannot be read: {error}; remove it to start anew"
            ) from None

    def save(self, server: ApiServer, port: int) -> None:
        """Write all objects that are worth keeping; a write that is cut short changes nothing."""
        kept = [obj for obj in server.objects() if obj.get("kind") not in _TRANSIENT]
        state = {"port": port, "revision": int(server.resource_version), "objects": kept}
        partial = self.path / "state.json.partial"
        with os.fdopen(
            os.open(partial, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb"
        ) as file:
            file.write(orjson.dumps(state))
        partial.replace(self._file)

    async def keep(self, server: ApiServer, port: int) -> None:
        """Save whenever something has changed, until cancelled."""
        saved = ""
        while True:
            if saved != (saved := server.resource_version):
                self.save(server, port)
            await asyncio.sleep(_SAVE_SECONDS)


@contextmanager
def state_folder(path: Path) -> Iterator[StateFolder]:
    """Make a folder that stays, unless it is there, and lock it."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _locked(path) as locked:
            if not locked:
                raise UsageError(f"--state: {path} is in use by another certwright up")
            yield StateFolder(path)
    except OSError as error:
        raise UsageError(f"--state: cannot use {path}: {error.strerror}") from error


@contextmanager
def passing_folder() -> Iterator[StateFolder]:
    """Make a folder that is removed at the end, at the same place each time if it is free."""
    usual = Path(tempfile.gettempdir()) / f"certwright-up-{os.getuid()}"
    if _is_ours(usual):
        with _locked(usual) as locked:
            if locked:
                try:
                    yield StateFolder(usual)
                finally:
                    shutil.rmtree(usual, ignore_errors=True)
                return
    with tempfile.TemporaryDirectory(prefix="certwright-up-") as other:
        yield StateFolder(Path(other))


def _is_ours(path: Path) -> bool:
    """Return whether a folder was made now, or earlier by this user for this user alone."""
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        found = path.lstat()
        return found.st_uid == os.getuid() and found.st_mode & 0o170777 == 0o040700
    except OSError:
        return False
    return True


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Hold the lock of a folder; yield whether this process has it, and it was not removed."""
    descriptor = os.open(folder / "lock", os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield os.fstat(descriptor).st_nlink > 0
    finally:
        os.close(descriptor)
