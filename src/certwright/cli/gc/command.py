"""The command line of ``certwright gc``."""

from typing import Annotated

import typer

from certwright.cli.errors import UsageError
from certwright.cli.options import Context, Kubeconfig, Output, OutputFormat, Target, examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    short_help="Delete ConfigMaps and Secrets that nothing uses any more.",
    epilog=examples(
        "certwright gc --dry-run      # what would be deleted, and why the rest stays",
        "certwright gc -n garden --minimum-lifetime 1h",
        "certwright gc --dry-run -o json | jq '.objects[] | select(.verdict==\"collectable\")'",
    ),
)
def gc(
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List candidates and reasons; change nothing.")
    ] = False,
    namespace: Annotated[
        list[str] | None,
        typer.Option("-n", "--namespace", metavar="NAME", help="May be repeated. Default: all."),
    ] = None,
    minimum_lifetime: Annotated[
        str,
        typer.Option(
            metavar="DURATION",
            help="How old, and for how long unused, an object must be; 0 to collect at once.",
        ),
    ] = "10m",
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Delete immutable ConfigMaps and Secrets that nothing uses any more.

    Only objects labelled resources.gardener.cloud/garbage-collectable-reference=true are
    considered. Objects that a pod template, a ManagedResource, an annotation or another reference
    uses stay. An unused object is first marked, and deleted by a later pass; with
    --minimum-lifetime 0 it is deleted at once.

    Exit code 0: done; 2: something could not be read or deleted.
    """
    from certwright.cli.connection import run_once
    from certwright.cli.gc.collect import collect_garbage, settings_of
    from certwright.kube.durations import parse_duration

    try:
        lifetime = parse_duration(minimum_lifetime).total_seconds()
        settings = settings_of(namespace or [], lifetime, dry_run=dry_run)
    except ValueError as error:
        raise UsageError(f"--minimum-lifetime: {error}") from error
    run_once(collect_garbage(Target(kubeconfig, context), settings, output))
