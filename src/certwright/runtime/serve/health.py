"""What is known about a running manager from outside: checks, gauges, and the whole dump.

Reads only; must run on the event loop, because the ages of watches are by its clock.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, runtime_checkable

from certwright.clock import Clock
from certwright.kube import JsonObject, Key
from certwright.runtime.cache.cache import Informer
from certwright.runtime.cache.state import WatchState
from certwright.runtime.cache.watch import STALL_SECONDS
from certwright.runtime.leader import Elector
from certwright.runtime.queue.workers import Workers
from certwright.runtime.serve.metrics import GaugeSample

SILENCE_SECONDS = 2 * STALL_SECONDS
"""A watch that heard nothing for so long was not revived: readers get old news."""

SHOWN_KEYS = 100


class Check(NamedTuple):
    """One thing that is well, or not."""

    name: str
    problem: str
    """Empty when all is well."""
    detail: str


@runtime_checkable
class Checked(Protocol):
    """A runnable that the readiness of its process depends on."""

    def readiness(self) -> Iterator[Check]:
        """Yield what is well, or not."""
        ...


def liveness(workers: Sequence[Workers]) -> Iterator[Check]:
    """Yield what only a restart can repair: controllers all of whose workers are lost.

    Trouble with the API server is not among it: a restart would not help, and thousands of
    restarts would make it worse. A blocked event loop needs no check: it does not answer.
    """
    for worker in workers:
        lost = worker.lost
        problem = "every worker is held by a reconcile that ignores its cancellation"
        name = f"controller {worker.controller.name}"
        yield Check(name, problem if worker.dead else "", f"{lost} worker(s) lost")


def readiness(informers: Iterable[Informer]) -> Iterator[Check]:
    """Yield whether each store is complete and its watch moves, on leaders and standbys alike.

    Stores that are not required are listed, and are never a problem.
    """
    for informer in informers:
        status = informer.watch.status()
        silent = status.silent_seconds
        problem = ""
        if not status.synced:
            problem = f"not synced: {status.state}"
        elif silent is None or silent > SILENCE_SECONDS:
            problem = f"silent: {status.state}"
        if problem and status.last_error:
            problem += f": {status.last_error}"
        age = "never heard" if silent is None else f"heard {silent:.1f} s ago"
        detail = f"{status.state}, {age}, {status.objects} objects"
        if problem and not informer.required:
            problem, detail = "", f"not required; {problem}"
        yield Check(f"watch {informer.view}", problem, detail)


def gauges(
    informers: Iterable[Informer], workers: Sequence[Workers], clock: Clock
) -> Iterator[GaugeSample]:
    """Yield the gauges of this moment."""
    for worker in workers:
        name = worker.controller.name
        both = {"name": name, "controller": name}
        now = clock.monotonic()
        ages = [now - current.started for current in worker.in_flight.values()]
        yield GaugeSample(
            "controller_runtime_active_workers",
            "Workers that have a key right now",
            {"controller": name},
            len(ages),
        )
        yield GaugeSample("workqueue_depth", "Keys that wait", both, len(worker.queue))
        yield GaugeSample(
            "workqueue_unfinished_work_seconds", "Age of all work under way", both, sum(ages)
        )
        yield GaugeSample(
            "workqueue_longest_running_processor_seconds",
            "Age of the oldest work under way",
            both,
            max(ages, default=0.0),
        )
        yield GaugeSample(
            "certwright_queue_delayed", "Keys that wait for their time", both, worker.queue.delayed
        )
    for informer in informers:
        status = informer.watch.status()
        labels = {"view": str(informer.view)}
        for name, text, value in (
            ("synced", "1 when complete", status.synced),
            ("objects", "Objects in the store", status.objects),
            ("failures", "Failures in a row", status.failures),
            ("lists", "Lists so far", status.lists),
            ("unreadable", "States of objects so far that could not be read", status.skipped),
            ("listener_errors", "Listeners so far that raised", status.listener_errors),
        ):
            yield GaugeSample(f"certwright_watch_{name}", text, labels, value)
        if status.silent_seconds is not None:
            yield GaugeSample(
                "certwright_watch_silent_seconds",
                "Time since the server last sent anything",
                labels,
                status.silent_seconds,
            )
        for state in WatchState:
            yield GaugeSample(
                "certwright_watch_state",
                "1 for the state the watch is in",
                {**labels, "state": state.value},
                state is status.state,
            )


def dump(
    informers: Iterable[Informer], workers: Sequence[Workers], elector: Elector | None, clock: Clock
) -> JsonObject:
    """Return the internal state as JSON: what is queued, under way and watched, and the leader.

    Of queues only the first keys are shown, and all are counted.
    """
    now = clock.monotonic()
    return {
        "time": clock.now().isoformat(),
        "leader": None
        if elector is None
        else {"leading": elector.leading, "holder": elector.holder},
        "controllers": {
            worker.controller.name: {
                "paused": worker.paused,
                "queued": len(worker.queue),
                "delayed": worker.queue.delayed,
                "waitingSeconds": _some(worker.queue.waiting),
                "dueInSeconds": _some(worker.queue.due),
                "failures": _some(worker.queue.retrying),
                "lost": worker.lost,
                "underWay": [
                    {
                        "key": str(current.key),
                        "seconds": round(now - current.started, 3),
                        "cancelled": current.stopped,
                    }
                    for current in worker.in_flight.values()
                ],
            }
            for worker in workers
        },
        "watches": {
            str(informer.view): informer.watch.status()._asdict() for informer in informers
        },
    }


def _some(numbers: Mapping[Key, float]) -> JsonObject:
    return {str(key): round(number, 3) for key, number in islice(numbers.items(), SHOWN_KEYS)}
