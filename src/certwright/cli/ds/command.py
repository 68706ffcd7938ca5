"""The command lines of ``certwright ds``; what they do is in `actions`."""

from typing import Annotated

import typer

from certwright.cli.options import (
    Context,
    DryRun,
    Kubeconfig,
    Output,
    OutputFormat,
    Target,
    examples,
)

commands = typer.Typer(
    name="ds",
    help="Look at DiscoveryServices, their certificates, and the replacement of their authority.",
    short_help="Look at DiscoveryServices.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]", help="The DiscoveryService. Default: the only one.", show_default=False
    ),
]


@commands.command(
    short_help="Show how a DiscoveryService is, and its certificates.",
    epilog=examples(
        "certwright ds status                        # exit code 1: something is not ready",
        "certwright ds status instance -o json",
    ),
)
def status(
    name: Name = None,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show conditions, namespaces that are not served, and how far a rotation is.

    Of a rotation that is not over it says what it waits for.

    Each certificate is shown with its serial number and when it expires.

    Exit code 0: all is ready; 1: something is not; 2: an error.
    """
    from certwright.cli.connection import run_once
    from certwright.cli.ds import actions

    run_once(actions.status(Target(kubeconfig, context), name, output))


@commands.command(
    "rotate-ca",
    short_help="Replace the certificate authority of a DiscoveryService.",
    epilog=examples(
        "certwright ds rotate-ca --dry-run           # what would happen",
        "certwright ds rotate-ca && certwright ds status",
    ),
)
def rotate_ca(
    name: Name = None,
    dry_run: DryRun = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Ask the operator to replace the authority, in steps that interrupt no connection.

    Does nothing while it is being replaced already. Exit code 0: asked for, or under way; 2: an
    error.
    """
    from certwright.cli.connection import run_once
    from certwright.cli.ds import actions

    run_once(actions.rotate_authority(Target(kubeconfig, context), name, dry_run=dry_run))
