"""Numbers of a discovery server: what is asked, sent and refused, and which pair it presents."""

from typing import Any, Final

from certwright.runtime import Metrics
from certwright.tls.certificates import ServingPair
from certwright.xds.protocol.observation import Received
from certwright.xds.typeurls import PUSH_ORDER

_SHORT: Final = {type_url: type_url.rpartition(".")[2] for type_url in PUSH_ORDER}
_OTHER: Final = "other"


class XdsMetrics:
    """The numbers of one server, among those of a process."""

    def __init__(self, metrics: Metrics) -> None:
        self._requests = metrics.counter(
            "certwright_xds_requests_total",
            "Requests of Envoys by type of resource and what they were",
            ["type", "result"],
        )
        self._responses = metrics.counter(
            "certwright_xds_responses_total", "Responses sent, by type of resource", ["type"]
        )
        self.streams = metrics.gauge("certwright_xds_streams", "Discovery streams that are open")
        self.connections = metrics.gauge("certwright_xds_connections", "Connections that are open")
        self._refused = metrics.counter(
            "certwright_xds_refused_total",
            "Connections and calls that were refused or cut, by reason",
            ["reason"],
        )
        self._untrusted = metrics.counter(
            "certwright_xds_untrusted_total",
            "Clients whose certificate is not trusted, by the namespace last seen at their address",
            ["namespace"],
        )
        self.expires = metrics.gauge(
            "certwright_xds_certificate_expiry_timestamp_seconds",
            "When the certificate that is presented expires, in seconds since 1970",
        )
        self._serial = metrics.gauge(
            "certwright_xds_served_serial", "1 for the certificate that is presented", ["serial"]
        )
        self._loaded = metrics.counter(
            "certwright_xds_certificate_loaded_total", "Certificates taken into use"
        )
        self._unusable = metrics.counter(
            "certwright_xds_certificate_refused_total",
            "Certificates that cannot be used, by reason; the last good one stays in use",
            ["reason"],
        )
        self._requests_of: dict[tuple[str, Received], Any] = {}
        self._responses_of: dict[str, Any] = {}
        """What `labels` returns, which takes longer than counting."""

    def requests(self, type_url: str, received: Received) -> None:
        """Count a request."""
        key = _SHORT.get(type_url, _OTHER), received
        counter = self._requests_of.get(key)
        if counter is None:
            counter = self._requests_of[key] = self._requests.labels(*key)
        counter.inc()

    def responses(self, type_url: str) -> None:
        """Count a response."""
        name = _SHORT.get(type_url, _OTHER)
        counter = self._responses_of.get(name)
        if counter is None:
            counter = self._responses_of[name] = self._responses.labels(name)
        counter.inc()

    def refused(self, reason: str) -> None:
        """Count a refusal."""
        self._refused.labels(reason).inc()

    def untrusted(self, namespace: str) -> None:
        """Count a client whose certificate no authority vouches for."""
        self._untrusted.labels(namespace).inc()

    def certificate_loaded(self, pair: ServingPair) -> None:
        """Count a pair that is presented from now on."""
        self._loaded.inc()
        self.expires.set(pair.validity.not_after.timestamp())
        self._serial.clear()
        self._serial.labels(pair.serial).set(1)

    def certificate_refused(self, reason: str) -> None:
        """Count a pair that cannot be used."""
        self._unusable.labels(reason).inc()
