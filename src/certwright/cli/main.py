"""The command line. Everything else is in the module of the command."""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated

try:
    import typer
except ModuleNotFoundError:
    sys.exit("error: the command line has a dependency of its own: pip install 'certwright[cli]'")

from certwright import __version__
from certwright.cli import conformance
from certwright.cli.apply import commands as applycommands
from certwright.cli.cert.commands import cert
from certwright.cli.data import commands as datacommands
from certwright.cli.errors import UsageError
from certwright.cli.mr import commands as mrcommands
from certwright.cli.options import Context, Kubeconfig, examples

app = typer.Typer(
    name="certwright",
    help="Certificate infrastructure for Kubernetes: apply manifests, run operators and issuers.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

app.add_typer(cert, name="cert")
app.add_typer(applycommands.commands)
app.add_typer(mrcommands.commands)
app.add_typer(datacommands.commands)
app.add_typer(conformance.commands)

_WHAT = "file.py, package.module, or either with :name for one controller of it."

Targets = Annotated[list[str], typer.Argument(metavar="CONTROLLER", help=_WHAT)]
OptionalTargets = Annotated[
    list[str] | None, typer.Argument(metavar="CONTROLLER", help=_WHAT, show_default=False)
]


@app.command(
    short_help="Start an API server, controllers and samples.",
    epilog=examples(
        "certwright up                               # a cluster to play with",
        "certwright up examples/greeting.py          # with a controller and its samples",
        "certwright up --kubeconfig ./kubeconfig my_controllers.py",
        "certwright up --real my_controllers.py      # on etcd and kube-apiserver",
    ),
)
def up(
    controllers: OptionalTargets = None,
    kubeconfig: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to write the kubeconfig; must not exist. Default: a temporary file.",
        ),
    ] = None,
    samples: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Manifests to apply at the start; may be repeated."
            " Default: the .yaml beside each controller file.",
            show_default=False,
        ),
    ] = None,
    no_samples: Annotated[bool, typer.Option("--no-samples", help="Start empty.")] = False,
    no_managed_resources: Annotated[
        bool,
        typer.Option("--no-managed-resources", help="Do not run the ManagedResource operator."),
    ] = False,
    no_issuers: Annotated[
        bool, typer.Option("--no-issuers", help="Neither approve nor sign requests.")
    ] = False,
    real: Annotated[
        bool, typer.Option("--real", help="Use a real control plane (built on first use).")
    ] = False,
) -> None:
    """Start an API server, controllers and samples; show what happens.

    Ctrl-C ends it. The server runs in this process, listens on 127.0.0.1, and forgets everything
    when it ends. Only the kubeconfig it writes gives access. Deployments, StatefulSets, DaemonSets
    and Jobs become ready without nodes. ManagedResources are kept, and CertificateRequests are
    approved and signed; there is a sample of each, with commands to try.
    """
    if samples and no_samples:
        raise UsageError("--samples and --no-samples exclude each other; drop one of them")
    if sys.stderr.isatty():
        print("starting ...", file=sys.stderr, flush=True)  # what is imported next takes its time
    from certwright.cli.up.up import Plan, run_up

    files = [Path(target.partition(":")[0]) for target in controllers or ()]
    beside = [file.with_suffix(".yaml") for file in files if file.suffix == ".py"]
    found = [path for path in dict.fromkeys(beside) if path.is_file()]
    chosen = [] if no_samples else samples or found
    run_up(
        Plan(
            controllers or [],
            kubeconfig,
            chosen,
            real=real,
            managed=not no_managed_resources,
            issuers=not no_issuers,
            with_samples=not no_samples,
        )
    )


@app.command(
    short_help="Run controllers against a cluster.",
    epilog=examples(
        "certwright run examples/greeting.py         # the current context, or the pod's account",
        "certwright run my_operator.main:controller --context staging",
        "certwright run my_operator --leader-elect my-namespace/my-operator --probes :8081",
    ),
)
def run(
    controllers: Targets,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    leader_elect: Annotated[
        str | None,
        typer.Option(
            metavar="NAMESPACE/NAME", help="Work only while holding this Lease; stand by otherwise."
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
        str, typer.Option(metavar="FORMAT", help="text, json, or auto: text on a terminal.")
    ] = "auto",
    log_level: Annotated[
        str, typer.Option(metavar="LEVEL", help="debug, info, warning or error.")
    ] = "info",
    dump: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where SIGUSR1 writes the internal state. Default: stderr."
        ),
    ] = None,
) -> None:
    """Run controllers against a cluster until SIGTERM or Ctrl-C.

    If the server cannot be reached or refuses the credentials, the process does not end: it says
    so in the log and on /readyz, and continues as soon as it can.
    """
    from certwright.cli.run import Options, run_controllers

    options = Options(
        controllers, kubeconfig, context, leader_elect, probes, log_format, log_level, dump
    )
    run_controllers(options)


@app.command(epilog=examples("certwright crds examples/greeting.py | kubectl apply -f -"))
def crds(controllers: Targets) -> None:
    """Print the CustomResourceDefinitions controllers need."""
    from certwright.cli.manifests import print_crds

    print_crds(controllers)


@app.command(
    epilog=examples("certwright rbac examples/greeting.py --name greeting | kubectl apply -f -")
)
def rbac(
    controllers: Targets,
    name: Annotated[
        str, typer.Option(metavar="NAME", help="Name of the ClusterRole.")
    ] = "certwright",
) -> None:
    """Print the smallest ClusterRole controllers need."""
    from certwright.cli.manifests import print_rbac

    print_rbac(controllers, name)


@app.command(
    "resource-manager",
    add_help_option=False,
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def resource_manager(context: typer.Context) -> None:
    """Keep ManagedResources, collect garbage, renew tokens."""
    from certwright.cli.resourcemanager.flags import parse
    from certwright.cli.resourcemanager.run import run_resource_manager

    given = parse(context.args)
    if given.version:
        print(__version__)
    else:
        run_resource_manager(given)


@app.command(epilog=examples("certwright version"))
def version() -> None:
    """Print the version."""
    print(__version__)


def main() -> None:
    """Run the command line; a mistake of the user is one line, not a traceback."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        parts = list(_parts(error))
        if any(isinstance(part, BrokenPipeError) for part in parts):
            # Whoever read our output has seen enough; do not fail again when Python flushes it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        mistakes = _mistakes(parts)
        if not mistakes:
            raise
        for mistake in mistakes:
            print(f"error: {mistake}", file=sys.stderr)
        sys.exit(2)


def _parts(error: BaseException) -> Iterator[BaseException]:
    """Yield what went wrong, also from inside a group."""
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _parts(part)
    else:
        yield error


def _mistakes(errors: Iterable[BaseException]) -> list[BaseException]:
    """Return what the user can mend."""
    from certwright.client import ConfigError, TransportError
    from certwright.testkit.controlplane import ControlPlaneError

    mendable = UsageError | ConfigError | TransportError | ControlPlaneError
    return [error for error in errors if isinstance(error, mendable)]
