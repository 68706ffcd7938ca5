"""Credentials of a request, kept current while files are rotated.

The HTTP transport asks before every request, and once a second that means one ``stat`` per
file: rotated tokens and certificates are in use a second later, without timer or restart.
"""

import base64
import logging
import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from certwright.client.config.config import Config, Material
from certwright.client.errors import CredentialError
from certwright.client.http.errors import InvalidMaterial
from certwright.client.http.tls import client_context, identify
from certwright.clock import Clock

_log = logging.getLogger("certwright.client")

_FILE_LIMIT = 2**20
_CHECK_SECONDS = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Credentials:
    """What one request authenticates with. Compared by identity: a new one is a change."""

    authorization: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


class CredentialSource(Protocol):
    """Where credentials come from. Raises `CredentialError` if there are none."""

    async def current(self) -> Credentials:
        """Return the credentials to use now; the same object while nothing changes."""
        ...

    async def renew(self, rejected: Credentials) -> bool:
        """Try to replace credentials that the server rejected; return whether that worked."""
        ...


def bearer(token: str, where: str) -> str:
    """Return the Authorization header for a token; `CredentialError` if it cannot be sent so."""
    token = token.strip()
    if not token:
        raise CredentialError(f"{where}: the token is empty; log in again")
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise CredentialError(
            f"{where}: the token holds characters that cannot be sent; is it encoded or encrypted?"
        )
    return f"Bearer {token}"


class WatchedFile:
    """PEM or token text that may be replaced at any time; read again when ``stat`` differs."""

    def __init__(self, material: Material, clock: Clock) -> None:
        self._path = "" if material.data else material.path
        self._clock = clock
        self._checked_at = float("-inf")
        self._content = material.data
        self._mark: tuple[int, int, int] | None = None

    def read(self, *, now: bool = False) -> bytes:
        """Return the content; the same object as long as the file does not change.

        A file that is missing for a moment, as during rotation, keeps its last content. The
        file system is asked at most once a second, unless *now* is set.
        """
        if not self._path:
            return self._content
        instant = self._clock.monotonic()
        if instant - self._checked_at < _CHECK_SECONDS and not now:
            return self._content
        try:
            stat = os.stat(self._path)  # noqa: PTH116 - Path.stat costs four times as much
            mark = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if mark != self._mark:
                with Path(self._path).open("rb") as file:
                    self._content = file.read(_FILE_LIMIT)
                self._mark = mark
            self._checked_at = instant
        except OSError as error:
            if self._mark is None:
                raise CredentialError(
                    f"{self._path} cannot be read ({error.strerror}); "
                    "restore the file, or correct its path in the configuration"
                ) from error
        return self._content


class StoredCredentials:
    """Credentials from the configuration itself and from the files it names."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self._user = config.user
        self._source = config.source
        self._token = WatchedFile(Material(path=config.user.token_file), clock)
        self._certificate = WatchedFile(config.user.certificate, clock)
        self._key = WatchedFile(config.user.key, clock)
        self._seen: tuple[bytes, bytes, bytes] | None = None
        self._credentials = Credentials()

    async def current(self) -> Credentials:
        """Return the credentials, made anew when one of their files changed."""
        return self._read()

    async def renew(self, rejected: Credentials) -> bool:
        """Read the files now: they may have been rotated after the request was built."""
        return self._read(now=True) is not rejected

    def _read(self, *, now: bool = False) -> Credentials:
        token, certificate, key = (
            self._token.read(now=now),
            self._certificate.read(now=now),
            self._key.read(now=now),
        )
        seen = self._seen
        if seen is not None and seen[0] is token and seen[1] is certificate and seen[2] is key:
            return self._credentials
        self._credentials = Credentials(self._authorization(token), certificate, key)
        self._seen = (token, certificate, key)
        return self._credentials

    def _authorization(self, token_file: bytes) -> str:
        user = self._user
        if user.token_file:
            return bearer(token_file.decode(errors="replace") or user.token, user.token_file)
        if user.token:
            return bearer(user.token, self._source)
        pair = f"{user.username}:{user.password}".encode()
        return f"Basic {base64.b64encode(pair).decode()}" if user.username else ""


class TlsContexts:
    """Gives the TLS context for credentials, rebuilt when authorities or credentials change.

    The authorities' file is checked like credentials, at most once a second; connections made with
    an older context live on until they are idle. Material that does not fit together, such as a new
    certificate whose key is not there yet, is logged once and the last good context stays in use.
    """

    def __init__(self, config: Config, clock: Clock) -> None:
        self._config = config
        self._ca = WatchedFile(config.ca, clock)
        self._tried: tuple[bytes, bytes, bytes] | None = None
        self._context: ssl.SSLContext | None = None

    def context(self, credentials: Credentials) -> ssl.SSLContext:
        """Return the context to connect with."""
        wanted = (self._ca.read(), credentials.certificate, credentials.key)
        if self._context is not None and wanted == self._tried:
            return self._context
        try:
            self._context = self._build(*wanted)
        except CredentialError as error:
            if self._context is None:
                raise
            _log.warning("changed TLS material cannot be used, keeping the old: %s", error)
        self._tried = wanted
        return self._context

    def _build(self, ca: bytes, certificate: bytes, key: bytes) -> ssl.SSLContext:
        config = self._config
        try:
            context = client_context(None if config.insecure_skip_tls_verify else ca)
        except InvalidMaterial as error:
            raise CredentialError(
                f"{config.ca.path or config.source}: the certificate authority is not PEM; "
                "put the cluster's CA certificate there"
            ) from error
        if certificate:
            try:
                identify(context, certificate, key)
            except InvalidMaterial as error:
                raise CredentialError(
                    f"{config.user.certificate.path or config.source}: client certificate and key "
                    f"cannot be used ({error}); they must be PEM, unencrypted and belong together"
                ) from error
        return context
