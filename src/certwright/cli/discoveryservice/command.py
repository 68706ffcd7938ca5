"""The command line of ``certwright discovery-service``: flags of marin3r, of both its eras."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from certwright.cli.options import Context, Kubeconfig, examples

WebhookPort: TypeAlias = Annotated[
    int, typer.Option(metavar="PORT", help="Where reviews are answered.")
]
ProbeAddress: TypeAlias = Annotated[
    str, typer.Option("--health-probe-bind-address", metavar="ADDRESS", help="Probes.")
]
Schema: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Messages of Envoy: see xds schema. Default: CERTWRIGHT_XDS_SCHEMA, or an Envoy.",
    ),
]
Debug: TypeAlias = Annotated[bool, typer.Option("--debug", help="Log more.")]

commands = typer.Typer(rich_markup_mode=None)


@commands.command(
    "discovery-service",
    short_help="Run the control plane of a DiscoveryService.",
    epilog=examples(
        "certwright discovery-service --name instance --schema envoy.pb \\",
        "    --server-certificate-path ./server --ca-certificate-path ./ca",
    ),
)
def discovery_service(
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Of the DiscoveryService. Default: as the name of the Pod says."
        ),
    ] = "",
    server_certificate_path: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder with tls.crt and tls.key.")
    ] = Path("/etc/marin3r/tls/server"),
    ca_certificate_path: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder with tls.crt, the authorities of clients.")
    ] = Path("/etc/marin3r/tls/ca"),
    client_certificate_path: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Accepted, and not needed.", hidden=True)
    ] = None,
    xdss_port: Annotated[int, typer.Option(metavar="PORT", help="Where Envoys connect.")] = 18000,
    webhook_port: WebhookPort = 8443,
    metrics_address: Annotated[
        str,
        typer.Option(
            "--metrics-bind-address", "--metrics-addr", metavar="ADDRESS", help="Metrics."
        ),
    ] = ":8383",
    probe_address: ProbeAddress = ":8384",
    envoy_image: Annotated[
        str | None, typer.Option(metavar="IMAGE", help="Of sidecars whose Pods name none.")
    ] = None,
    image: Annotated[str, typer.Option(metavar="IMAGE", help="Of shutdown managers.")] = "",
    schema: Schema = None,
    debug: Debug = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Serve Envoys and inject sidecars until a signal ends it.

    Flags are those of marin3r's discovery service. All replicas serve; the one that holds the Lease
    writes.
    """
    import os

    from certwright.cli.discoveryservice.process import (
        ProcessSettings,
        run_discovery_service,
        service_name,
    )

    del client_certificate_path
    run_discovery_service(
        ProcessSettings(
            name=name or service_name(os.environ.get("POD_NAME", "")),
            server_directory=server_certificate_path,
            ca_directory=ca_certificate_path,
            xds_port=xdss_port,
            webhook_port=webhook_port,
            addresses=(metrics_address, probe_address),
            envoy_image=envoy_image,
            image=image,
            schema=schema,
            debug=debug,
            kubeconfig=kubeconfig,
            context=context,
        )
    )


@commands.command(
    "discovery-webhook",
    short_help="Answer reviews in place of marin3r's webhook.",
    epilog=examples("certwright discovery-webhook --tls-dir ./certificates --schema envoy.pb"),
    hidden=True,
)
def discovery_webhook(
    tls_dir: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder with certificate and key.")
    ] = Path("/apiserver.local.config/certificates"),
    tls_cert_name: Annotated[
        str, typer.Option(metavar="FILE", help="Of the certificate in it.")
    ] = "apiserver.crt",
    tls_key_name: Annotated[
        str, typer.Option(metavar="FILE", help="Of the key in it.")
    ] = "apiserver.key",
    webhook_port: WebhookPort = 8443,
    metrics_address: Annotated[
        str, typer.Option("--metrics-bind-address", metavar="ADDRESS", help="Metrics.")
    ] = ":8080",
    probe_address: ProbeAddress = ":8081",
    schema: Schema = None,
    debug: Debug = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Check EnvoyConfigs and let Pods pass until a signal ends it.

    Flags are those of the webhook of marin3r's later era. Pods are injected by the webhook of their
    DiscoveryService.
    """
    from certwright.cli.discoveryservice.process import LaterWebhookSettings, run_later_webhook
    from certwright.tls.directory import CertificateDirectory

    run_later_webhook(
        LaterWebhookSettings(
            certificates=CertificateDirectory(
                tls_dir, certificate_name=tls_cert_name, key_name=tls_key_name
            ),
            port=webhook_port,
            addresses=(metrics_address, probe_address),
            schema=schema,
            debug=debug,
            kubeconfig=kubeconfig,
            context=context,
        )
    )
