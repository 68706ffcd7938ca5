"""The operator that installs cert-manager, with the bundles of all versions in a folder."""

import asyncio
from pathlib import Path

import uvloop

from bench import meter
from certwright.bundles.catalogue import load
from certwright.bundles.sources import bundle_set, read_folder
from certwright.client import connect
from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator
from certwright.operators.certmanager.source import BundleSource
from certwright.runtime import LeaderElection, Manager, MemoryTrimmer, configure_logs


async def main(task: meter.Task) -> None:
    configure_logs(level="warning")
    catalogue = load()
    bundles = bundle_set(read_folder(Path(task.folder)), catalogue)
    operator = certmanager_operator(CertManagerSettings(BundleSource(lambda: bundles, catalogue)))
    async with connect(kubeconfig=task.kubeconfig) as client:
        election = LeaderElection(name="bench", namespace="default")
        manager = Manager(client, [operator], leader_election=election)
        manager.add(MemoryTrimmer(manager))
        async with asyncio.TaskGroup() as group:
            meter.start()
            group.create_task(manager.run())


if __name__ == "__main__":
    uvloop.run(main(meter.task()))
