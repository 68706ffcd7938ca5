"""The operators of this package by the names that people type, for ``crds`` and ``rbac``."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from certwright.bundles.catalogue import load
from certwright.bundles.sources import BundleSet, bundle_set, read_folder
from certwright.runtime import Declared

MANAGED_RESOURCE: Final = "managedresource"
GARBAGE_COLLECTOR: Final = "garbagecollector"
TOKEN_REQUESTOR: Final = "tokenrequestor"  # noqa: S105 - a name
CERT_MANAGER: Final = "certmanager"
NAMES: Final = (MANAGED_RESOURCE, GARBAGE_COLLECTOR, TOKEN_REQUESTOR, CERT_MANAGER)

NamedOperators = Mapping[str, Callable[[], list[Declared]]]


def named_operators(folder: Path | None = None) -> NamedOperators:
    """Return what makes each operator; certmanager grants what the bundles of a folder need."""
    return {
        MANAGED_RESOURCE: _managed_resource,
        GARBAGE_COLLECTOR: _garbage_collector,
        TOKEN_REQUESTOR: _token_requestor,
        CERT_MANAGER: partial(_cert_manager, folder),
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
    from certwright.operators.certmanager.grants import operand_rules
    from certwright.operators.certmanager.ibm.operator import (
        CertManagerCrSettings,
        certmanager_cr_operator,
    )
    from certwright.operators.certmanager.library import BundleLibrary
    from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator
    from certwright.operators.certmanager.source import BundleSource

    there = bundles_in(folder)
    source = BundleSource(lambda: there, load())
    granted = operand_rules(there.get(version) for version in there.versions)
    return [
        certmanager_operator(CertManagerSettings(source, {}, granted)),
        certmanager_cr_operator(CertManagerCrSettings(source, {}, operand_rules=granted)),
        BundleLibrary(load()).controller(),
    ]
