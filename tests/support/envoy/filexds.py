"""A real Envoy that reads clusters and listeners from files: thousands of tries in one process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from certwright.testkit.envoy import EnvoyMissing, RunningEnvoy, envoy, find_envoy
from certwright.xds.schema.descriptors import descriptors_in_binary
from certwright.xds.schema.schema import MessageSchema
from certwright.xds.schema.walk import Message

_RESPONSE = "envoy.service.discovery.v3.DiscoveryResponse"
_STATS = {
    "envoy.config.cluster.v3.Cluster": ("cds", "cluster_manager.cds"),
    "envoy.config.listener.v3.Listener": ("lds", "listener_manager.lds"),
}


def require_envoy() -> Path:
    """Return the Envoy of this machine; skip the test if there is none."""
    try:
        return find_envoy()
    except EnvoyMissing as missing:
        pytest.skip(str(missing))


def real_schema() -> MessageSchema:
    """Return the schema of the Envoy of this machine."""
    return MessageSchema(descriptors_in_binary(require_envoy()))


class FileFedEnvoy:
    """Gives an Envoy one resource at a time and sees whether it takes it."""

    def __init__(self, schema: MessageSchema, running: RunningEnvoy, folder: Path) -> None:
        self._schema = schema
        self._running = running
        self._folder = folder

    async def takes(self, message: Message) -> bool:
        """Return whether Envoy accepts a resource."""
        name = message.DESCRIPTOR.full_name
        file, prefix = _STATS[name]
        before = await self._counts(prefix)
        _write(self._schema, self._folder, file, [message])

        async def decided() -> bool:
            return sum((await self._counts(prefix)).values()) > sum(before.values())

        await self._running.until(decided)
        after = await self._counts(prefix)
        return after["update_success"] > before["update_success"]

    async def _counts(self, prefix: str) -> dict[str, int]:
        names = ("update_success", "update_rejected", "update_failure")
        stats = await self._running.admin.stats(f"^{prefix}.update_")
        return {name: stats.get(f"{prefix}.{name}", 0) for name in names}


def _write(schema: MessageSchema, folder: Path, file: str, messages: list[Message]) -> None:
    response = schema.parse(_RESPONSE, {})
    for one in messages:
        packed = response.resources.add()
        packed.type_url = f"type.googleapis.com/{one.DESCRIPTOR.full_name}"
        packed.value = one.SerializeToString()
    unfinished = folder / f"{file}.unfinished"
    unfinished.write_bytes(response.SerializeToString())
    unfinished.rename(folder / f"{file}.pb")


@asynccontextmanager
async def file_fed_envoy(schema: MessageSchema, folder: Path) -> AsyncIterator[FileFedEnvoy]:
    """Run an Envoy that reads clusters and listeners from files."""

    def source(file: str) -> dict[str, object]:
        _write(schema, folder, file, [])
        return {"path_config_source": {"path": str(folder / f"{file}.pb")}}

    bootstrap = {
        "node": {"id": "n", "cluster": "c"},
        "dynamic_resources": {"cds_config": source("cds"), "lds_config": source("lds")},
    }
    async with envoy(bootstrap, folder) as running:
        await running.until(running.admin.is_ready)
        yield FileFedEnvoy(schema, running, folder)
