"""The process of ``certwright resource-manager``: its operators, clusters and addresses."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import structlog
import yaml

from certwright.api.managedresources import ManagedResource
from certwright.cli.errors import UsageError, system_message
from certwright.cli.loops import run_to_end
from certwright.cli.resourcemanager.flags import ResourceManagerOptions
from certwright.client import Client, Config, HttpTransport, load_config
from certwright.kube import ApiError, crd_manifest
from certwright.operators.garbagecollector import (
    CollectorSettings,
    GarbageMetrics,
    garbage_collector,
)
from certwright.operators.managedresource import (
    Configuration,
    ConfigurationError,
    cluster_id,
    load_with_flags,
    read_file,
    resource_operator,
)
from certwright.operators.managedresource.configuration import (
    LeaderElectionSettings,
    LoadedConfiguration,
)
from certwright.operators.tokenrequestor import token_requestor
from certwright.runtime import (
    Declared,
    LeaderElection,
    ListenAddress,
    Manager,
    MemoryTrimmer,
    Metrics,
    configure_logs,
    on_signals,
)
from certwright.runtime.serve.probes import Probes

_log = structlog.get_logger()

MoreOperators = Callable[[Client, str], Awaitable[Sequence[Declared]]]
"""Makes operators that run beside, from the client and the namespace of this process."""


def run_resource_manager(options: ResourceManagerOptions) -> None:
    """Run until a signal ends it, or print the definition; all mistakes raise one group."""
    if options.print_crds:
        print(yaml.safe_dump(crd_manifest(ManagedResource), sort_keys=False), end="")
        return
    loaded = load(options, os.environ)
    as_json = loaded.configuration.log_format == "json" if options.config else None
    run_configured(loaded, as_json, options.dump)


async def no_more(_client: Client, _own_namespace: str) -> Sequence[Declared]:
    """Return no further operators."""
    return ()


def run_configured(
    loaded: LoadedConfiguration,
    as_json: bool | None,
    dump_to: Path | None,
    more: MoreOperators = no_more,
) -> None:
    """Run what a configuration switches on until a signal ends it, and *more* operators beside.

    *as_json* is how logs are written; None: as suits where they go.
    """
    configuration = loaded.configuration
    configure_logs(level=configuration.log_level, as_json=as_json)
    for warning in loaded.warnings:
        _log.warning("configuration", path=warning.path, problem=warning.message)
    run_to_end(_run(_Clusters.of(configuration), configuration, dump_to, more))


def load(options: ResourceManagerOptions, environment: Mapping[str, str]) -> LoadedConfiguration:
    """Return the configuration of file, flags and environment; `UsageError` or a group of them."""
    try:
        content = options.config.read_bytes() if options.config else b""
        document = read_file(content, str(options.config)) if options.config else {}
        return load_with_flags(document, options.flags, environment)
    except OSError as error:
        raise UsageError(f"--config {options.config}: {error.strerror}") from error
    except ConfigurationError as error:
        wrong = [UsageError(str(problem)) for problem in error.problems]
        raise ExceptionGroup("the configuration cannot be used", wrong) from error


@dataclass(frozen=True, slots=True)
class _Clusters:
    """Where ManagedResources are, and where their objects go; None: to the same place."""

    source: Config
    target: Config | None

    @classmethod
    def of(cls, configuration: Configuration) -> "_Clusters":
        source = configuration.source_client_connection.kubeconfig
        target = configuration.target_client_connection.kubeconfig
        if source == os.environ.get("KUBECONFIG"):
            source = ""  # it may be several files, and is read as everywhere else
        return cls(load_config(source or None), load_config(target) if target else None)


async def _run(
    clusters: _Clusters, configuration: Configuration, dump_to: Path | None, more: MoreOperators
) -> None:
    metrics = Metrics(urlsplit(clusters.source.server).netloc)
    async with AsyncExitStack() as stack:
        source = await stack.enter_async_context(_client(clusters.source, metrics))
        target = None
        if clusters.target is not None:
            target = await stack.enter_async_context(_client(clusters.target, metrics))
        try:
            identity = await cluster_id(configuration, source)
        except (ValueError, ApiError) as error:
            raise UsageError(f"controllers.clusterID: {error}") from error
        parts = [
            *declared(configuration, clusters, target, identity, metrics),
            *await more(source, clusters.source.namespace),
        ]
        addresses = addresses_of(configuration)
        manager = Manager(
            source,
            parts,
            leader_election=election_of(configuration.leader_election, clusters.source.namespace),
            metrics=metrics,
        )
        for address in addresses:
            manager.add(_Serving(manager, address))
        manager.add(MemoryTrimmer(manager))
        _log.info("starting", server=clusters.source.server, addresses=[a.port for a in addresses])
        with on_signals(manager.stop, manager.dump, dump_to):
            await manager.run()


def declared(
    configuration: Configuration,
    clusters: _Clusters,
    target: Client | None,
    identity: str,
    metrics: Metrics,
) -> Iterator[Declared]:
    """Yield the operators that are switched on."""
    controllers = configuration.controllers
    if controllers.managed_resource.enabled or controllers.health.enabled:
        yield resource_operator(configuration, target=target, identity=identity)
    garbage = controllers.garbage_collector
    if garbage.runs:
        settings = CollectorSettings(
            enabled=True,
            period=garbage.sync_period,
            minimum_lifetime=garbage.minimum_object_lifetime,
            namespaces=configuration.target_client_connection.namespaces,
            dry_run=garbage.dry_run,
        )
        yield garbage_collector(
            settings,
            target=target,
            sources=configuration.source_client_connection.namespaces,
            metrics=GarbageMetrics(metrics),
        )
    if controllers.token_requestor.enabled:
        yield token_requestor(
            target,
            namespaces=configuration.source_client_connection.namespaces,
            workers=controllers.token_requestor.concurrent_syncs,
            ca_bundle=_authority(clusters.target or clusters.source),
            allowed=allowed_accounts(configuration),
        )


def allowed_accounts(configuration: Configuration) -> Sequence[str]:
    """Return whose tokens Secrets of other namespaces may ask for.

    An instance for some namespaces that has a target of its own, as Gardener runs one for each
    cluster, hands out all of that target unless it is told otherwise; every other one nothing.
    """
    listed = configuration.controllers.token_requestor.allowed_service_accounts
    if listed is not None:
        return listed
    has_target = bool(configuration.target_client_connection.kubeconfig)
    return ("*/*",) if has_target and configuration.source_client_connection.namespaces else ()


def election_of(settings: LeaderElectionSettings, own_namespace: str) -> LeaderElection | None:
    """Return the election, in the namespace that is configured, or else our own."""
    if not settings.leader_elect:
        return None
    return LeaderElection(
        name=settings.resource_name,
        namespace=settings.resource_namespace or own_namespace,
        lease_duration=settings.lease_duration,
        renew_deadline=settings.renew_deadline,
        retry_period=settings.retry_period,
    )


def addresses_of(configuration: Configuration) -> list[ListenAddress]:
    """Return where probes and metrics are served, once if that is one place; port 0 is off."""
    server = configuration.server
    found = [
        ListenAddress(part.port, part.bind_address or "0.0.0.0")  # noqa: S104 - kubelets come from there
        for part in (server.health_probes, server.metrics)
        if part.port
    ]
    return list(dict.fromkeys(found))


class _Serving:
    """Probes and metrics at an address, beside the controllers."""

    def __init__(self, manager: Manager, address: ListenAddress) -> None:
        self._manager = manager
        self._address = address

    async def run(self) -> None:
        """Serve until cancelled; `UsageError` if the address is taken."""
        try:
            async with Probes(self._manager, self._address):
                await asyncio.Event().wait()
        except OSError as error:
            raise UsageError(
                f"cannot listen on {self._address.host}:{self._address.port}:"
                f" {system_message(error)}; choose another address with --health-bind-address and"
                " --metrics-bind-address, or port 0 to serve nothing"
            ) from error


def _client(config: Config, metrics: Metrics) -> Client:
    return Client(HttpTransport(config), observers=[metrics])


def _authority(config: Config) -> Callable[[], bytes]:
    """Return what reads the authority of a cluster, again each time: files are replaced."""

    def read() -> bytes:
        return config.ca.data or (Path(config.ca.path).read_bytes() if config.ca.path else b"")

    return read
