"""The command line of ``certwright marin3r``."""

import typer

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    "marin3r",
    short_help="Run with a command line of marin3r.",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def marin3r(context: typer.Context) -> None:
    """Run what a command line of marin3r asks for, of either era.

    For manifests that exist: make this command the entrypoint of the image, and leave the arguments
    as they are.
    """
    from certwright.cli.main import app
    from certwright.cli.marin3r.words import our_words

    app(our_words(context.args), prog_name="certwright")
