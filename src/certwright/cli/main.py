"""The command line. Everything else is in the module of the command."""

import sys
from pathlib import Path
from typing import Annotated, Optional

import typer

from certwright import __version__
from certwright.cli.errors import UsageError

app = typer.Typer(
    name="certwright",
    help="Certificate infrastructure for Kubernetes: try, run and inspect controllers.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Targets = Annotated[
    Optional[list[str]],  # noqa: UP045 - Typer reads it at run time
    typer.Argument(
        metavar="[CONTROLLER]...",
        help="file.py, package.module, or either with :name for one controller of it.",
        show_default=False,
    ),
]


@app.command(
    epilog="Examples: certwright up examples/greeting.py | certwright up --kubeconfig ./kubeconfig"
    " | certwright up --real my_controllers.py"
)
def up(
    controllers: Targets = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(help="Where to write the kubeconfig. Default: a temporary file."),
    ] = None,
    samples: Annotated[
        list[Path] | None,
        typer.Option(
            help="Manifests to apply at the start. Default: the .yaml beside each controller file.",
            show_default=False,
        ),
    ] = None,
    no_samples: Annotated[bool, typer.Option("--no-samples", help="Start empty.")] = False,
    real: Annotated[
        bool, typer.Option("--real", help="Use a real control plane (built on first use).")
    ] = False,
) -> None:
    """Start an API server, controllers and samples; show what happens until Ctrl-C.

    The server lives in this process and forgets everything when it ends. It listens on
    127.0.0.1 and admits only the kubeconfig it writes. Deployments, StatefulSets, DaemonSets
    and Jobs become ready without nodes.
    """
    from certwright.cli.up import Plan, run_up

    files = [Path(target.partition(":")[0]) for target in controllers or ()]
    beside = [file.with_suffix(".yaml") for file in files if file.suffix == ".py"]
    chosen = samples or [path for path in beside if path.is_file()]
    run_up(Plan(controllers or [], kubeconfig, () if no_samples else tuple(chosen), real=real))


@app.command(
    epilog="Examples: certwright run examples/greeting.py | certwright run my_operator"
    " --leader-elect my-namespace/my-operator --probes :8081"
)
def run(
    controllers: Annotated[list[str], typer.Argument(metavar="CONTROLLER...", show_default=False)],
    kubeconfig: Annotated[
        Path | None,
        typer.Option(help="Default: KUBECONFIG, then ~/.kube/config, then in-cluster."),
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig.")] = None,
    leader_elect: Annotated[
        str | None,
        typer.Option(
            metavar="NAMESPACE/NAME", help="Work only while holding this Lease; others stand by."
        ),
    ] = None,
    probes: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Serve /livez, /readyz and /metrics, e.g. :8081. Default: nowhere.",
        ),
    ] = None,
    log_format: Annotated[
        str, typer.Option(help="text, json, or auto: text on a terminal.")
    ] = "auto",
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    dump: Annotated[
        Path | None,
        typer.Option(help="Where SIGUSR1 writes the internal state. Default: standard error."),
    ] = None,
) -> None:
    """Run controllers against a cluster until SIGTERM or Ctrl-C."""
    from certwright.cli.run import Options, run_controllers

    options = Options(
        controllers, kubeconfig, context, leader_elect, probes, log_format, log_level, dump
    )
    run_controllers(options)


@app.command(epilog="Example: certwright crds examples/greeting.py | kubectl apply -f -")
def crds(
    controllers: Annotated[list[str], typer.Argument(metavar="CONTROLLER...", show_default=False)],
) -> None:
    """Print the CustomResourceDefinitions of the kinds that controllers use."""
    from certwright.cli.manifests import print_crds

    print_crds(controllers)


@app.command(epilog="Example: certwright rbac examples/greeting.py --name greeting")
def rbac(
    controllers: Annotated[list[str], typer.Argument(metavar="CONTROLLER...", show_default=False)],
    name: Annotated[str, typer.Option(help="Name of the ClusterRole.")] = "certwright",
) -> None:
    """Print a ClusterRole that allows what controllers declare, and nothing else."""
    from certwright.cli.manifests import print_rbac

    print_rbac(controllers, name)


@app.command()
def version() -> None:
    """Print the version."""
    print(__version__)


def main() -> None:
    """Run the command line; a mistake of the user is one line, not a traceback."""
    from certwright.client import ConfigError, TransportError
    from certwright.testkit.controlplane.errors import ControlPlaneError

    try:
        app()
    except (UsageError, ConfigError, TransportError, ControlPlaneError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
