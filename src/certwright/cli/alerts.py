"""``certwright alerts``: the alerting rules for Prometheus."""

from importlib.resources import files

import typer

from certwright.cli.options import examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    short_help="Print alerting rules for Prometheus.",
    epilog=examples("certwright alerts > certwright-rules.yaml"),
)
def alerts() -> None:
    """Print alerting rules for the metrics of controllers, operators and issuers."""
    print(files("certwright.cli").joinpath("alerts.yaml").read_text("utf-8"), end="")
