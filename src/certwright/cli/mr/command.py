"""The command lines of ``certwright mr``; what they do is in `actions`."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from certwright.cli.options import (
    AllNamespaces,
    Context,
    Kubeconfig,
    Namespace,
    Output,
    OutputFormat,
    Target,
    Yes,
    examples,
    seconds_of,
)

commands = typer.Typer(
    name="mr",
    help="Look at ManagedResources: their state, and what the next pass would change.",
    short_help="Look at ManagedResources.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the ManagedResource.")]


@commands.command(
    "list",
    short_help="List ManagedResources; those that need attention come first.",
    epilog=examples(
        "certwright mr list -n garden                # those that need attention come first",
        "certwright mr list -A -o json",
    ),
)
def list_(
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """List ManagedResources with their messages; those that need attention come first."""
    from certwright.cli.connection import run_once
    from certwright.cli.mr.actions import show_list

    target = Target(kubeconfig, context, namespace)
    run_once(show_list(target, output, all_namespaces=all_namespaces))


@commands.command(
    short_help="Explain the state of a ManagedResource.",
    epilog=examples("certwright mr explain my-app -n garden      # why is it not healthy?"),
)
def explain(
    name: Name,
    namespace: Namespace = None,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Explain a ManagedResource: conditions, unhealthy objects, who changed them last, Secrets."""
    from certwright.cli.connection import run_once
    from certwright.cli.mr import actions

    run_once(actions.explain(Target(kubeconfig, context, namespace), name, output))


@commands.command(
    short_help="Show what the next pass would change.",
    epilog=examples(
        "certwright mr diff my-app -n garden         # exit code 1: something would change",
        "certwright mr diff my-app -n shoot--x --target-kubeconfig ./shoot.yaml",
        "certwright mr diff my-app -n garden --config ./resource-manager.yaml",
    ),
)
def diff(
    name: Name,
    namespace: Namespace = None,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    target_kubeconfig: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Kubeconfig of the target cluster. Default: the source cluster."
        ),
    ] = None,
    target_context: Annotated[
        str | None, typer.Option(metavar="NAME", help="Context of the target's kubeconfig.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Configuration file of the resource manager. Default: the defaults, completed by"
            " what is found on the objects.",
        ),
    ] = None,
    cluster_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Id of the source cluster. Default: as on its objects."),
    ] = None,
) -> None:
    """Show what the next pass would change in the target, field by field; change nothing.

    Whether objects that are no longer wanted are deleted depends on the configuration of the
    resource manager (prune guard, garbage collector): name its file with --config. Values of
    Secrets are not shown.

    Exit code 0: nothing differs; 1: something does; 2: an error.
    """
    from certwright.cli.connection import run_once
    from certwright.cli.mr import actions

    source = Target(kubeconfig, context, namespace)
    target = None
    if target_kubeconfig or target_context:
        target = Target(target_kubeconfig or kubeconfig, target_context)
    options = actions.PreviewOptions(target, config, cluster_id)
    run_once(actions.diff(source, name, output, options))


@commands.command(
    "force-delete",
    short_help="Delete a ManagedResource whose objects do not go away.",
    epilog=examples(
        "certwright mr explain stuck -n garden       # first: what blocks it?",
        "certwright mr force-delete stuck -n garden --dry-run",
        "certwright mr force-delete stuck -n garden",
    ),
)
def force_delete(
    name: Name,
    namespace: Namespace = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")
    ] = False,
    yes: Yes = False,
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="How long to wait until it is gone.")
    ] = "5m",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Delete a ManagedResource whose objects do not go away, by clearing their finalizers.

    Only finalizers of objects that belong to it are cleared, and only a few seconds after these
    were deleted. What the finalizers protect (volumes, load balancers, DNS entries) is left
    behind. The resource manager has to be running, because it does the work.
    """
    from certwright.cli.connection import run_once
    from certwright.cli.mr import actions

    target = Target(kubeconfig, context, namespace)
    wait = timedelta(seconds=seconds_of(timeout, "--timeout"))
    run_once(actions.force_delete(target, name, wait, yes=yes, dry_run=dry_run))
