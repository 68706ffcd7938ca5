"""The discovery server by itself: serves the snapshots that it reads as lines of JSON.

Arguments: the folder of certificates, and whether stalls of the event loop are to be watched, which
keeps it from resting. Writes the port when it listens, and a line for each snapshot: the stalls
since the one before.
"""

import asyncio
import base64
import json
import sys
from pathlib import Path

from bench.meter import Stalls
from certwright.clock import SYSTEM
from certwright.runtime import ListenAddress, Metrics, configure_logs, new_event_loop
from certwright.runtime.process.memory import release_memory
from certwright.tls.directory import CertificateDirectory, DirectoryFollower
from certwright.tls.server import ServingCertificate
from certwright.xds.metrics import XdsMetrics
from certwright.xds.server import XdsServer, xds_profile
from certwright.xds.snapshot import NodeKey, NodeSnapshot, ResourceSet, resource
from certwright.xds.store import SnapshotStore

NAMESPACE = "bench"


def read_snapshot(line: str) -> tuple[NodeKey, NodeSnapshot]:
    """Return what a line says, as go-control-plane reads it too."""
    wanted = json.loads(line)
    sets = [
        ResourceSet(
            url,
            [
                resource(url, name, base64.b64decode(text))
                for name, text in one["resources"].items()
            ],
            one["version"],
        )
        for url, one in wanted["types"].items()
    ]
    return NodeKey(NAMESPACE, wanted["node"]), NodeSnapshot(sets)


async def main(folder: Path, *, watch: bool) -> None:
    snapshots, stalls = SnapshotStore(), Stalls()
    metrics = XdsMetrics(Metrics())
    certificate = ServingCertificate(SYSTEM, metrics, xds_profile())
    authority = str((folder / "ca" / "tls.crt").absolute())
    source = CertificateDirectory(folder / "server", client_authority=authority)
    follower = DirectoryFollower(source, certificate)
    server = XdsServer(snapshots, certificate, ListenAddress(0), metrics=metrics)
    await follower.look()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.run())
        group.create_task(follower.run())
        port = await server.listening()
        release_memory()  # as every process of ours does when it is set up
        print(json.dumps({"port": port}), flush=True)
        if watch:
            group.create_task(stalls.watch())
        loop = asyncio.get_running_loop()
        while line := await loop.run_in_executor(None, sys.stdin.readline):
            seen = {"cpu_ms": stalls.cpu_ms, "wall_ms": stalls.wall_ms}
            stalls.reset()
            snapshots.put(*read_snapshot(line))
            print(json.dumps({"served": True, **seen}), flush=True)


if __name__ == "__main__":
    configure_logs(level="warning")
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main(Path(sys.argv[1]), watch=sys.argv[2] == "stalls"))
