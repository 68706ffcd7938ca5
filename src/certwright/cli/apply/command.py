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
    Protected,
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
        help="Name of the set of objects; it is kept in ConfigMaps of the namespace.",
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
    typer.Option("--prune", help="Delete objects applied before that are not in the files now."),
]
WaitForHealth = Annotated[
    bool | None,
    typer.Option(
        "--wait/--no-wait",
        help="Wait until all objects are healthy and rolled out. Default: only until what"
        " --prune deletes is gone.",
    ),
]
WaitForDeletion = Annotated[
    bool, typer.Option("--wait/--no-wait", help="Wait until all objects are gone.")
]
Timeout = Annotated[str, typer.Option(metavar="DURATION", help="How long to wait, e.g. 90s or 5m.")]
DeleteProtected = Annotated[
    list[Protected] | None,
    typer.Option(
        "--delete-protected",
        metavar="KIND",
        help="Delete objects of this kind, too, although they take others or data along:"
        " namespaces, crds, pvcs, or all; may be repeated.",
    ),
]
ForceConflicts = Annotated[
    bool,
    typer.Option(
        "--force-conflicts", help="Take fields that other field managers hold with other values."
    ),
]
Recreate = Annotated[
    bool,
    typer.Option("--recreate", help="Delete and recreate objects that cannot be changed in place."),
]
TakeOver = Annotated[
    bool, typer.Option("--take-over", help="Take objects that belong to another inventory.")
]
NoAdopt = Annotated[
    bool, typer.Option("--no-adopt", help="Refuse objects that exist and belong to no inventory.")
]


@commands.command(
    short_help="Apply the objects in these files.",
    epilog=examples(
        "certwright apply -f app/ -i my-app -n prod --prune --wait",
        "helm template my-app ./chart | certwright apply -f - -i my-app -n prod --prune",
        "certwright apply -f app.yaml -i my-app --dry-run -o json",
        "certwright apply -f app.yaml -i my-app --force-conflicts   # also what others changed",
    ),
)
def apply(
    filename: Files,
    inventory: Inventory,
    namespace: Namespace = None,
    recursive: Recursive = False,
    prune: Prune = False,
    dry_run: DryRun = False,
    wait: WaitForHealth = None,
    timeout: Timeout = "5m",
    recreate: Recreate = False,
    take_over: TakeOver = False,
    no_adopt: NoAdopt = False,
    force_conflicts: ForceConflicts = False,
    delete_protected: DeleteProtected = None,
    yes: Yes = False,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Apply the objects in these files, and keep an inventory of them.

    CustomResourceDefinitions and namespaces are applied first. Objects that are up to date
    are not written again. With --prune, objects that were applied under this name before and are
    no longer in the files are deleted at the end; if these are most of them, apply asks first.
    Namespaces, CustomResourceDefinitions and PersistentVolumeClaims stay, unless
    --delete-protected names them.

    Fields that kubectl apply (client-side) or Helm wrote become this command's: what is not in the
    files any more goes. Fields that other field managers hold with other values are listed, and
    their objects are not written, unless --force-conflicts.

    If a document cannot be read, the others are applied, and nothing is pruned.

    Exit code 0: everything is as wanted; 2: something failed, is blocked, or cannot be read.
    """
    from certwright.cli.apply.apply import ApplyOptions, apply_manifests
    from certwright.cli.apply.inputs import read_input
    from certwright.cli.connection import run_once

    options = ApplyOptions(
        output=output,
        dry_run=dry_run,
        prune=prune,
        recreate=recreate,
        take_over=take_over,
        adopt=not no_adopt,
        force=force_conflicts,
        yes=yes,
        protected=delete_protected or (),
        wait=wait,
        seconds=seconds_of(timeout, "--timeout"),
    )
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
    force_conflicts: ForceConflicts = False,
    delete_protected: DeleteProtected = None,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show what apply would change, field by field; change nothing.

    The server compares, by dry runs. Values of Secrets are not shown.

    Exit code 0: nothing differs; 1: something does; 2: an error.
    """
    from certwright.cli.apply.apply import ApplyOptions, diff_manifests
    from certwright.cli.apply.inputs import read_input
    from certwright.cli.connection import run_once

    options = ApplyOptions(
        output=output,
        prune=prune,
        recreate=recreate,
        take_over=take_over,
        adopt=not no_adopt,
        force=force_conflicts,
        protected=delete_protected or (),
    )
    files = read_input(filename, recursive=recursive)
    target = Target(kubeconfig, context, namespace)
    run_once(diff_manifests(target, inventory, files, options))


@commands.command(
    short_help="Delete the objects of an inventory, in order.",
    epilog=examples(
        "certwright delete -i my-app -n prod --dry-run",
        "certwright delete -i my-app -n prod            # everything that was applied as my-app",
        "certwright delete -i my-app -n prod --delete-protected pvcs   # and its data",
        "certwright delete -f old.yaml -i my-app -n prod",
    ),
)
def delete(
    inventory: Inventory,
    filename: OptionalFiles = None,
    namespace: Namespace = None,
    recursive: Recursive = False,
    dry_run: DryRun = False,
    wait: WaitForDeletion = True,
    timeout: Timeout = "5m",
    delete_protected: DeleteProtected = None,
    yes: Yes = False,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Delete the objects of an inventory, workloads before what they mount.

    With -f, only the objects that the files name. Objects in a document that cannot be read
    stay, in the cluster and in the inventory.

    The objects are listed before anything is deleted; if they are most of ten or more, delete
    asks. Namespaces, CustomResourceDefinitions and PersistentVolumeClaims stay, here and in the
    inventory, unless --delete-protected names them. Objects that another owner has taken over
    stay, too.

    Waits until the objects are gone. What is left after --timeout is named with its finalizers,
    and stays in the inventory. Running the command again goes on, or finds nothing to delete.

    Exit code 0: all are gone; 2: something failed, is blocked, or cannot be read.
    """
    from certwright.cli.apply.apply import ApplyOptions
    from certwright.cli.apply.delete import delete_inventory
    from certwright.cli.apply.inputs import read_input
    from certwright.cli.connection import run_once

    options = ApplyOptions(
        output=output,
        dry_run=dry_run,
        yes=yes,
        protected=delete_protected or (),
        wait=wait,
        seconds=seconds_of(timeout, "--timeout"),
    )
    files = read_input(filename, recursive=recursive) if filename else None
    target = Target(kubeconfig, context, namespace)
    run_once(delete_inventory(target, inventory, files, options))


@commands.command(
    short_help="Show objects, what they own, and their health.",
    epilog=examples("certwright tree -i my-app -n prod", "certwright tree -f app/ -n prod -o json"),
)
def tree(
    inventory: Annotated[
        str | None, typer.Option("-i", "--inventory", metavar="NAME", help="Inventory to show.")
    ] = None,
    filename: OptionalFiles = None,
    namespace: Namespace = None,
    recursive: Recursive = False,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show objects, what they own (ReplicaSets, Pods, …), and their health.

    With -i, the objects of an inventory; with -f, those in the files; with both, those of the
    inventory that the files name. Documents that cannot be read are listed at the end.

    Exit code 0: all are healthy; 1: some are not; 2: an error.
    """
    from certwright.cli.apply.inputs import read_input
    from certwright.cli.apply.tree import show_tree
    from certwright.cli.connection import run_once

    if not inventory and not filename:
        raise UsageError("choose the objects: -i NAME for an inventory, or -f PATH for manifests")
    files = read_input(filename, recursive=recursive) if filename else None
    target = Target(kubeconfig, context, namespace)
    run_once(show_tree(target, inventory or "", files, output))
