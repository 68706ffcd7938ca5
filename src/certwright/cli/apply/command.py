"""The command lines of ``certwright apply``, ``diff``, ``delete`` and ``tree``."""

from typing import Annotated

import typer

from certwright.cli.errors import UsageError
from certwright.cli.options import (
    Context,
    DryRun,
    Files,
    Kubeconfig,
    Namespace,
    Output,
    OutputFormat,
    Recursive,
    Target,
    Yes,
    examples,
    seconds_of,
)

commands = typer.Typer(rich_markup_mode=None)

Inventory = Annotated[
    str,
    typer.Option(
        "-i",
        "--inventory",
        metavar="NAME",
        help="Name under which the objects are remembered, in ConfigMaps of the namespace.",
    ),
]
OptionalFiles = Annotated[
    list[str] | None,
    typer.Option(
        "-f",
        "--filename",
        metavar="PATH",
        help="File or directory of manifests, or - for standard input. Default: all objects"
        " of the inventory.",
    ),
]
Prune = Annotated[
    bool,
    typer.Option("--prune", help="Delete what was applied before and is no longer in the files."),
]
Wait = Annotated[
    bool,
    typer.Option(
        "--wait",
        help="Wait until all is healthy and rolled out, or gone; after --timeout, say what is not.",
    ),
]
Timeout = Annotated[
    str, typer.Option(metavar="DURATION", help="How long --wait waits, e.g. 90s or 5m.")
]
Recreate = Annotated[
    bool,
    typer.Option("--recreate", help="Delete and recreate what cannot be changed in place."),
]
TakeOver = Annotated[
    bool, typer.Option("--take-over", help="Take objects that belong to another inventory.")
]
NoAdopt = Annotated[
    bool,
    typer.Option("--no-adopt", help="Refuse objects that exist and belong to no inventory."),
]


@commands.command(
    short_help="Apply the objects in these files.",
    epilog=examples(
        "certwright apply -f app/ -i my-app -n prod --prune --wait",
        "helm template my-app ./chart | certwright apply -f - -i my-app -n prod --prune",
        "certwright apply -f app.yaml -i my-app --dry-run -o json",
    ),
)
def apply(
    filename: Files,
    inventory: Inventory,
    namespace: Namespace = None,
    recursive: Recursive = False,
    prune: Prune = False,
    dry_run: DryRun = False,
    wait: Wait = False,
    timeout: Timeout = "5m",
    recreate: Recreate = False,
    take_over: TakeOver = False,
    no_adopt: NoAdopt = False,
    yes: Yes = False,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Apply the objects in these files, and remember them under a name.

    Definitions and namespaces come first and are waited for. What is as it should be costs no
    write. With --prune, objects that were applied under the name before and are no longer in
    the files are deleted, after everything else is applied; if that is most of them, it asks.

    A document that cannot be read keeps no other from being applied, but nothing is pruned then.

    Ends with 0 when all is as wanted, 2 when something failed, waits, or was wrong.
    """
    from certwright.cli.apply.apply import ApplyOptions, apply_manifests
    from certwright.cli.apply.inputs import read_input
    from certwright.cli.connection import run_once

    seconds = seconds_of(timeout, "--timeout") if wait else None
    options = ApplyOptions(output, dry_run, prune, recreate, take_over, not no_adopt, yes, seconds)
    files = read_input(filename, recursive=recursive)
    target = Target(kubeconfig, context, namespace)
    run_once(apply_manifests(target, inventory, files, options))


@commands.command(
    short_help="Show what apply would change, field by field.",
    epilog=examples(
        "certwright diff -f app/ -i my-app -n prod --prune",
        "certwright diff -f app.yaml -i my-app && echo nothing to do",
    ),
)
def diff(
    filename: Files,
    inventory: Inventory,
    namespace: Namespace = None,
    recursive: Recursive = False,
    prune: Prune = False,
    recreate: Recreate = False,
    take_over: TakeOver = False,
    no_adopt: NoAdopt = False,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show what apply would change, field by field; change nothing.

    The server judges, by dry runs. Values of Secrets are not shown.

    Ends with 0 if nothing differs, 1 if something does, 2 for an error.
    """
    from certwright.cli.apply.apply import ApplyOptions, diff_manifests
    from certwright.cli.apply.inputs import read_input
    from certwright.cli.connection import run_once

    options = ApplyOptions(
        output, prune=prune, recreate=recreate, take_over=take_over, adopt=not no_adopt
    )
    files = read_input(filename, recursive=recursive)
    target = Target(kubeconfig, context, namespace)
    run_once(diff_manifests(target, inventory, files, options))


@commands.command(
    short_help="Delete the objects of an inventory, in order.",
    epilog=examples(
        "certwright delete -i my-app -n prod --dry-run",
        "certwright delete -i my-app -n prod --wait   # everything that was applied as my-app",
        "certwright delete -f old.yaml -i my-app -n prod",
    ),
)
def delete(
    inventory: Inventory,
    filename: OptionalFiles = None,
    namespace: Namespace = None,
    recursive: Recursive = False,
    dry_run: DryRun = False,
    wait: Wait = False,
    timeout: Timeout = "5m",
    yes: Yes = False,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Delete the objects of an inventory, users before what they use.

    With -f, those of them that the files name. A document that cannot be read names nothing:
    what is in there stays, and stays in the inventory.

    Objects that belong to somebody else by now stay. What does not go at once (finalizers) is
    named with what holds it, and stays in the inventory: run it again, or use --wait.

    Ends with 0 when all is gone, 2 when something failed, waits, or was wrong.
    """
    from certwright.cli.apply.delete import DeletionOptions, delete_inventory
    from certwright.cli.apply.inputs import read_input
    from certwright.cli.connection import run_once

    seconds = seconds_of(timeout, "--timeout") if wait else None
    options = DeletionOptions(output, dry_run, yes, seconds)
    files = read_input(filename, recursive=recursive) if filename else None
    target = Target(kubeconfig, context, namespace)
    run_once(delete_inventory(target, inventory, files, options))


@commands.command(
    short_help="Show objects, what they own, and their health.",
    epilog=examples(
        "certwright tree -i my-app -n prod",
        "certwright tree -f app/ -n prod -o json",
    ),
)
def tree(
    inventory: Annotated[
        str | None,
        typer.Option("-i", "--inventory", metavar="NAME", help="Inventory to show."),
    ] = None,
    filename: OptionalFiles = None,
    namespace: Namespace = None,
    recursive: Recursive = False,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show objects, what they own (ReplicaSets, Pods, …), and their health.

    Those of an inventory, of files, or with both those of the inventory that the files name. A
    document that cannot be read is named, and the others are shown.

    Ends with 0 when all are healthy, 1 when some are not, 2 for an error.
    """
    from certwright.cli.apply.inputs import read_input
    from certwright.cli.apply.tree import show_tree
    from certwright.cli.connection import run_once

    if not inventory and not filename:
        raise UsageError("say which objects: -i NAME for an inventory, or -f PATH for manifests")
    files = read_input(filename, recursive=recursive) if filename else None
    target = Target(kubeconfig, context, namespace)
    run_once(show_tree(target, inventory or "", files, output))
