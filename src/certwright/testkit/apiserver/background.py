"""What happens after a write without anybody asking: the work of a controller manager.

Steps are queued as changes happen and run to the end when the request that caused them has
been answered. Pausing them shows clients the time in between, which on a real cluster is
always there.
"""

from collections.abc import Callable

from certwright.testkit.apiserver.garbage import GarbageCollector
from certwright.testkit.apiserver.namespaces import NamespaceController
from certwright.testkit.apiserver.storage import Change

Step = Callable[[], None]


class Background:
    """Queues and runs the server's own controllers. *paused* may be set at any time."""

    def __init__(self, garbage: GarbageCollector, namespaces: NamespaceController) -> None:
        self.paused = False
        self._garbage = garbage
        self._namespaces = namespaces
        self._steps: dict[object, Step] = {}
        self._running = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do."""
        return not self._steps

    def observe(self, change: Change) -> None:
        """Queue what a change calls for."""
        for place in self._garbage.concerns(change):
            self._steps.setdefault(place, lambda place=place: self._garbage.collect(place))
        namespace = self._namespaces.concerns(change)
        if namespace:
            self.add(("namespace", namespace), lambda: self._namespaces.finalize(namespace))

    def add(self, key: object, step: Step) -> None:
        """Queue a step; one per key at a time."""
        self._steps.setdefault(key, step)

    def run(self) -> None:
        """Run every queued step and those they cause, unless paused."""
        if self._running or self.paused or not self._steps:
            return
        self._running = True
        try:
            while self._steps:
                key = next(iter(self._steps))
                self._steps.pop(key)()
        finally:
            self._running = False
