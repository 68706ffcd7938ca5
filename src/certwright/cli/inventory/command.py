"""The command lines of ``certwright inventory``; what they do is in `show`."""

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
    examples,
)

commands = typer.Typer(
    name="inventory",
    help="Look at inventories: the sets of objects that were applied under a name.",
    short_help="Look at inventories of applied objects.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@commands.command(
    "list",
    short_help="List inventories.",
    epilog=examples(
        "certwright inventory list -A",
        "certwright inventory list -n prod -o json",
    ),
)
def list_(
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """List inventories: how many objects each has, who wrote it last, and when.

    Exit code 0: all could be read; 2: one is damaged, or an error.
    """
    from certwright.cli.connection import run_once
    from certwright.cli.inventory.show import list_inventories

    target = Target(kubeconfig, context, namespace)
    run_once(list_inventories(target, output, all_namespaces=all_namespaces))


@commands.command(
    short_help="Show the objects that an inventory lists.",
    epilog=examples(
        "certwright inventory show my-app -n prod",
        "certwright tree -i my-app -n prod      # their health, too",
    ),
)
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the inventory.")],
    namespace: Namespace = None,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show the objects that an inventory lists, in the order in which they are applied.

    The objects themselves are not read; certwright tree does that.
    """
    from certwright.cli.connection import run_once
    from certwright.cli.inventory.show import show_inventory

    run_once(show_inventory(Target(kubeconfig, context, namespace), name, output))
