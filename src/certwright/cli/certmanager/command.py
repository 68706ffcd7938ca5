"""The command lines of ``certwright cert-manager``; what they do is in the modules beside."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from certwright.cli.options import (
    Context,
    DryRun,
    Kubeconfig,
    Namespace,
    Output,
    OutputFormat,
    Target,
    examples,
    seconds_of,
)

commands = typer.Typer(
    name="cert-manager",
    help="Installations of cert-manager: what would change, what is broken, what to do.",
    short_help="Plan, check and explain installations of cert-manager.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

_FOLDER = Path("bundles")
Bundles = Annotated[
    Path, typer.Option("--bundles", metavar="DIR", help="Folder of bundles.", show_default=True)
]
OptionalFile = Annotated[
    str,
    typer.Option(
        "-f",
        "--filename",
        metavar="PATH",
        help="File with a CertManagerDeployment or CertManager. Default: that of the cluster.",
        show_default=False,
    ),
]
File = Annotated[
    str,
    typer.Option(
        "-f",
        "--filename",
        metavar="PATH",
        help="File with a CertManagerDeployment or CertManager, or - for standard input.",
    ),
]


@commands.command(
    short_help="List the versions that can be installed.",
    epilog=examples(
        "certwright cert-manager versions",
        "certwright cert-manager versions --bundles /srv/bundles -o json",
    ),
)
def versions(bundles: Bundles = _FOLDER, output: OutputFormat = Output.TABLE) -> None:
    """List the versions of cert-manager, the Kubernetes each is made for, and its bundle.

    Where there is no bundle yet, the command is shown that makes it. Works without a cluster.
    """
    from certwright.cli.certmanager.versions import show_versions

    sys.exit(show_versions(bundles, output))


@commands.command(
    short_help="Print the manifests that a custom resource asks for.",
    epilog=examples(
        "certwright cert-manager render -f cert-manager.yaml",
        "certwright cert-manager render -f cert-manager.yaml | certwright diff -f - -i check",
    ),
)
def render(
    filename: File,
    bundles: Bundles = _FOLDER,
    output: Annotated[Output, typer.Option("-o", "--output", help="yaml or json.")] = Output.YAML,
) -> None:
    """Print the objects that the operator would apply, in its order. Works without a cluster.

    Exit code 0: all of the request is followed; 2: a part of it is wrong, and its component is
    left out.
    """
    from certwright.cli.certmanager.render import render_file

    sys.exit(render_file(filename, bundles, output))


@commands.command(
    short_help="Find the broken link between the API server and a certificate.",
    epilog=examples(
        "certwright cert-manager check               # reads, and dry runs; changes nothing",
        "certwright cert-manager check --issue -n default",
    ),
)
def check(
    issue: Annotated[
        bool,
        typer.Option("--issue", help="Issue a certificate as well, and delete it afterwards."),
    ] = False,
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="How long that may take.")
    ] = "60s",
    namespace: Namespace = None,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Follow the chain from the API server to an issued certificate, and name the broken link.

    CRDs, pods, webhook registration, caBundle, Service and endpoints, a Certificate that is judged
    and not stored, the Lease of the controller, and with --issue a certificate. It works with any
    cert-manager, however it was installed.

    Exit code 0: no link is broken; 1: one is; 2: an error.
    """
    from certwright.cli.certmanager import check as checks
    from certwright.cli.connection import run_once

    target = Target(kubeconfig, context, namespace)
    run_once(checks.check(target, output, issue=issue, seconds=seconds_of(timeout, "--timeout")))


@commands.command(
    short_help="Explain the status of the installation.",
    epilog=examples("certwright cert-manager explain             # what does it wait for?"),
)
def explain(
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Explain the installation of a cluster: versions, the step, what it waits for, what to do.

    Exit code 0: certificates can be issued; 1: they cannot, or that is not known; 2: an error.
    """
    from certwright.cli.certmanager import explain as explained
    from certwright.cli.connection import run_once

    run_once(explained.explain(Target(kubeconfig, context), output))


@commands.command(
    short_help="Show what would change, before anything does.",
    epilog=examples(
        "certwright cert-manager plan                 # of the custom resource in the cluster",
        "certwright cert-manager plan -f upgrade.yaml --bundles ./bundles",
    ),
)
def plan(
    filename: OptionalFile = "",
    bundles: Bundles = _FOLDER,
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show what the operator would do with a custom resource; change nothing.

    Objects that would be created, changed and pruned, field by field, as dry runs of the API
    server tell; pods that would be replaced; what stands in the way, such as skipped versions and
    flags that are gone; and the notes on all versions in between. Bundles are taken from the
    folder, and from ConfigMaps in the cluster.

    Exit code 0: nothing would change; 1: something would; 2: something stands in the way, or an
    error.
    """
    from certwright.cli.certmanager import plan as plans
    from certwright.cli.connection import run_once

    run_once(plans.plan(Target(kubeconfig, context), filename, bundles, output))


@commands.command(
    short_help="Take over an installation by Helm or kubectl.",
    epilog=examples(
        "certwright cert-manager adopt -f cert-manager.yaml --dry-run",
        "certwright cert-manager adopt -f cert-manager.yaml",
    ),
)
def adopt(
    filename: OptionalFile = "",
    bundles: Bundles = _FOLDER,
    dry_run: DryRun = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show which objects of others would be taken over, ask, and set spec.adopt.

    The operator does the rest. If the custom resource describes what is installed, no pod is
    restarted; the plan says which would be.

    Exit code 0: it is set, or there is nothing to take over; 2: something stands in the way, or
    an error.
    """
    from certwright.cli.certmanager import adopt as adoption
    from certwright.cli.connection import run_once

    target = Target(kubeconfig, context)
    run_once(adoption.adopt(target, filename, bundles, yes=yes, dry_run=dry_run))
