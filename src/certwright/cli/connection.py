"""A client for a command that talks to a cluster once and ends."""

import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from certwright.cli.errors import UsageError
from certwright.cli.loops import run_to_end
from certwright.cli.terminal.patience import TellingTransport
from certwright.client import Client, HttpTransport, load_config
from certwright.kube import ApiError
from certwright.kube.names import dns_label_problems, dns_subdomain_problems


@dataclass(frozen=True, slots=True)
class Connection:
    """A client, and the namespace meant when none is named."""

    client: Client
    namespace: str


@asynccontextmanager
async def connected(
    kubeconfig: Path | None, context: str | None, namespace: str | None = None
) -> AsyncIterator[Connection]:
    """Connect as kubectl would; warnings of the server, and its silence, go to standard error.

    Raises:
        UsageError: no namespace can have this name.
    """
    config = load_config(kubeconfig, context)
    require_name(namespace or config.namespace or "default", "namespace")
    transport = TellingTransport(HttpTransport(config), config.server)
    async with Client(transport, on_warning=_warn) as client:
        yield Connection(client, namespace or config.namespace or "default")


def require_name(name: str, what: str) -> None:
    """Refuse what cannot be the name of a namespace or another object.

    Raises:
        UsageError: it cannot.
    """
    problems = dns_label_problems(name) if what == "namespace" else dns_subdomain_problems(name)
    if problems:
        raise UsageError(f"{what} {name!r}: {'; '.join(problems)}")


def run_once(main: Coroutine[Any, Any, int]) -> None:
    """Run a command to its end and exit with its code.

    Raises:
        UsageError: the server refused something, in its own words.
    """
    try:
        code = run_to_end(main)
    except* ApiError as errors:
        raise UsageError("; ".join(_told(errors))) from errors
    except* TimeoutError as errors:
        raise UsageError("; ".join(_told(errors))) from errors
    sys.exit(code)


def _told(group: BaseExceptionGroup[Any]) -> list[str]:
    told: list[str] = []
    for error in group.exceptions:
        told += _told(error) if isinstance(error, BaseExceptionGroup) else [str(error)]
    return list(dict.fromkeys(told))


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr, flush=True)
