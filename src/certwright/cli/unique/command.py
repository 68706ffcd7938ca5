"""The command line of ``certwright unique``."""

import sys
from typing import Annotated

import typer

from certwright.cli.errors import UsageError
from certwright.cli.options import Files, Output, Recursive, examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    short_help="Name ConfigMaps and Secrets after their contents.",
    epilog=examples(
        "certwright unique -f app/ | kubectl apply -f -",
        "certwright unique -f config.yaml -f deployment.yaml -o json",
    ),
)
def unique(
    filename: Files,
    recursive: Recursive = False,
    output: Annotated[
        Output, typer.Option("-o", "--output", metavar="yaml|json", help="How to print them.")
    ] = Output.YAML,
) -> None:
    """Name ConfigMaps and Secrets after a hash of their contents, and print all manifests.

    They become immutable, and `certwright gc` may delete them when they are unused. References
    in the other manifests (volumes, environment, pull secrets, ManagedResources) are changed to
    the new names, and annotations protect what is in use. Secrets are printed in plain text:
    do not let them end up in a log.
    """
    from certwright.cli.apply.inputs import read_manifests
    from certwright.cli.terminal.output import documents
    from certwright.cli.unique.rename import unique_manifests

    if output is Output.TABLE:
        raise UsageError("--output table: manifests are printed as yaml or json")
    manifests = read_manifests(filename, recursive=recursive)
    try:
        made = unique_manifests(manifest.obj for manifest in manifests)
    except ValueError as error:
        raise UsageError(str(error)) from error
    print(documents(made.objects, output))
    for remark in made.remarks:
        print(f"warning: {remark}", file=sys.stderr)
