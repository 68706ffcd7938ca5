"""The command line of ``certwright gc``."""

from typing import Annotated

import typer

from certwright.cli.errors import UsageError
from certwright.cli.options import Context, Kubeconfig, Output, OutputFormat, Target, examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    short_help="Collect immutable objects that nothing uses any more.",
    epilog=examples(
        "certwright gc --dry-run                     # what would go, and why the rest stays",
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

    Only objects labelled resources.gardener.cloud/garbage-collectable-reference=true are looked
    at. What an annotation, a pod template, a ManagedResource or another reference uses stays.
    An unused object is first noted as such and deleted by a later pass; one pass is enough with
    --minimum-lifetime 0.

    Ends with 0, or with 2 when something could not be read or deleted.
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
