"""The command line of ``certwright shutdown-manager``, as injected Pods have it."""

from typing import Annotated

import typer

from certwright.cli.options import examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    "shutdown-manager",
    short_help="Drain the Envoy beside it when its Pod ends.",
    epilog=examples("certwright shutdown-manager --port 8090 --admin-port 9901"),
)
def shutdown_manager(
    port: Annotated[int, typer.Option(metavar="PORT", help="Where kubelet calls hooks.")] = 8090,
    admin_port: Annotated[
        int, typer.Option(metavar="PORT", help="Of Envoy's administration.")
    ] = 9901,
) -> None:
    """Answer /healthz, /drain and /shutdown until a signal ends it.

    /drain has Envoy fail its health checks and answers when no connection is left; /shutdown
    answers after that.
    """
    from certwright.cli.loops import run_to_end
    from certwright.cli.shutdownmanager.serve import serve_until_signal

    run_to_end(serve_until_signal(port, admin_port))
