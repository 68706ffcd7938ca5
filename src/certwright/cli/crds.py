"""``certwright crds``: the definitions of the kinds that controllers watch."""

import sys

import typer

from certwright.cli.options import ControllersOrOperators, Output, examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    short_help="Print the definitions that controllers need.",
    epilog=examples(
        "certwright crds examples/greeting.py | kubectl apply -f -",
        "certwright crds managedresource certmanager | kubectl apply --server-side -f -",
    ),
)
def crds(controllers: ControllersOrOperators) -> None:
    """Print the CustomResourceDefinitions that controllers need."""
    from certwright.cli.controllers import custom_kinds, load_controllers
    from certwright.cli.operators import named_operators
    from certwright.cli.terminal.output import documents
    from certwright.kube import crd_manifest

    kinds = custom_kinds(load_controllers(controllers, named=named_operators()))
    if not kinds:
        print("no kinds of their own, so nothing is to be installed", file=sys.stderr)
        return
    print(documents([crd_manifest(kind) for kind in kinds], Output.YAML))
