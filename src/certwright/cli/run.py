"""``certwright run``: controllers as a process, in a cluster or on a laptop."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from certwright.cli.errors import UsageError
from certwright.cli.load import load_controllers
from certwright.client import connect
from certwright.kube import Key
from certwright.runtime import (
    Address,
    Controller,
    LeaderElection,
    Manager,
    Metrics,
    configure_logs,
    on_signals,
)

_FORMATS = {"auto": None, "json": True, "text": False}
_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Options:
    """What the user typed."""

    targets: list[str]
    kubeconfig: Path | None
    context: str | None
    leader_elect: str | None
    probes: str | None
    log_format: str
    log_level: str
    dump: Path | None


def run_controllers(options: Options) -> None:
    """Run until a signal ends it."""
    if options.log_format not in _FORMATS:
        raise UsageError(f"--log-format {options.log_format}: choose text, json or auto")
    if options.log_level not in _LEVELS:
        raise UsageError(f"--log-level {options.log_level}: choose {', '.join(_LEVELS)}")
    configure_logs(level=options.log_level, as_json=_FORMATS[options.log_format])
    controllers = load_controllers(options.targets)
    asyncio.run(_run(options, controllers))


async def _run(options: Options, controllers: list[Controller]) -> None:
    metrics = Metrics()
    async with connect(
        kubeconfig=options.kubeconfig, context=options.context, observers=[metrics]
    ) as client:
        manager = Manager(
            client,
            controllers,
            leader_election=_election(options.leader_elect),
            probes=_address(options.probes),
            metrics=metrics,
        )
        with on_signals(manager.stop, manager.dump, options.dump):
            await manager.run()


def _election(text: str | None) -> LeaderElection | None:
    if text is None:
        return None
    try:
        key = Key.parse(text)
    except ValueError:
        key = Key("", "")
    if not key.namespace:
        raise UsageError(f"--leader-elect {text}: give the Lease as NAMESPACE/NAME")
    return LeaderElection(name=key.name, namespace=key.namespace)


def _address(text: str | None) -> Address | None:
    try:
        return Address.parse(text) if text is not None else None
    except ValueError as error:
        raise UsageError(f"--probes: {error}") from error
