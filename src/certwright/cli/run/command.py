"""The command line of ``certwright run``."""

from pathlib import Path
from typing import Annotated

import typer

from certwright.cli.options import Context, Controllers, Kubeconfig, examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    short_help="Run controllers against a cluster.",
    epilog=examples(
        "certwright run examples/greeting.py         # the current context, or the pod's account",
        "certwright run my_operator.main:controller --context staging",
        "certwright run my_operator --leader-elect my-namespace/my-operator --probes :8081",
    ),
)
def run(
    controllers: Controllers,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    leader_elect: Annotated[
        str | None,
        typer.Option(
            metavar="NAMESPACE/NAME", help="Work only while this process holds the Lease."
        ),
    ] = None,
    probes: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Serve /livez, /readyz and /metrics, e.g. :8081. Default: nowhere.",
        ),
    ] = None,
    log_format: Annotated[
        str, typer.Option(metavar="FORMAT", help="text, json, or auto: text on a terminal.")
    ] = "auto",
    log_level: Annotated[
        str, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")
    ] = "info",
    dump: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where SIGUSR1 writes the internal state. Default: stderr."
        ),
    ] = None,
) -> None:
    """Run controllers against a cluster until SIGTERM or Ctrl-C.

    If the server cannot be reached or refuses the credentials, the process waits: the log and
    /readyz report it, and work continues as soon as the server answers.
    """
    from certwright.cli.run.process import ProcessOptions, run_controllers

    options = ProcessOptions(
        controllers, kubeconfig, context, leader_elect, probes, log_format, log_level, dump
    )
    run_controllers(options)
