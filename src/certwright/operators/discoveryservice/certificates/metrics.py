"""The numbers of certificates for Prometheus."""

from typing import Final

from certwright.kube import Key
from certwright.operators.discoveryservice.certificates.decision import IssueCause
from certwright.operators.discoveryservice.certificates.status import Findings
from certwright.runtime import Metrics

NOT_AFTER: Final = "certwright_discoveryservice_certificate_not_after_timestamp_seconds"
NOT_BEFORE: Final = "certwright_discoveryservice_certificate_not_before_timestamp_seconds"
READY: Final = "certwright_discoveryservice_certificate_ready"
RENEWALS: Final = "certwright_discoveryservice_certificate_renewals_total"
PHASE: Final = "certwright_discoveryservice_ca_rotation_phase"
_LABELS: Final = ("namespace", "name")


class IssuanceMetrics:
    """Keeps one series per certificate while it exists."""

    def __init__(self, metrics: Metrics) -> None:
        self._not_after = metrics.gauge(NOT_AFTER, "When a certificate expires", _LABELS)
        self._not_before = metrics.gauge(NOT_BEFORE, "When a certificate begins", _LABELS)
        self._ready = metrics.gauge(READY, "1 if a certificate can be used now", _LABELS)
        self._renewals = metrics.counter(
            RENEWALS, "Certificates issued to follow another, and why", ["reason"]
        )
        self._phase = metrics.gauge(
            PHASE, "1 for the phase that the rotation of an authority is in", (*_LABELS, "phase")
        )
        self._phases: dict[Key, str] = {}

    def tell(self, key: Key, found: Findings) -> None:
        """Show what was found of a certificate."""
        labels = (key.namespace, key.name)
        self._ready.labels(*labels).set(1 if found.ready else 0)
        if found.pair is not None:
            validity = found.pair.validity
            self._not_after.labels(*labels).set(validity.not_after.timestamp())
            self._not_before.labels(*labels).set(validity.not_before.timestamp())
        if found.rotation is not None:
            self._tell_phase(key, found.rotation.phase.value)

    def renewed(self, cause: IssueCause) -> None:
        """Count a certificate that follows another."""
        self._renewals.labels(cause.value).inc()

    def forget(self, key: Key) -> None:
        """Drop the series of a certificate that is gone."""
        for gauge in (self._not_after, self._not_before, self._ready):
            try:
                gauge.remove(key.namespace, key.name)
            except KeyError:
                continue
        self._tell_phase(key, "")

    def _tell_phase(self, key: Key, phase: str) -> None:
        before = self._phases.pop(key, "")
        if before and before != phase:
            self._phase.remove(key.namespace, key.name, before)
        if phase:
            self._phases[key] = phase
            self._phase.labels(key.namespace, key.name, phase).set(1)
