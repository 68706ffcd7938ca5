"""Waking a controller from outside its watches: another cluster, another controller.

Where a `Controller.sources` generator suits what must be polled or awaited, a channel suits
what is called back: whoever knows a key sends it, and it is in the queue when `send` returns,
so nothing that was sent can be overlooked when the process is asked whether it rests.
"""

from collections.abc import Callable

from certwright.kube import Key
from certwright.runtime.queue.queue import Priority


class Channel:
    """Passes keys to the queues of the controllers that name it."""

    def __init__(self) -> None:
        self._queues: list[Callable[[Key, Priority], None]] = []

    def send(self, key: Key, priority: Priority = Priority.FRESH) -> None:
        """Queue a key, as a change of the object itself would. Any number of times is once."""
        for add in self._queues:
            add(key, priority)

    def connect(self, add: Callable[[Key, Priority], None]) -> None:
        """Pass to this queue whatever is sent from now on."""
        self._queues.append(add)
