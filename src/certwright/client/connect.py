"""The front door: from the configuration of this machine to a client."""

from collections.abc import Callable, Sequence
from pathlib import Path

from certwright.client.calls import log_warning
from certwright.client.client import Client
from certwright.client.config.context import load_config
from certwright.client.http.transport import HttpTransport
from certwright.client.observe import Observer
from certwright.clock import SYSTEM, Clock


def connect(
    kubeconfig: str | Path | None = None,
    context: str | None = None,
    *,
    clock: Clock = SYSTEM,
    field_manager: str = "certwright",
    max_in_flight: int = 32,
    observers: Sequence[Observer] = (),
    on_warning: Callable[[str], None] = log_warning,
) -> Client:
    """Return a client for a kubeconfig, by default as kubectl would find it, or for this pod.

    Nothing is sent yet: a wrong configuration raises `ConfigError` here, an unreachable
    server raises with the first request. Close the client, or use it in ``async with``.
    """
    config = load_config(kubeconfig, context)
    return Client(
        HttpTransport(config, clock=clock),
        clock=clock,
        field_manager=field_manager,
        max_in_flight=max_in_flight,
        observers=observers,
        on_warning=on_warning,
    )
