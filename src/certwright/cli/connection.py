"""A client for a command that talks to a cluster once and ends."""

import sys
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from certwright.cli.errors import UsageError
from certwright.cli.loops import run_to_end
from certwright.cli.options import Target
from certwright.cli.terminal.notice import NoticeTransport
from certwright.client import Client, HttpTransport, load_config
from certwright.kube import ApiError
from certwright.kube.names import dns_label_problems, dns_subdomain_problems


@dataclass(frozen=True, slots=True)
class Session:
    """A client, and the namespace to use when a command names none."""

    client: Client
    namespace: str


@asynccontextmanager
async def connected(target: Target) -> AsyncIterator[Session]:
    """Connect as kubectl would; warnings of the server, and its silence, go to standard error."""
    config = load_config(target.kubeconfig, target.context)
    namespace = target.namespace or config.namespace or "default"
    require_name(namespace, "namespace")
    transport = NoticeTransport(HttpTransport(config), config.server)
    async with Client(transport, on_warning=_warn) as client:
        yield Session(client, namespace)


def require_name(name: str, what: str) -> None:
    """Check the name of a namespace or another object; `UsageError` if no object can have it."""
    problems = dns_label_problems(name) if what == "namespace" else dns_subdomain_problems(name)
    if problems:
        raise UsageError(f"{what} {name!r}: {'; '.join(problems)}")


def run_once(main: Coroutine[Any, Any, int]) -> None:
    """Run a command to its end and exit with its code; refusals of the server are `UsageError`."""
    try:
        code = run_to_end(main)
    except* ApiError as errors:
        raise UsageError("; ".join(_messages(errors))) from errors
    except* TimeoutError as errors:
        raise UsageError("; ".join(_messages(errors))) from errors
    sys.exit(code)


def _messages(group: BaseExceptionGroup[Any]) -> list[str]:
    found: list[str] = []
    for error in group.exceptions:
        found += _messages(error) if isinstance(error, BaseExceptionGroup) else [str(error)]
    return list(dict.fromkeys(found))


def _warn(text: str) -> None:
    print(f"warning: {text}", file=sys.stderr, flush=True)
