"""Credentials printed by a program: exec plugins as kubectl runs them.

The plugin runs without blocking the event loop, with a time limit and a bound on its output.
What it prints is never part of a message, except the last line of its stderr, which is where
plugins tell people what to do.
"""

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec
import orjson

from certwright.client.config.config import ExecPlugin, InteractiveMode
from certwright.client.config.credentials import Credentials, bearer
from certwright.client.errors import CredentialError
from certwright.clock import Clock

_log = logging.getLogger("certwright.client")

OUTPUT_LIMIT = 2**20
PATIENCE = timedelta(seconds=60)
"""How long a plugin may take; some wait for a person with a browser."""
_RENEWAL_PAUSE = timedelta(seconds=10)
_HINT_LIMIT = 300


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: datetime | None = None


class _Printed(msgspec.Struct, rename="camel"):
    api_version: str
    kind: str
    status: _Status


@dataclass(frozen=True, slots=True)
class ExecCredential:
    """What a plugin printed."""

    credentials: Credentials = field(repr=False)
    expires: datetime | None = None


async def run(
    plugin: ExecPlugin,
    where: str,
    environ: Mapping[str, str] = os.environ,
    patience: timedelta = PATIENCE,
) -> ExecCredential:
    """Run a plugin and return what it printed; `CredentialError` if that fails or takes long."""
    name = f"{where}: the exec plugin {plugin.command!r}"
    interactive = _is_interactive(plugin, name)
    try:
        process = await asyncio.create_subprocess_exec(
            plugin.command,
            *plugin.args,
            stdin=None if interactive else asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={**environ, **dict(plugin.env), "KUBERNETES_EXEC_INFO": _info(plugin, interactive)},
        )
    except OSError as error:
        hint = plugin.install_hint.strip() or "install it, or correct its path"
        raise CredentialError(f"{name} cannot be run ({error.strerror}): {hint}") from error
    try:
        async with asyncio.timeout(patience.total_seconds()), asyncio.TaskGroup() as group:
            output = group.create_task(_bounded(process.stdout))
            complaint = group.create_task(_bounded(process.stderr))
            code = await process.wait()
    except TimeoutError as error:
        raise CredentialError(
            f"{name} did not finish within {patience.total_seconds():g} s; "
            "run it by hand to see why"
        ) from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if code != 0:
        raise CredentialError(
            f"{name} failed with exit code {code}: {_last_line(complaint.result())}"
        )
    printed = output.result()
    if len(printed) > OUTPUT_LIMIT:
        raise CredentialError(
            f"{name} printed more than {OUTPUT_LIMIT} bytes, which is no ExecCredential; "
            "run it by hand to see why"
        )
    return parse(plugin, name, printed)


def parse(plugin: ExecPlugin, name: str, printed: bytes) -> ExecCredential:
    """Read the ``ExecCredential`` a plugin printed."""
    try:
        document = msgspec.json.decode(printed, type=_Printed)
    except msgspec.DecodeError as error:
        raise CredentialError(
            f"{name} did not print a usable ExecCredential: {error}; run it by hand to see why"
        ) from None
    if document.kind != "ExecCredential" or document.api_version != plugin.api_version:
        raise CredentialError(
            f"{name} printed {document.kind} of {document.api_version}, "
            f"not ExecCredential of {plugin.api_version}; align plugin and kubeconfig"
        )
    status = document.status
    if bool(status.client_certificate_data) != bool(status.client_key_data):
        raise CredentialError(
            f"{name} printed only one of client certificate and key; update or repair the plugin"
        )
    if not status.token and not status.client_certificate_data:
        raise CredentialError(
            f"{name} printed neither a token nor a client certificate; log in with it again"
        )
    expires = status.expiration_timestamp
    if expires is not None and expires.tzinfo is None:
        raise CredentialError(
            f"{name} printed an expirationTimestamp without a time zone; update or repair it"
        )
    credentials = Credentials(
        bearer(status.token, name) if status.token else "",
        status.client_certificate_data.encode(),
        status.client_key_data.encode(),
    )
    return ExecCredential(credentials, expires)


class ExecCredentials:
    """Credentials from a plugin; run again shortly before they expire, and after a 401.

    However many requests wait, the plugin runs once. Neither a server that rejects everything
    nor a plugin that fails or prints expired credentials becomes a fork loop: it rests for ten
    seconds, and meanwhile requests fail as the last run did.
    """

    def __init__(
        self, plugin: ExecPlugin, where: str, clock: Clock, environ: Mapping[str, str]
    ) -> None:
        self._plugin = plugin
        self._where = where
        self._clock = clock
        self._environ = environ
        self._held: ExecCredential | None = None
        self._due: datetime | None = None
        self._ran_at = float("-inf")
        self._failure = ""  # of the last run; empty if it succeeded
        self._running = asyncio.Lock()

    async def current(self) -> Credentials:
        """Return the credentials; run the plugin if there are none or they are about to expire."""
        held = self._held
        if held is not None and not self._is_due():
            return held.credentials
        async with self._running:
            if self._held is None:
                await self._run()
            elif self._is_due():
                await self._run_early(self._held)
            assert self._held is not None
            return self._held.credentials

    async def _run_early(self, held: ExecCredential) -> None:
        """Replace credentials before they expire; until then a failure is only logged."""
        try:
            await self._run()
        except CredentialError as error:
            now = self._clock.now()
            if held.expires is None or held.expires <= now:
                raise
            self._due = now + _RENEWAL_PAUSE
            _log.warning("credentials not renewed yet, the old ones are used meanwhile: %s", error)

    async def renew(self, rejected: Credentials) -> bool:
        """Run the plugin again, unless it ran a moment ago; return whether it helped."""
        async with self._running:
            if self._held is not None and self._held.credentials is not rejected:
                return True
            if self._rests() and not self._failure:
                return False
            await self._run()
            return True

    def _is_due(self) -> bool:
        return self._due is not None and self._clock.now() >= self._due

    def _rests(self) -> bool:
        return self._clock.monotonic() - self._ran_at < _RENEWAL_PAUSE.total_seconds()

    async def _run(self) -> None:
        if self._failure and self._rests():
            raise CredentialError(self._failure)
        try:
            found = await run(self._plugin, self._where, self._environ)
        except CredentialError as error:
            self._failure, self._ran_at = str(error), self._clock.monotonic()
            raise
        now = self._clock.now()
        self._held = found
        self._failure, self._ran_at = "", self._clock.monotonic()
        if found.expires is None:
            self._due = None
        else:  # credentials that arrive expired, by our clock, do not run it for every request
            self._due = max(renewal_time(found.expires, now), now + _RENEWAL_PAUSE)


def renewal_time(expires: datetime, now: datetime) -> datetime:
    """Return when to replace credentials: a minute early, or at nine tenths of a short life."""
    return expires - min(timedelta(minutes=1), max(expires - now, timedelta()) / 10)


def _is_interactive(plugin: ExecPlugin, name: str) -> bool:
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    if plugin.interactive_mode is InteractiveMode.ALWAYS and not has_terminal:
        raise CredentialError(
            f"{name} asks questions (interactiveMode Always) and there is no terminal; log in "
            "beforehand, or use credentials that need no dialogue"
        )
    return has_terminal and plugin.interactive_mode is not InteractiveMode.NEVER


def _info(plugin: ExecPlugin, interactive: bool) -> str:  # noqa: FBT001 - part of the document
    spec: dict[str, object] = {"interactive": interactive}
    if plugin.cluster_info is not None:
        spec["cluster"] = plugin.cluster_info
    document = {"apiVersion": plugin.api_version, "kind": "ExecCredential", "spec": spec}
    return orjson.dumps(document).decode()


async def _bounded(stream: asyncio.StreamReader | None) -> bytes:
    """Read to the end, keeping one byte more than the limit and dropping the rest."""
    assert stream is not None
    kept = bytearray()
    while chunk := await stream.read(2**16):
        kept += chunk[: OUTPUT_LIMIT + 1 - len(kept)]
    return bytes(kept)


def _last_line(complaint: bytes) -> str:
    lines = complaint.decode(errors="replace").strip().splitlines()
    return lines[-1][:_HINT_LIMIT] if lines else "it printed no reason; run it by hand to see why"
