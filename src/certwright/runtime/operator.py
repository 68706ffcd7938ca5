"""An operator: controllers that share something which lives as long as the process.

A `Controller` is a value without state. Where several of them need a common memory, a cache
of a second cluster, or channels between each other, an operator declares how these are made:
it is a value too, and every manager that runs it builds its own.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from certwright.client import Client
from certwright.clock import Clock
from certwright.kube import Object
from certwright.runtime.controller import Controller
from certwright.runtime.queue.backoff import Rng

if TYPE_CHECKING:
    from certwright.runtime.serve.metrics import Metrics


class Runnable(Protocol):
    """Anything that runs beside the controllers: a server, a poller, a `Cache`."""

    async def run(self) -> None:
        """Run until cancelled. An exception ends the manager."""
        ...


class OperatorHost(Protocol):
    """The process an operator is built for."""

    client: Client
    clock: Clock
    metrics: "Metrics"
    rng: Rng

    def leads(self) -> bool:
        """Return whether the process leads: whether its controllers work."""
        ...


Part: TypeAlias = Controller | Runnable
"""What a manager runs."""


@dataclass(frozen=True, eq=False)
class Operator:
    """Builds controllers and what they share, anew for each process.

    ::

        operator = Operator("resources", build, kinds=[ManagedResource])
        Manager(client, [operator])

    A `Cache` among what *build* returns is run with the process, and counts when it is asked
    whether it is ready and whether it rests.
    """

    name: str
    build: Callable[[OperatorHost], Iterable[Part]]
    kinds: Sequence[type[Object]] = ()
    """The custom kinds it brings; what installs CRDs installs these."""


Declared: TypeAlias = Controller | Operator
"""What may be started any number of times."""
