"""Warns of Envoys that are older than the schema: they may reject what it lets through."""

import asyncio
import re
from collections.abc import Iterable
from typing import Final

import structlog

from certwright.xds.observations import Connections, ShownCertificate

GATHER_SECONDS: Final = 5.0
"""How long changes are gathered before Envoys are looked at."""
_VERSION: Final = re.compile(r"(\d{1,6})\.(\d{1,6})")
_MOST_REMEMBERED: Final = 100

_log = structlog.get_logger()


def release_of(text: str) -> tuple[int, int] | None:
    """Return the release that a version belongs to: fields come with releases, not with fixes."""
    found = _VERSION.search(text)
    return (int(found[1]), int(found[2])) if found else None


def older_envoys(shown: Iterable[ShownCertificate], schema: str) -> dict[str, ShownCertificate]:
    """Return one Envoy of each version that is older than that of a schema."""
    wanted = release_of(schema)
    found: dict[str, ShownCertificate] = {}
    for one in shown:
        release = release_of(one.user_agent)
        if wanted is not None and release is not None and release < wanted:
            found.setdefault(one.user_agent, one)
    return found


class OlderEnvoys:
    """Says once of each version that it is older than the schema, and what to do."""

    def __init__(self, connections: Connections, schema: str) -> None:
        self._connections = connections
        self._schema = schema
        self._told: set[str] = set()
        self._wake = asyncio.Event()
        connections.listen(lambda _node: self._wake.set(), verdicts=False)

    async def run(self) -> None:
        """Look at who connects, until cancelled."""
        while True:
            await self._wake.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._wake.clear()
            self.look()

    def look(self) -> None:
        """Look at who is connected now."""
        for version, one in older_envoys(self._connections.shown(), self._schema).items():
            if version in self._told or len(self._told) >= _MOST_REMEMBERED:
                continue
            self._told.add(version)
            _log.warning(
                "an Envoy is older than the schema and may reject what is published; update it,"
                " or make the schema from it: certwright xds schema --envoy PATH",
                envoy=str(one.node),
                peer=one.peer,
                version=version[:100],
                schema=self._schema,
            )
