"""The numbers of control planes for Prometheus."""

from contextlib import suppress
from typing import Final

from certwright.runtime import Metrics

BARE_PODS: Final = "certwright_discoveryservice_pods_without_sidecar"


class PlaneMetrics:
    """Keeps one series per DiscoveryService while it exists."""

    def __init__(self, metrics: Metrics) -> None:
        self._bare_pods = metrics.gauge(
            BARE_PODS, "Labelled Pods of enabled namespaces that have no sidecar", ["name"]
        )

    def tell(self, name: str, bare_pods: int) -> None:
        """Show what was found of a DiscoveryService."""
        self._bare_pods.labels(name).set(bare_pods)

    def forget(self, name: str) -> None:
        """Drop the series of a DiscoveryService that is gone."""
        with suppress(KeyError):
            self._bare_pods.remove(name)
