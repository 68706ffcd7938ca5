"""The process of ``certwright manager``: its configuration, and what it runs."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import structlog

from certwright.bundles.catalogue import load as load_catalogue
from certwright.cli.controllers import custom_kinds
from certwright.cli.errors import UsageError
from certwright.cli.manager.flags import ManagerOptions
from certwright.cli.operators import (
    CA_REFRESH,
    CERT_MANAGER,
    DISCOVERY_SERVICE,
    GARBAGE_COLLECTOR,
    IBM_CERT_MANAGER,
    INSTALLERS,
    MANAGED_RESOURCE,
    ROLLOUT,
    TOKEN_REQUESTOR,
    named_operators,
)
from certwright.cli.options import Output
from certwright.cli.resourcemanager.flags import ResourceManagerOptions
from certwright.cli.resourcemanager.process import load, run_configured
from certwright.cli.terminal.output import documents
from certwright.client import Client, TransportError
from certwright.kube import ApiError, crd_manifest
from certwright.operators.certmanager.ibm.operator import (
    CertManagerCrSettings,
    certmanager_cr_operator,
)
from certwright.operators.certmanager.library import BundleLibrary
from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator
from certwright.operators.certmanager.source import BundleSource
from certwright.operators.discoveryservice.certificates.operator import certificate_operator
from certwright.operators.discoveryservice.certificates.shared import CertificateOperatorSettings
from certwright.operators.discoveryservice.connected.observer import WATCHED, ReportObserver
from certwright.operators.discoveryservice.service.operator import service_operator
from certwright.operators.discoveryservice.service.plane import ServiceDefaults
from certwright.operators.managedresource.configuration import LoadedConfiguration
from certwright.operators.rollout.carefresh.operator import ca_refresh
from certwright.operators.rollout.dialects import choice
from certwright.operators.rollout.dialects.redhat import RedhatDialect
from certwright.operators.rollout.dialects.reloaderoptions import ReloaderOptions
from certwright.operators.rollout.engine.settings import BUILT_IN, RolloutSettings
from certwright.operators.rollout.operator import rollout_operator, served_kinds, served_sources
from certwright.operators.rollout.workload import BUILT_IN_SOURCES, SourceKind, WorkloadKind
from certwright.runtime import Declared

LEASE: Final = "certwright-manager"
_LOG_FORMATS: Final = {"auto": None, "json": True, "text": False}
_log = structlog.get_logger()


def run_manager(options: ManagerOptions) -> None:
    """Run until a signal ends it, or print the definitions; mistakes raise `UsageError`."""
    if options.print_crds:
        named = named_operators()
        chosen = [one for name in options.operators for one in named[name]()]
        kinds = custom_kinds(chosen)
        print(documents([crd_manifest(kind) for kind in kinds], Output.YAML))
        return
    loaded = configuration_of(options, os.environ)
    if options.bundles is not None and not options.bundles.is_dir():
        raise UsageError(
            f"--bundles {options.bundles}: no such folder; make one with:"
            f" certwright bundle build --folder {options.bundles}"
        )

    async def more(client: Client, own_namespace: str) -> Sequence[Declared]:
        restarts = options.pod_refresher or ROLLOUT in options.operators
        kinds = await served_kinds(client) if restarts else BUILT_IN
        sources = await served_sources(client) if restarts else BUILT_IN_SOURCES
        found = [*refreshers(options, kinds, sources), *discovery_services(options)]
        if not INSTALLERS & set(options.operators):
            return found
        namespace = options.bundles_namespace or own_namespace or "default"
        library = await bundle_library(client, options.bundles, namespace)
        return [*found, *installers(options.operators, library)]

    run_configured(loaded, _as_json(options), options.dump, more)


def configuration_of(
    options: ManagerOptions, environment: Mapping[str, str]
) -> LoadedConfiguration:
    """Return the configuration of the process; `UsageError` or a group of them if it is wrong."""
    given: dict[str, Any] = {
        "--kubeconfig": str(options.kubeconfig) if options.kubeconfig else None,
        "--metrics-bind-address": options.metrics,
        "--health-bind-address": options.probes,
        "--leader-election": bool(options.leader_elect) if _decides(options) else None,
        "--leader-election-resource-name": LEASE if options.config is None else None,
        "--leader-election-namespace": options.leader_namespace,
        "--log-level": options.log_level,
        "--max-concurrent-workers": options.concurrency,
        "--sync-period": options.sync_period,
        **_switches(options.operators),
    }
    flags = {name: value for name, value in given.items() if value is not None}
    return load(ResourceManagerOptions(options.config, flags), environment)


def _decides(options: ManagerOptions) -> bool:
    """Return whether flags decide about the election; else the file does."""
    return options.leader_elect is not None or options.config is None


def _switches(operators: Sequence[str]) -> dict[str, Any]:
    """Return the flags of the resource manager that switch on what is named, and nothing else."""
    managed = MANAGED_RESOURCE in operators
    return {
        "--managed-resource-controller": managed,
        "--health-controller": managed,
        "--token-requestor": TOKEN_REQUESTOR in operators,
        "--garbage-collector": GARBAGE_COLLECTOR in operators,
    }


def refreshers(
    options: ManagerOptions,
    kinds: tuple[WorkloadKind, ...] = BUILT_IN,
    sources: frozenset[SourceKind] = BUILT_IN_SOURCES,
) -> Iterator[Declared]:
    """Yield what restarts workloads, and what has certificates issued anew, if they are asked for.

    The flag of cmd-operator alone asks for what that operator did: only its annotations count.
    """
    if ROLLOUT in options.operators:
        dialects = choice.dialects_of(options.dialects)
        jobs = ReloaderOptions(recreate_jobs=options.recreate_jobs)
        watched = choice.kinds_of(options.dialects, kinds, jobs)
        yield rollout_operator(RolloutSettings(dialects=dialects, kinds=watched, sources=sources))
    elif options.pod_refresher:
        yield rollout_operator(RolloutSettings(dialects=[RedhatDialect()], kinds=kinds))
    if CA_REFRESH in options.operators:
        yield ca_refresh()


def installers(operators: Collection[str], library: BundleLibrary) -> Iterator[Declared]:
    """Yield what installs cert-manager, for the custom resources that are named."""
    source, wakes = BundleSource(library.bundles, load_catalogue()), [library.channel]
    if CERT_MANAGER in operators:
        yield certmanager_operator(CertManagerSettings(source, channels=wakes))
    if IBM_CERT_MANAGER in operators:
        yield certmanager_cr_operator(CertManagerCrSettings(source, channels=wakes))
    yield library.controller()


def discovery_services(options: ManagerOptions) -> Iterator[Declared]:
    """Yield what runs control planes for Envoy sidecars, if that is named."""
    if DISCOVERY_SERVICE in options.operators:
        usual = ServiceDefaults()
        yield service_operator(
            ServiceDefaults(
                options.discovery_image or usual.image, options.envoy_image or usual.envoy_image
            )
        )
        yield certificate_operator(
            CertificateOperatorSettings(observer=ReportObserver(), watched=WATCHED)
        )


async def bundle_library(client: Client, folder: Path | None, namespace: str) -> BundleLibrary:
    """Return the bundles of a folder, and of the ConfigMaps of a namespace; say what is wrong."""
    library = BundleLibrary(load_catalogue(), folder, namespace)
    try:
        await library.read(client)
    except (ApiError, TransportError) as error:
        # They are watched as well: what is decided meanwhile is decided again when they are read.
        _log.warning("published bundles cannot be read yet", namespace=namespace, error=str(error))
    for wrong in library.bundles().errors:
        _log.warning("bundle", problem=str(wrong))
    if not library.bundles().versions:
        _log.warning(
            "there are no bundles, so nothing can be installed; see: certwright bundle build",
            folder=str(folder or ""),
            namespace=namespace,
        )
    return library


def _as_json(options: ManagerOptions) -> bool | None:
    return _LOG_FORMATS[options.log_format or "auto"]
