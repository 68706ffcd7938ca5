"""The command line: its commands put together, and their mistakes as one line each."""

import os
import sys
from collections.abc import Iterable, Iterator

try:
    import typer
except ModuleNotFoundError:
    sys.exit("error: the command line needs another package: pip install 'certwright[cli]'")

from certwright import __version__
from certwright.cli import alerts, conformance, crds, rbac
from certwright.cli.apply import command as apply
from certwright.cli.bundle import command as bundle
from certwright.cli.cert import command as cert
from certwright.cli.certmanager import command as certmanager
from certwright.cli.discoveryservice import command as discoveryservice
from certwright.cli.ds import command as ds
from certwright.cli.errors import UsageError
from certwright.cli.gc import command as gc
from certwright.cli.inventory import command as inventory
from certwright.cli.manager import command as manager
from certwright.cli.marin3r import command as marin3r
from certwright.cli.mr import command as mr
from certwright.cli.options import examples
from certwright.cli.resourcemanager import command as resourcemanager
from certwright.cli.rollout import command as rollout
from certwright.cli.run import command as run
from certwright.cli.shutdownmanager import command as shutdownmanager
from certwright.cli.unique import command as unique
from certwright.cli.up import command as up
from certwright.cli.xds import command as xds

app = typer.Typer(
    name="certwright",
    help="Certificate infrastructure for Kubernetes: apply manifests, run operators and issuers.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (
    up, run, crds, rbac, apply, inventory, mr, rollout,
    resourcemanager, manager, gc, unique, cert, certmanager, ds, discoveryservice, bundle, xds,
    shutdownmanager, marin3r, conformance, alerts,
):  # fmt: skip
    app.add_typer(command.commands)


@app.command(epilog=examples("certwright version"))
def version() -> None:
    """Print the version."""
    print(__version__)


def main() -> None:
    """Run the command line; print mistakes that a person can correct without a traceback."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        parts = list(_parts(error))
        if any(isinstance(part, BrokenPipeError) for part in parts):
            # The reader of the pipe has closed it; do not fail again when Python flushes it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(1)
        mistakes = _mistakes(parts)
        if not mistakes:
            raise
        for mistake in mistakes:
            print(f"error: {mistake}", file=sys.stderr)
        sys.exit(2)


def _parts(error: BaseException) -> Iterator[BaseException]:
    """Yield the errors, also those inside a group."""
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _parts(part)
    else:
        yield error


def _mistakes(errors: Iterable[BaseException]) -> list[BaseException]:
    """Return the errors that a person can correct."""
    from certwright.client import ConfigError, TransportError
    from certwright.testkit.controlplane import ControlPlaneError

    correctable = UsageError | ConfigError | TransportError | ControlPlaneError
    return [error for error in errors if isinstance(error, correctable)]
