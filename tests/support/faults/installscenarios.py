"""What scenarios of installations are made of, and what is watched while they run."""

from collections.abc import Callable
from typing import Any

from tests.component.operators.certmanager.conftest import as_released

from certwright.api.certmanagerdeployments import CertManagerDeployment
from certwright.bundles.catalogue import load
from certwright.bundles.sources import BundleSet, PackedBundle
from certwright.kube import JsonObject
from certwright.operators.certmanager.operator import CertManagerSettings, certmanager_operator
from certwright.operators.certmanager.source import BundleSource
from certwright.runtime import Operator
from certwright.testkit import EmbeddedCluster

CMD = CertManagerDeployment.resource


def operator(bundles: Callable[[], dict[str, PackedBundle]], default: str) -> Operator:
    """Return the operator with the bundles there are at each moment."""
    source = BundleSource(lambda: BundleSet(bundles(), ()), load(), default=default)
    return certmanager_operator(CertManagerSettings(source, {}))


def released(*versions: str) -> Callable[[], dict[str, PackedBundle]]:
    """Return the bundles of small releases."""
    return lambda: {version: as_released(version) for version in versions}


async def declare(cluster: EmbeddedCluster, **spec: Any) -> None:
    """Create the CertManagerDeployment."""
    metadata = {"name": "cluster"}
    kind = {"apiVersion": CMD.api_version, "kind": CMD.kind}
    await cluster.create({**kind, "metadata": metadata, "spec": spec})


async def change(cluster: EmbeddedCluster, **spec: Any) -> None:
    """Change its spec."""
    await cluster.patch(CMD, "cluster", {"spec": spec})


def is_available(resource: JsonObject) -> bool:
    """Return whether a status says that certificates can be issued."""
    conditions = (resource.get("status") or {}).get("conditions") or ()
    return any(one["type"] == "Available" and one["status"] == "True" for one in conditions)
