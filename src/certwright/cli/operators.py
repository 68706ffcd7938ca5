"""The operators of this package by the names that people type, for ``crds`` and ``rbac``."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from certwright.bundles.catalogue import load
from certwright.bundles.sources import BundleSet, bundle_set, read_folder
from certwright.kube import Object
from certwright.operators.certmanager.grants import operand_rules
from certwright.operators.certmanager.library import BundleLibrary
from certwright.operators.certmanager.source import BundleSource
from certwright.runtime import Declared, PolicyRule

MANAGED_RESOURCE: Final = "managedresource"
GARBAGE_COLLECTOR: Final = "garbagecollector"
TOKEN_REQUESTOR: Final = "tokenrequestor"  # noqa: S105 - a name
CERT_MANAGER: Final = "certmanager"
IBM_CERT_MANAGER: Final = "ibm-certmanager"
ROLLOUT: Final = "rollout"
CA_REFRESH: Final = "ca-refresh"
DISCOVERY_SERVICE: Final = "discoveryservice"
NAMES: Final = (
    MANAGED_RESOURCE, GARBAGE_COLLECTOR, TOKEN_REQUESTOR, CERT_MANAGER, IBM_CERT_MANAGER,
    ROLLOUT, CA_REFRESH, DISCOVERY_SERVICE,
)  # fmt: skip
"""What ``certwright manager`` runs."""
INSTALLERS: Final = frozenset({CERT_MANAGER, IBM_CERT_MANAGER})
"""Those that need bundles."""

NamedOperators = Mapping[str, Callable[[], list[Declared]]]


def named_operators(folder: Path | None = None, *, recreate_jobs: bool = False) -> NamedOperators:
    """Return what makes each operator; installers grant what bundles of a folder need.

    *recreate_jobs* is for `rollout`, which may delete Jobs then.
    """
    return {
        MANAGED_RESOURCE: _managed_resource,
        GARBAGE_COLLECTOR: _garbage_collector,
        TOKEN_REQUESTOR: _token_requestor,
        CERT_MANAGER: partial(_cert_manager, folder),
        IBM_CERT_MANAGER: partial(_ibm_cert_manager, folder),
        ROLLOUT: partial(_rollout, recreate_jobs=recreate_jobs),
        CA_REFRESH: _ca_refresh,
        DISCOVERY_SERVICE: _discovery_service,
    }


def bundles_in(folder: Path | None) -> BundleSet:
    """Return the bundles of a folder; none if there is no such folder."""
    inside = read_folder(folder) if folder is not None and folder.is_dir() else []
    return bundle_set(inside, load())


def _managed_resource() -> list[Declared]:
    from certwright.operators.managedresource import Configuration, resource_operator

    return [resource_operator(Configuration())]


def _garbage_collector() -> list[Declared]:
    from certwright.operators.garbagecollector import CollectorSettings, garbage_collector

    return [garbage_collector(CollectorSettings(enabled=True))]


def _token_requestor() -> list[Declared]:
    from certwright.operators.tokenrequestor import token_requestor

    return [token_requestor(None)]


def _cert_manager(folder: Path | None) -> list[Declared]:
    from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator

    source, granted = _source(folder)
    settings = CertManagerSettings(source, {}, granted)
    return [certmanager_operator(settings), BundleLibrary(load()).controller()]


def _ibm_cert_manager(folder: Path | None) -> list[Declared]:
    from certwright.operators.certmanager.ibm.operator import (
        CertManagerCrSettings,
        certmanager_cr_operator,
    )

    source, granted = _source(folder)
    settings = CertManagerCrSettings(source, {}, operand_rules=granted)
    return [certmanager_cr_operator(settings), BundleLibrary(load()).controller()]


def _discovery_service() -> list[Declared]:
    from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
    from certwright.operators.discoveryservice.certificates.operator import certificate_operator
    from certwright.operators.discoveryservice.certificates.shared import (
        CertificateOperatorSettings,
    )
    from certwright.operators.discoveryservice.connected.observer import WATCHED, ReportObserver
    from certwright.operators.discoveryservice.service.operator import service_operator
    from certwright.operators.discoveryservice.service.plane import ServiceDefaults
    from certwright.runtime import Operator

    kinds: list[type[Object]] = [EnvoyConfig, EnvoyConfigRevision]
    served = Operator("envoyconfig", lambda _host: (), kinds=kinds)
    certificates = certificate_operator(
        CertificateOperatorSettings(observer=ReportObserver(), watched=WATCHED)
    )
    return [service_operator(ServiceDefaults()), certificates, served]


def _rollout(*, recreate_jobs: bool) -> list[Declared]:
    from certwright.operators.rollout.dialects import choice
    from certwright.operators.rollout.dialects.reloaderoptions import ReloaderOptions
    from certwright.operators.rollout.engine.settings import BUILT_IN, RolloutSettings
    from certwright.operators.rollout.operator import rollout_operator
    from certwright.operators.rollout.workload import WorkloadKind

    options = ReloaderOptions(recreate_jobs=recreate_jobs)
    dialects = choice.dialects_of(choice.NAMES, options)
    kinds = choice.kinds_of(choice.NAMES, (*BUILT_IN, WorkloadKind.ROLLOUT), options)
    return [rollout_operator(RolloutSettings(dialects=dialects, kinds=kinds))]


def _ca_refresh() -> list[Declared]:
    from certwright.operators.rollout.carefresh.operator import ca_refresh

    return [ca_refresh()]


def _source(folder: Path | None) -> tuple[BundleSource, list[PolicyRule]]:
    """Return the bundles of a folder, and what cert-manager may do in these versions."""
    there = bundles_in(folder)
    granted = operand_rules(there.get(version) for version in there.versions)
    return BundleSource(lambda: there, load()), granted
