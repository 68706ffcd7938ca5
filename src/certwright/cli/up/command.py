"""The command line of ``certwright up``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from certwright.cli.errors import UsageError
from certwright.cli.options import OptionalControllers, examples

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    short_help="Start an API server, controllers and samples.",
    epilog=examples(
        "certwright up                               # a cluster to play with",
        "certwright up examples/greeting.py          # with a controller and its samples",
        "certwright up --kubeconfig ./kubeconfig my_controllers.py",
        "certwright up --state ~/.certwright-up      # your objects are there next time",
        "certwright up --real my_controllers.py      # on etcd and kube-apiserver",
    ),
)
def up(
    controllers: OptionalControllers = None,
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
    no_samples: Annotated[bool, typer.Option("--no-samples", help="Apply no samples.")] = False,
    no_managed_resources: Annotated[
        bool,
        typer.Option("--no-managed-resources", help="Do not run the ManagedResource operator."),
    ] = False,
    no_issuers: Annotated[
        bool,
        typer.Option(
            "--no-issuers",
            help="Do not approve or sign CertificateRequests; they are served all the same.",
        ),
    ] = False,
    no_approve: Annotated[
        bool,
        typer.Option("--no-approve", help="Leave the approval of CertificateRequests to you."),
    ] = False,
    no_cert_manager: Annotated[
        bool, typer.Option("--no-cert-manager", help="Do not install cert-manager.")
    ] = False,
    no_discovery_service: Annotated[
        bool,
        typer.Option("--no-discovery-service", help="Do not run a control plane for Envoys."),
    ] = False,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep objects, port and kubeconfig in this folder from one start to the next.",
        ),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=65535,
            help="The port on 127.0.0.1. Default: the one kept with --state, 16443, or a free one.",
            show_default=False,
        ),
    ] = 0,
    real: Annotated[
        bool, typer.Option("--real", help="Use a real control plane (built on first use).")
    ] = False,
) -> None:
    """Start an API server, controllers and samples; show what happens.

    The server runs in this process and listens on 127.0.0.1; Ctrl-C ends it, and without --state
    nothing is kept. Only the kubeconfig it writes gives access. Workloads get pods, which are
    played: they become ready, and nothing runs in them. The ManagedResource operator and an issuer
    run along, CertificateRequests are approved, and cert-manager is installed, which is played as
    well, and so is the control plane of a DiscoveryService, by which labelled Pods of the namespace
    default get a sidecar; there is a sample of each, with commands to try. With --real, the real
    cert-manager runs, and there is no DiscoveryService.
    """
    if real and (state or port):
        raise UsageError("--state and --port are for the embedded server; drop them, or --real")
    if samples and no_samples:
        raise UsageError("--samples and --no-samples exclude each other; drop one of them")
    if sys.stderr.isatty():
        print("starting ...", file=sys.stderr, flush=True)  # the imports below take a second
    from certwright.cli.up.up import UpOptions, run_up

    files = [Path(target.partition(":")[0]) for target in controllers or ()]
    beside = [file.with_suffix(".yaml") for file in files if file.suffix == ".py"]
    found = [path for path in dict.fromkeys(beside) if path.is_file()]
    chosen = [] if no_samples else samples or found
    run_up(
        UpOptions(
            controllers or [],
            kubeconfig,
            chosen,
            real=real,
            managed=not no_managed_resources,
            issuers=not no_issuers,
            approve=not no_approve,
            cert_manager=not no_cert_manager,
            discovery_service=not no_discovery_service,
            with_samples=not no_samples,
            state=state,
            port=port,
        )
    )
