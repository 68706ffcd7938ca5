"""Metrics of signing and checking, beside those of every controller."""

from certwright.issuer.sign.result import SignStatus
from certwright.runtime import Metrics


class IssuerMetrics:
    """The counters of all issuers of a process."""

    def __init__(self, metrics: Metrics) -> None:
        self._signs = metrics.counter(
            "certwright_issuer_sign_total", "Calls of sign by how they ended", ["kind", "result"]
        )
        self._sign_seconds = metrics.counter(
            "certwright_issuer_sign_seconds_total", "Time spent in sign", ["kind"]
        )
        self._checks = metrics.counter(
            "certwright_issuer_check_total", "Calls of check by how they ended", ["kind", "result"]
        )
        self._ready = metrics.gauge(
            "certwright_issuer_ready", "1 while an issuer is ready", ["kind", "namespace", "name"]
        )

        self._overdue = metrics.gauge(
            "certwright_issuer_overdue_calls",
            "Threads held by calls of an author's functions that did not return in time",
            ["kind"],
        )

    def overdue(self, kind: str, count: int) -> None:
        """Set how many threads of an app are held by abandoned calls."""
        self._overdue.labels(kind).set(count)

    def signed(self, kind: str, status: SignStatus, seconds: float) -> None:
        """Count a call of sign."""
        self._signs.labels(kind, status.value).inc()
        self._sign_seconds.labels(kind).inc(max(0.0, seconds))

    def checked(self, kind: str, result: str) -> None:
        """Count a call of check: ok, retry or failed."""
        self._checks.labels(kind, result).inc()

    def ready(self, kind: str, namespace: str, name: str, *, is_ready: bool) -> None:
        """Set whether an issuer is ready."""
        self._ready.labels(kind, namespace, name).set(is_ready)

    def gone(self, kind: str, namespace: str, name: str) -> None:
        """Remove an issuer."""
        self._ready.remove(kind, namespace, name)
