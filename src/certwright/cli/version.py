"""``certwright version``."""

import typer

from certwright import __version__
from certwright.cli.options import examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(epilog=examples("certwright version"))
def version() -> None:
    """Print the version."""
    print(__version__)
