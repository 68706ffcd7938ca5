"""The command line of ``certwright manager``: it reads its flags itself, as Go programs do."""

import typer

from certwright import __version__

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    "manager",
    short_help="Run several operators in one process.",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def manager(context: typer.Context) -> None:
    """Run operators: cert-manager's installation, ManagedResources, garbage, tokens."""
    from certwright.cli.manager.flags import parse
    from certwright.cli.manager.process import run_manager

    options = parse(context.args)
    if options.version:
        print(__version__)
    else:
        run_manager(options)
