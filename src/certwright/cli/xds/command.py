"""The command lines of ``certwright xds``; what they do is in the modules beside."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from certwright.cli.options import (
    AllNamespaces,
    Context,
    Files,
    Kubeconfig,
    Namespace,
    Output,
    OutputFormat,
    Recursive,
    Target,
    examples,
)

commands = typer.Typer(
    name="xds",
    help="Configuration of Envoys: check it, and see which Envoy runs what.",
    short_help="Check and follow the configuration of Envoys.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Schema = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Envoy's messages, as `certwright xds schema` writes them. "
        "Default: CERTWRIGHT_XDS_SCHEMA, then what --envoy carries.",
        show_default=False,
    ),
]
Envoy = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="An Envoy, which carries its messages. Default: CERTWRIGHT_ENVOY, then that of"
        " `make envoy`.",
        show_default=False,
    ),
]


@commands.command(
    short_help="List what Envoys are to run, and run.",
    epilog=examples(
        "certwright xds status -n shop               # exit code 1: an Envoy runs something else",
        "certwright xds status gateway -n shop -o json",
        "certwright xds status --server localhost:18000 --certificates ./tls \\",
        "    --server-name marin3r-instance.infra.svc",
    ),
)
def status(
    node: Annotated[
        str | None, typer.Argument(metavar="NODE", help="A node-id. Default: all.")
    ] = None,
    namespace: Namespace = None,
    all_namespaces: AllNamespaces = False,
    server: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Ask this discovery server what each of its Envoys holds. Once per replica.",
            show_default=False,
        ),
    ] = None,
    certificates: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="For --server: tls.crt, tls.key and ca.crt of the namespace."
        ),
    ] = Path(),
    server_name: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="For --server: whom its certificate names. Default: the host.",
            show_default=False,
        ),
    ] = "",
    output: OutputFormat = Output.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """List for each node-id the version that is wanted, served and held, and what was rejected.

    With --server, list for each Envoy and type of resources what it holds, whether it accepted or
    rejected what it was sent last, since when, and its words. A server shows the Envoys of the
    namespace that the certificate is for, as far as they are connected to it: name all replicas.

    Exit code 0: all Envoys run the version that is wanted; 1: one does not, or it is not served.
    """
    from certwright.cli.connection import run_once
    from certwright.cli.xds.schemas import require_library
    from certwright.cli.xds.status import show_status

    if server:
        require_library()
        from certwright.cli.xds.envoys import AskedServer, show_envoys

        asked = [AskedServer(one, server_name, certificates) for one in server]
        run_once(show_envoys(asked, node or "", output))
    target = Target(kubeconfig, context, namespace)
    run_once(show_status(target, node or "", output, all_namespaces=all_namespaces))


@commands.command(
    short_help="Check EnvoyConfigs without a cluster.",
    epilog=examples(
        "certwright xds validate -f gateway.yaml",
        "certwright xds validate -f configs/ -R --schema envoy-1.40.binpb -o json",
    ),
)
def validate(
    filename: Files,
    recursive: Recursive = False,
    schema: Schema = None,
    envoy: Envoy = None,
    output: OutputFormat = Output.TABLE,
) -> None:
    """Check EnvoyConfigs in manifests as the discovery service does before it serves them.

    Exit code 0: all can be served; 1: one cannot, and each problem names its field.
    """
    from certwright.cli.xds.schemas import find_schema
    from certwright.cli.xds.validate import validate_files

    sys.exit(validate_files(filename, find_schema(schema, envoy), output, recursive=recursive))


@commands.command(
    short_help="Write Envoy's messages into a file.",
    epilog=examples(
        "certwright xds schema --envoy /usr/local/bin/envoy -o envoy.binpb",
        "certwright xds schema --package venv/lib/python3.13/site-packages -o envoy.binpb",
    ),
)
def schema(
    target: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Where to.")],
    envoy: Envoy = None,
    package: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder in which the package xds-protos is installed, instead of an Envoy.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write the messages of an Envoy into a file: which fields there are, and their rules.

    The file is a FileDescriptorSet of Protocol Buffers. Take it from the Envoy that is in use: a
    newer schema would let through what that Envoy does not know.
    """
    from certwright.cli.xds.schemas import write_schema

    sys.exit(write_schema(target, envoy, package))
