"""Logins that stand in the configuration or in files, kept current while files are rotated.

The HTTP transport asks before every request, and once a second that means one ``stat`` per
file: rotated tokens and certificates are in use a second later, without timer or restart.
"""

import base64
import os
from collections.abc import Mapping
from pathlib import Path

from certwright.client.config.config import Config, Material, User
from certwright.client.config.credentials import Credentials, Login, bearer
from certwright.client.config.execplugin import ExecCredentials
from certwright.client.errors import CredentialError
from certwright.clock import Clock

_FILE_LIMIT = 2**20
_LOOK_EVERY_SECONDS = 1.0


def credentials_for(config: Config, clock: Clock, environ: Mapping[str, str]) -> Credentials:
    """Return the source of logins that a configuration asks for.

    A token or a password in the same entry takes precedence over an exec plugin.
    """
    user = config.user
    if user.exec is not None and not (user.token or user.token_file or user.username):
        return ExecCredentials(user.exec, config.source, clock, environ)
    return StoredCredentials(config, clock)


class WatchedFile:
    """PEM or token text that may be replaced at any time; read again when ``stat`` differs."""

    def __init__(self, material: Material, clock: Clock) -> None:
        self._path = "" if material.data else material.path
        self._clock = clock
        self._looked_at = float("-inf")
        self._content = material.data
        self._mark: tuple[int, int, int] | None = None

    def read(self, *, now: bool = False) -> bytes:
        """Return the content; the same object as long as the file does not change.

        A file that is missing for a moment, as during rotation, keeps its last content.
        Looks at most once a second, unless it has to be *now*.
        """
        if not self._path:
            return self._content
        instant = self._clock.monotonic()
        if instant - self._looked_at < _LOOK_EVERY_SECONDS and not now:
            return self._content
        try:
            stat = os.stat(self._path)  # noqa: PTH116 - Path.stat costs four times as much
            mark = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if mark != self._mark:
                with Path(self._path).open("rb") as file:
                    self._content = file.read(_FILE_LIMIT)
                self._mark = mark
            self._looked_at = instant
        except OSError as error:
            if self._mark is None:
                raise CredentialError(
                    f"{self._path} cannot be read ({error.strerror}); "
                    "restore the file, or correct its path in the configuration"
                ) from error
        return self._content


class StoredCredentials:
    """Logins from the configuration itself and from the files it names."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self._user = config.user
        self._source = config.source
        self._token = WatchedFile(Material(path=config.user.token_file), clock)
        self._certificate = WatchedFile(config.user.certificate, clock)
        self._key = WatchedFile(config.user.key, clock)
        self._seen: tuple[bytes, bytes, bytes] | None = None
        self._login = Login()

    async def current(self) -> Login:
        """Return the login, made anew when one of its files changed."""
        return self._look()

    async def renew(self, rejected: Login) -> bool:
        """Look again: the files may have been rotated after the rejected request was built."""
        return self._look(now=True) is not rejected

    def _look(self, *, now: bool = False) -> Login:
        token, certificate, key = (
            self._token.read(now=now),
            self._certificate.read(now=now),
            self._key.read(now=now),
        )
        seen = self._seen
        if seen is not None and seen[0] is token and seen[1] is certificate and seen[2] is key:
            return self._login
        self._login = Login(self._authorization(token), certificate, key)
        self._seen = (token, certificate, key)
        return self._login

    def _authorization(self, token_file: bytes) -> str:
        user = self._user
        if user.token_file:
            return bearer(token_file.decode(errors="replace") or user.token, user.token_file)
        if user.token:
            return bearer(user.token, self._source)
        return _basic(user) if user.username else ""


def _basic(user: User) -> str:
    pair = f"{user.username}:{user.password}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"
