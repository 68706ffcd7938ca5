"""What happens after a write without a request: the work of a controller manager.

Steps are queued as changes happen and run to the end when the request that caused them has been
answered. Pausing them shows clients the time in between, which on a real cluster is always there.
"""

from collections.abc import Callable
from functools import partial

from certwright.apiserver.backend import Backend
from certwright.apiserver.controllers.aggregation import RoleAggregation
from certwright.apiserver.controllers.customresources import CustomResources
from certwright.apiserver.controllers.eventexpiry import EventExpiry
from certwright.apiserver.controllers.garbage import GarbageCollector
from certwright.apiserver.controllers.namespacedefaults import NamespaceDefaults
from certwright.apiserver.controllers.namespaces import NamespaceController
from certwright.apiserver.storage.storage import StoredChange
from certwright.apiserver.writes.deletion import ObjectDeleter
from certwright.apiserver.writes.writes import ObjectWriter

Step = Callable[[], None]


class Background:
    """Queues and runs the server's own controllers. *paused* may be set at any time."""

    def __init__(
        self,
        backend: Backend,
        writes: ObjectWriter,
        deletion: ObjectDeleter,
        *,
        namespace_defaults: bool,
    ) -> None:
        self.paused = False
        self._backend = backend
        self._garbage = GarbageCollector(backend, writes, deletion)
        self._namespaces = NamespaceController(backend, deletion)
        self._definitions = CustomResources(backend, writes, deletion)
        self._roles = RoleAggregation(backend)
        self._events = EventExpiry(backend)
        self._contents = NamespaceDefaults(backend, writes) if namespace_defaults else None
        self._steps: dict[object, Step] = {}
        self._running = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing is left to do."""
        return not self._steps

    def observe(self, change: StoredChange) -> None:
        """Queue what a change calls for."""
        self._events.observe(change)
        for place in self._garbage.concerns(change):
            self._add(place, partial(self._garbage.collect, place))
        if namespace := self._namespaces.concerns(change):
            self._add(("namespace", namespace), partial(self._namespaces.finalize, namespace))
        if self._contents is not None and (namespace := self._contents.concerns(change)):
            self._add(("contents", namespace), partial(self._contents.create_missing, namespace))
        if name := self._definitions.concerns(change):
            self._add(("definition", name), partial(self._definitions.sync, name))
        if self._roles.concerns(change):
            self._add("roles", self._roles.sync)

    def expire(self) -> None:
        """Delete what is too old, as of now; not held up by *paused*."""
        self._events.expire()

    def publish(self, authority: bytes) -> None:
        """Put the certificate the server is reached under into every namespace."""
        if self._contents is not None:
            self._contents.publish(authority)

    def run(self) -> None:
        """Run every queued step and those they cause, unless paused."""
        if self._running or self.paused or not self._steps:
            return
        self._running = True
        self._backend.is_answering = False
        try:
            while self._steps:
                key = next(iter(self._steps))
                self._steps.pop(key)()
        finally:
            self._running = False
            self._backend.is_answering = True

    def _add(self, key: object, step: Step) -> None:
        """Queue a step; one per key at a time."""
        self._steps.setdefault(key, step)
