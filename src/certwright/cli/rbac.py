"""``certwright rbac``: the role that controllers need."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from certwright.cli.options import ControllersOrOperators, Output, examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    short_help="Print the role that controllers need.",
    epilog=examples(
        "certwright rbac examples/greeting.py --name greeting | kubectl apply -f -",
        "certwright rbac certmanager --bundles ./bundles | kubectl apply -f -",
        "certwright rbac rollout --recreate-jobs | kubectl apply -f -",
    ),
)
def rbac(
    controllers: ControllersOrOperators,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the ClusterRole.")
    ] = "certwright",
    bundles: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="For certmanager: the versions whose roles it is to grant.",
            show_default=True,
        ),
    ] = Path("bundles"),
    recreate_jobs: Annotated[
        bool,
        typer.Option("--recreate-jobs", help="For rollout: that it may delete Jobs."),
    ] = False,
) -> None:
    """Print a ClusterRole with the permissions that controllers need.

    That of certmanager holds what cert-manager itself may do, for no one can grant more than they
    have: name the folder with the bundles of all versions that are to be installed.
    """
    from certwright.cli.controllers import built_controllers, load_controllers
    from certwright.cli.operators import INSTALLERS, bundles_in, named_operators
    from certwright.cli.terminal.output import document
    from certwright.runtime import policy_rules

    if INSTALLERS & set(controllers) and not bundles_in(bundles).packed:
        print(
            f"warning: there are no bundles in {bundles}, so the role lacks what cert-manager"
            " itself needs; make them with: certwright bundle build",
            file=sys.stderr,
        )
    named = named_operators(bundles, recreate_jobs=recreate_jobs)
    declared = load_controllers(controllers, named=named)
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": policy_rules(built_controllers(declared)),
    }
    print(document(role, Output.YAML))
