"""The benchmarks by name: each takes the number of runs and returns a `bench.result.Result`."""

from collections.abc import Callable, Mapping

from bench.result import Result
from bench.suite import (
    creation,
    embedded,
    growth,
    http,
    idle,
    install,
    issue_path,
    issuing,
    large,
    list_watch,
    managed_resources,
    memory,
    pipeline,
    pki,
    rollout,
    simulation,
    status_writes,
    webhook,
    xds,
)

BENCHMARKS: Mapping[str, Callable[[int], Result]] = {
    "http": http.run,
    "list-watch": list_watch.run,
    "pipeline": pipeline.run,
    "memory": memory.run,
    "status-writes": status_writes.run,
    "idle": idle.run,
    "embedded-server": embedded.run,
    "simulation": simulation.run,
    "pki": pki.run,
    "managed-resources": managed_resources.run,
    "managed-resources-created": creation.run,
    "managed-resources-growth": growth.run,
    "managed-resources-large": large.run,
    "issue-path": issue_path.run,
    "issuing": issuing.run,
    "webhook": webhook.run,
    "install": install.run,
    "rollout": rollout.run,
    "xds": xds.run,
}
