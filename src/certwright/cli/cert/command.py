"""``certwright cert``: looking at certificates."""

from typing import Annotated

import typer

from certwright.cli.options import Context, Kubeconfig, Namespace, Target, examples

commands = typer.Typer(
    name="cert",
    help="Look at certificates.",
    no_args_is_help=True,
    rich_markup_mode=None,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@commands.callback()
def _group() -> None:
    """Look at certificates."""


@commands.command(
    short_help="Show certificates, and what is wrong with them.",
    epilog=examples(
        "certwright cert inspect tls.crt",
        "certwright cert inspect tls.crt --expires-within 168h  # for a cron job",
        "certwright cert inspect secret/web-tls -n shop         # chain, key match, trust",
        "certwright cert inspect cr/web-1 -n shop --lint        # does it match the request?",
        "certwright cert inspect - -o json < bundle.pem",
    ),
)
def inspect(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="A PEM file, - for standard input, secret/NAME, cr/NAME (CertificateRequest)"
            " or csr/NAME (Kubernetes' own).",
        ),
    ],
    namespace: Namespace = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FORMAT", help="table or json.")
    ] = "table",
    expires_within: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Count an expiry within this time as an error. Default: warn 720h ahead.",
        ),
    ] = None,
    lint: Annotated[
        bool, typer.Option("--lint", help="Run pkilint, too (pip install 'certwright[lint]').")
    ] = False,
) -> None:
    """Show certificates, how they are linked, and what is wrong with them.

    A source may hold a chain with its private key, a bundle of roots, a signing request, or a
    CertificateRequest with the certificate issued for it. Private keys are compared, never
    printed.

    Exit code 0: no errors, but maybe warnings; 1: there are errors; 2: a source cannot be read.
    """
    from certwright.cli.cert.inspect import InspectOptions, inspect

    target = Target(kubeconfig, context, namespace)
    raise typer.Exit(inspect(InspectOptions(sources, target, output, expires_within, lint)))
