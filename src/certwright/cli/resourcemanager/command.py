"""The command line of ``certwright resource-manager``: it reads its flags itself."""

import typer

from certwright import __version__

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    "resource-manager",
    short_help="Run the resource manager.",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def resource_manager(context: typer.Context) -> None:
    """Run the operators of ManagedResources, unused configuration and tokens."""
    from certwright.cli.resourcemanager.flags import parse
    from certwright.cli.resourcemanager.process import run_resource_manager

    options = parse(context.args)
    if options.version:
        print(__version__)
    else:
        run_resource_manager(options)
