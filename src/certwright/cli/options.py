"""Options that several commands have, spelt and explained once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from certwright.cli.errors import UsageError


def examples(*lines: str) -> str:
    """Return an epilog that keeps its lines (that is what the backspace says)."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


class Output(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


Files = Annotated[
    list[str],
    typer.Option(
        "-f",
        "--filename",
        metavar="PATH",
        help="File or directory of manifests, or - for standard input; may be repeated.",
    ),
]
Recursive = Annotated[bool, typer.Option("--recursive", "-R", help="Read subdirectories too.")]
Namespace = Annotated[
    str | None,
    typer.Option(
        "-n", "--namespace", metavar="NAME", help="Default: that of the context, else default."
    ),
]
AllNamespaces = Annotated[bool, typer.Option("-A", "--all-namespaces", help="In all namespaces.")]
Kubeconfig = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Default: KUBECONFIG, then ~/.kube/config, then in-cluster."),
]
Context = Annotated[str | None, typer.Option(metavar="NAME", help="Context of the kubeconfig.")]
OutputFormat = Annotated[
    Output, typer.Option("-o", "--output", help="How to print the result.", show_choices=True)
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before deleting a lot.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Have the server check everything, but change nothing.")
]


def seconds_of(text: str, option: str) -> float:
    """Read a duration such as 5m.

    Raises:
        UsageError: it is none, or not positive.
    """
    from certwright.kube.durations import parse_duration

    try:
        seconds = parse_duration(text).total_seconds()
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
    if seconds <= 0:
        raise UsageError(f"{option}: {text} is not a time to wait; write it like 30s or 5m")
    return seconds
