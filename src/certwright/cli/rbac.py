"""``certwright rbac``: the role that controllers need."""

from typing import Annotated

import typer

from certwright.cli.options import Controllers, Output, examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    short_help="Print the role that controllers need.",
    epilog=examples("certwright rbac examples/greeting.py --name greeting | kubectl apply -f -"),
)
def rbac(
    controllers: Controllers,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the ClusterRole.")
    ] = "certwright",
) -> None:
    """Print a ClusterRole with the permissions that controllers need."""
    from certwright.cli.controllers import built_controllers, load_controllers
    from certwright.cli.terminal.output import document
    from certwright.runtime import policy_rules

    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": policy_rules(built_controllers(load_controllers(controllers))),
    }
    print(document(role, Output.YAML))
