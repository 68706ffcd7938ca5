"""``certwright run``: controllers as a process, in a cluster or on a laptop."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import structlog

from certwright.cli.controllers import load_controllers
from certwright.cli.errors import UsageError, system_message
from certwright.cli.loops import run_to_end
from certwright.client import Client, Config, HttpTransport, load_config
from certwright.kube import Key
from certwright.runtime import (
    Declared,
    LeaderElection,
    ListenAddress,
    Manager,
    MemoryTrimmer,
    Metrics,
    configure_logs,
    on_signals,
)

_FORMATS = {"auto": None, "json": True, "text": False}
_LEVELS = ("debug", "info", "warning", "error")
_log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ProcessOptions:
    """What the command line asks for."""

    targets: list[str]
    kubeconfig: Path | None = None
    context: str | None = None
    leader_elect: str | None = None
    probes: str | None = None
    log_format: str = "auto"
    log_level: str = "info"
    dump: Path | None = None


def run_controllers(options: ProcessOptions) -> None:
    """Run until a signal ends it.

    Mistakes in the command line or configuration raise before anything starts. A server that
    cannot be reached or refuses the credentials may recover: the process waits for it, and
    the log and ``/readyz`` report the reason.
    """
    if options.log_format not in _FORMATS:
        raise UsageError(f"--log-format {options.log_format}: choose text, json or auto")
    if options.log_level not in _LEVELS:
        raise UsageError(f"--log-level {options.log_level}: choose {', '.join(_LEVELS)}")
    election = _election(options.leader_elect)
    address = _address(options.probes)
    controllers = load_controllers(options.targets)
    config = load_config(options.kubeconfig, options.context)
    configure_logs(level=options.log_level, as_json=_FORMATS[options.log_format])
    run_to_end(_run(config, controllers, election, address, options.dump))


async def _run(
    config: Config,
    controllers: list[Declared],
    election: LeaderElection | None,
    address: ListenAddress | None,
    dump_to: Path | None,
) -> None:
    metrics = Metrics(urlsplit(config.server).netloc)
    async with Client(HttpTransport(config), observers=[metrics]) as client:
        manager = Manager(
            client, controllers, leader_election=election, probes=address, metrics=metrics
        )
        manager.add(MemoryTrimmer(manager))
        names = [controller.name for controller in controllers]
        _log.info("starting", controllers=names, server=config.server, configuration=config.source)
        with on_signals(manager.stop, manager.dump, dump_to):
            try:
                await manager.run()
            except OSError as error:
                if address is None or error.errno is None:
                    raise
                where = f"{address.host}:{address.port}"
                raise UsageError(
                    f"--probes {where}: {system_message(error)}; choose another"
                ) from error


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


def _address(text: str | None) -> ListenAddress | None:
    try:
        return ListenAddress.parse(text) if text is not None else None
    except ValueError as error:
        raise UsageError(f"--probes: {error}") from error
