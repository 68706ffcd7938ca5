"""Numbers of a webhook server: reviews by result, latency, and the certificate it presents."""

from typing import Final

from certwright.runtime import Metrics
from certwright.tls.certificates import ServingPair

RESULTS: Final = ("allowed", "denied", "patched", "converted", "failed", "refused")
"""Failed: the handler raised, took too long, or returned what no API server accepts. Refused: no
review that is served here, not from the API server, or too many at once."""

_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_REASONS: Final = ("Missing", "Unreadable", "KeyMismatch", "Expired", "NotYetValid", "Unfit")


class PathMetrics:
    """The numbers of one path."""

    def __init__(self, families: "WebhookMetrics", path: str) -> None:
        self.results = {name: families.reviews.labels(path, name) for name in RESULTS}
        self.seconds = families.seconds.labels(path)
        self.in_flight = 0
        families.in_flight.labels(path).set_function(lambda: self.in_flight)


class WebhookMetrics:
    """The numbers of one server, among those of a process."""

    def __init__(self, metrics: Metrics) -> None:
        self.reviews = metrics.counter(
            "certwright_webhook_reviews_total", "Reviews by result", ["webhook", "result"]
        )
        self.seconds = metrics.histogram(
            "controller_runtime_webhook_latency_seconds",
            "Time to answer a review",
            ["webhook"],
            _BUCKETS,
        )
        self.in_flight = metrics.gauge(
            "controller_runtime_webhook_requests_in_flight", "Reviews under way", ["webhook"]
        )
        self.connections = metrics.counter(
            "certwright_webhook_connections_total", "Connections accepted, after their handshake"
        )
        self.not_found = metrics.counter(
            "certwright_webhook_not_found_total", "Requests for a path that is not served"
        )
        self.expires = metrics.gauge(
            "certwright_webhook_certificate_expiry_timestamp_seconds",
            "When the certificate that is presented expires, in seconds since 1970",
        )
        self.loaded = metrics.counter(
            "certwright_webhook_certificate_loaded_total", "Certificates taken into use"
        )
        self.refused = metrics.counter(
            "certwright_webhook_certificate_refused_total",
            "Certificates that cannot be used, by reason; the last good one stays in use",
            ["reason"],
        )
        for reason in _REASONS:
            self.refused.labels(reason)

    def certificate_loaded(self, pair: ServingPair) -> None:
        """Count a pair that is presented from now on."""
        self.loaded.inc()
        self.expires.set(pair.validity.not_after.timestamp())

    def certificate_refused(self, reason: str) -> None:
        """Count a pair that cannot be used."""
        self.refused.labels(reason).inc()
