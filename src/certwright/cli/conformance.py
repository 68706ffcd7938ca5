"""``certwright conformance``: the conformance kit of issuers, for issuers in any cluster."""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from certwright.cli.errors import UsageError
from certwright.cli.options import Context, Kubeconfig, examples, seconds_of

commands = typer.Typer(rich_markup_mode=None)

Issuer = Annotated[
    str,
    typer.Option(metavar="GROUP/KIND/NAME", help="Issuer to test; its controller must be running."),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "-n",
        "--namespace",
        metavar="NAME",
        help="Namespace of the requests, and of the issuer if its kind is namespaced."
        " Default: the namespace of the context.",
    ),
]
Unsupported = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FEATURE",
        help="Feature that the authority does not have, by its name in the matrix; repeatable.",
        show_default=False,
    ),
]


@commands.command(
    short_help="Test which certificates an issuer signs.",
    epilog=examples(
        "certwright conformance --issuer pki.example.com/DemoIssuer/my-ca -n shop",
        "certwright conformance --issuer pki.example.com/DemoClusterIssuer/my-ca --junit out.xml",
        "certwright conformance --issuer … --unsupported Duration --unsupported IssueCA",
    ),
)
def conformance(
    issuer: Issuer,
    namespace: Namespace = None,
    unsupported: Unsupported = None,
    key_secrets: Annotated[
        bool,
        typer.Option(
            "--key-secrets",
            help="Put the private keys into Secrets beside the requests, for self-signing issuers.",
        ),
    ] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML.")
    ] = None,
    timeout: Annotated[
        str, typer.Option(metavar="DURATION", help="How long a request may take.")
    ] = "1m",
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Test which certificates an issuer in a cluster signs, whatever it is written in.

    It creates and approves requests of every kind, compares each certificate with its request,
    and prints a matrix of features. At the end it deletes everything it created. It needs the
    permission to create, approve and delete requests, and to create and delete issuers of its
    kind.

    Exit code 0: all passed; 1: something failed; 2: it cannot be tested, because the cluster, the
    issuer, or cert-manager's definitions are not there.
    """
    from certwright.issuer.conformance import Feature
    from certwright.issuer.conformance.command import ConformanceOptions, IssuerName, main

    try:
        name = IssuerName.parse(issuer)
    except ValueError as error:
        raise UsageError(f"--issuer: {error}") from error
    if unknown := [text for text in unsupported or () if text not in set(Feature)]:
        known = ", ".join(sorted(Feature))
        raise UsageError(f"--unsupported: {unknown[0]!r} is not a feature; choose from {known}")
    features = [Feature(text) for text in unsupported or ()]
    patience = timedelta(seconds=seconds_of(timeout, "--timeout"))
    options = ConformanceOptions(
        name, kubeconfig, context, namespace, features, junit, patience, key_secrets
    )
    raise typer.Exit(main(options))
