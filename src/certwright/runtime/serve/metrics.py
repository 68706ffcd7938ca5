"""Numbers for Prometheus, under the names controller-runtime users have dashboards for.

Each manager has a registry of its own. Children are bound once, when a controller is added:
counting is one method call. Depths and ages are `GaugeSample`s, taken when the metrics are read.
"""

from collections.abc import Iterable
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from certwright.client import Request, TransportError

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_RECONCILE_BUCKETS = (
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8,
    0.9, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30,
    40, 50, 60,
)  # fmt: skip
_QUEUE_BUCKETS = (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000)
_REQUEST_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60)


class GaugeSample(NamedTuple):
    """A gauge, taken when the metrics are read: depths, ages, states."""

    name: str
    text: str
    labels: dict[str, str]
    value: float


RESULTS = ("success", "requeue", "requeue_after", "error")


class ControllerMetrics:
    """The numbers of one controller, bound to its name."""

    def __init__(self, families: "Metrics", name: str) -> None:
        self.results = {r: families.reconciles.labels(name, r) for r in RESULTS}
        self.errors = families.errors.labels(name)
        self.terminal = families.terminal.labels(name)
        self.panics = families.panics.labels(name)
        self.timeouts = families.timeouts.labels(name)
        self.stuck = families.stuck.labels(name)
        self.mapper_errors = families.mapper_errors.labels(name)
        self.seconds = families.seconds.labels(name)
        self.workers = families.workers.labels(name)
        self.stalls = families.stalls.labels(name)


class QueueCounters:
    """The numbers of one queue, bound to its name; fits `QueueMetrics`."""

    def __init__(self, families: "Metrics", name: str) -> None:
        self._adds = families.adds.labels(name, name)
        self._retries = families.retries.labels(name, name)
        self._waited = families.waited.labels(name, name)
        self._worked = families.worked.labels(name, name)

    def on_add(self) -> None:
        """Count a key that entered the queue."""
        self._adds.inc()

    def on_get(self, waited_seconds: float) -> None:
        """Note how long a key waited."""
        self._waited.observe(waited_seconds)

    def on_done(self, worked_seconds: float) -> None:
        """Note how long a worker had a key."""
        self._worked.observe(worked_seconds)

    def on_retry(self) -> None:
        """Count a key that was put back because its work failed."""
        self._retries.inc()


class Metrics:
    """Every number one manager exposes. Also an `Observer` of the client's requests."""

    def __init__(self, host: str = "") -> None:
        self.registry = CollectorRegistry()
        self._host = host
        self._requests: dict[tuple[str, str, str], tuple[Counter, Histogram]] = {}
        self._counters: dict[str, Counter] = {}
        self._gauges: dict[str, Gauge] = {}
        self._histograms: dict[str, Histogram] = {}
        by_controller, by_queue = ["controller"], ["name", "controller"]

        def reconciles(name: str, text: str) -> Counter:
            return self.counter(f"controller_runtime_{name}", text, by_controller)

        counter, gauge, histogram = self.counter, self.gauge, self.histogram
        self.reconciles = counter(
            "controller_runtime_reconcile_total", "Reconciles by result", ["controller", "result"]
        )
        self.errors = reconciles("reconcile_errors_total", "Reconciles that failed")
        self.terminal = reconciles(
            "terminal_reconcile_errors_total", "Reconciles that failed and are not retried"
        )
        self.panics = reconciles(
            "reconcile_panics_total", "Reconciles that raised something unforeseen"
        )
        self.timeouts = reconciles("reconcile_timeouts_total", "Reconciles over their deadline")
        self.seconds = histogram(
            "controller_runtime_reconcile_time_seconds",
            "Duration of reconciles",
            by_controller,
            _RECONCILE_BUCKETS,
        )
        self.workers = gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers of a controller", by_controller
        )
        self.stuck = gauge(
            "certwright_reconciles_stuck",
            "Reconciles that ignore their cancellation; each one holds a key",
            by_controller,
        )
        self.mapper_errors = counter(
            "certwright_mapper_errors_total", "Mappers and predicates that raised", by_controller
        )
        self.adds = counter("workqueue_adds_total", "Keys added", by_queue)
        self.retries = counter("workqueue_retries_total", "Keys put back after failure", by_queue)
        self.waited = histogram(
            "workqueue_queue_duration_seconds", "Time in the queue", by_queue, _QUEUE_BUCKETS
        )
        self.worked = histogram(
            "workqueue_work_duration_seconds", "Time with a worker", by_queue, _QUEUE_BUCKETS
        )
        self.requests = counter(
            "rest_client_requests_total", "Requests by answer", ["code", "method", "host"]
        )
        self.request_seconds = histogram(
            "rest_client_request_duration_seconds",
            "Time to the answer",
            ["verb", "host"],
            _REQUEST_BUCKETS,
        )
        self.leading = gauge(
            "leader_election_master_status", "1 while this replica leads", ["name"]
        )
        self.transitions = counter(
            "certwright_condition_transitions_total",
            "Conditions that this process gave another status",
            ["kind", "type", "status"],
        )
        self.events_dropped = counter("certwright_events_dropped_total", "Events held back")
        self.stalls = histogram(
            "certwright_event_loop_stall_seconds",
            "Steps of reconciles that blocked the event loop",
            by_controller,
            (0.1, 0.2, 0.5, 1, 2, 5, 10, 30),
        )

    def counter(self, name: str, text: str, labels: Iterable[str] = ()) -> Counter:
        """Return the counter of a name: operators have numbers of their own, and share them."""
        if name not in self._counters:
            self._counters[name] = Counter(name, text, labels, registry=self.registry)
        return self._counters[name]

    def gauge(self, name: str, text: str, labels: Iterable[str] = ()) -> Gauge:
        """Return the gauge of a name."""
        if name not in self._gauges:
            self._gauges[name] = Gauge(name, text, labels, registry=self.registry)
        return self._gauges[name]

    def histogram(
        self, name: str, text: str, labels: Iterable[str], buckets: tuple[float, ...]
    ) -> Histogram:
        """Return the histogram of a name."""
        if name not in self._histograms:
            self._histograms[name] = Histogram(
                name, text, labels, registry=self.registry, buckets=buckets
            )
        return self._histograms[name]

    def on_request(self, request: Request, outcome: int | TransportError, seconds: float) -> None:
        """Count an attempt to reach the API server."""
        code = str(outcome) if isinstance(outcome, int) else "<error>"
        counted = code, request.method, request.verb
        series = self._requests.get(counted)
        if series is None:  # to look them up takes longer than to count
            requests = self.requests.labels(code, request.method, self._host)
            taken = self.request_seconds.labels(request.verb, self._host)
            series = self._requests[counted] = (requests, taken)
        series[0].inc()
        series[1].observe(seconds)

    def on_condition(self, kind: str, type_: str, status: str) -> None:
        """Count a condition that got another status."""
        self.transitions.labels(kind, type_, status).inc()

    def render(self, gauges: Iterable[GaugeSample]) -> bytes:
        """Return the exposition. Takes up to a tenth of a second: call it in a thread."""
        now = CollectorRegistry()
        now.register(_Samples(gauges))
        return generate_latest(self.registry) + generate_latest(now)


class _Samples(Collector):
    """Gauges that were read on the event loop just before they are rendered."""

    def __init__(self, gauges: Iterable[GaugeSample]) -> None:
        self._gauges = gauges

    def collect(self) -> Iterable[Metric]:
        """Return the gauges, one family per name."""
        families: dict[str, GaugeMetricFamily] = {}
        for sample in self._gauges:
            family = families.get(sample.name)
            if family is None:
                family = GaugeMetricFamily(sample.name, sample.text, labels=[*sample.labels])
                families[sample.name] = family
            family.add_metric([*sample.labels.values()], sample.value)
        return families.values()
