"""Options that several commands have, declared and explained once."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from certwright.cli.errors import UsageError


def examples(*lines: str) -> str:
    """Return examples as the end of a help text; the backspace makes Click keep the lines."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


class Output(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


class Protected(StrEnum):
    """Kinds whose objects are deleted only if ``--delete-protected`` names them."""

    NAMESPACES = "namespaces"
    CRDS = "crds"
    PVCS = "pvcs"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Target:
    """Which cluster a command talks to, and which namespace of it; None: as kubectl chooses."""

    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None


_CONTROLLER = "file.py, package.module, or either with :name for one controller of it."
Controllers = Annotated[list[str], typer.Argument(metavar="CONTROLLER", help=_CONTROLLER)]
ControllersOrOperators = Annotated[
    list[str],
    typer.Argument(
        metavar="CONTROLLER",
        help=f"{_CONTROLLER} Or an operator of this package: managedresource, garbagecollector,"
        " tokenrequestor, certmanager, ibm-certmanager, rollout, ca-refresh, discoveryservice.",
    ),
]
OptionalControllers = Annotated[
    list[str] | None, typer.Argument(metavar="CONTROLLER", help=_CONTROLLER, show_default=False)
]
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
        "-n", "--namespace", metavar="NAME", help="Default: the namespace of the context."
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
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a mass deletion.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Let the server check everything; change nothing.")
]


def seconds_of(text: str, option: str) -> float:
    """Read a duration such as 5m; `UsageError` if it is none, or not positive."""
    from certwright.kube.durations import parse_duration

    try:
        seconds = parse_duration(text).total_seconds()
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
    if seconds <= 0:
        raise UsageError(f"{option}: {text} is not longer than zero; write it like 30s or 5m")
    return seconds
