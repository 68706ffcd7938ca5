"""The process of ``certwright rollout run``: its configuration, and what it runs."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog

from certwright.cli.resourcemanager.flags import ResourceManagerOptions
from certwright.cli.resourcemanager.process import load, run_configured
from certwright.cli.rollout.flags import RolloutOptions
from certwright.client import Client
from certwright.operators.managedresource.configuration import LoadedConfiguration
from certwright.operators.rollout.decision.restraint import RolloutLimits
from certwright.operators.rollout.dialects.choice import dialects_of, kinds_of
from certwright.operators.rollout.engine.settings import (
    BUILT_IN,
    DEFAULT_PATIENCE,
    DEFAULT_QUIET,
    RolloutSettings,
)
from certwright.operators.rollout.operator import rollout_operator, served_kinds, served_sources
from certwright.operators.rollout.workload import BUILT_IN_SOURCES, SourceKind, WorkloadKind
from certwright.runtime import Declared

LEASE: Final = "certwright-rollout"
_log = structlog.get_logger()


def run_rollout(options: RolloutOptions) -> None:
    """Run until a signal ends it; mistakes raise `UsageError`."""

    async def more(client: Client, _own_namespace: str) -> Sequence[Declared]:
        for note in options.notes:
            _log.warning(note)
        kinds, sources = await served_kinds(client), await served_sources(client)
        return [rollout_operator(settings_of(options, kinds, sources))]

    as_json = True if options.log_format == "json" else None
    run_configured(configuration_of(options, os.environ), as_json, options.dump, more)


def settings_of(
    options: RolloutOptions,
    kinds: tuple[WorkloadKind, ...] = BUILT_IN,
    sources: frozenset[SourceKind] = BUILT_IN_SOURCES,
) -> RolloutSettings:
    """Return the settings that the command line asks for, for a cluster that has these kinds."""
    return RolloutSettings(
        dialects=dialects_of(options.dialects, options.reloader),
        kinds=kinds_of(options.dialects, kinds, options.reloader),
        sources=sources,
        namespace=options.namespace,
        home=options.home,
        quiet=DEFAULT_QUIET if options.quiet is None else options.quiet,
        patience=options.patience or DEFAULT_PATIENCE,
        limits=RolloutLimits(options.per_namespace, options.per_cluster),
        dry_run=options.dry_run,
    )


def configuration_of(
    options: RolloutOptions, environment: Mapping[str, str]
) -> LoadedConfiguration:
    """Return the configuration of the process: where to connect, and what to serve."""
    given: dict[str, Any] = {
        "--kubeconfig": str(options.kubeconfig) if options.kubeconfig else None,
        "--metrics-bind-address": options.metrics,
        "--health-bind-address": options.probes,
        "--leader-election": options.leader_elect,
        "--leader-election-resource-name": options.lease or LEASE,
        "--leader-election-namespace": options.lease_namespace,
        "--log-level": options.log_level,
        "--managed-resource-controller": False,
        "--health-controller": False,
        "--token-requestor": False,
        "--garbage-collector": False,
    }
    flags = {name: value for name, value in given.items() if value is not None}
    return load(ResourceManagerOptions(None, flags), environment)
