"""The command an issuer is: run, crds, rbac, deploy, conformance and doctor."""

import asyncio
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from certwright.client import ConfigError, TransportError, connect, load_config
from certwright.issuer.manifests import Installation, deployment, rbac_manifests
from certwright.issuer.running import NotReadyToRun, RunOptions, examine, serve
from certwright.kube import ApiError, JsonObject
from certwright.runtime import Address

if TYPE_CHECKING:
    from certwright.issuer.app import IssuerApp

_EPILOG = """\
a first installation, as an administrator:
  %(prog)s crds | kubectl apply -f -
  %(prog)s rbac --namespace pki | kubectl apply -f -
  %(prog)s deploy --namespace pki --image registry.example.com/issuer:1 | kubectl apply -f -
  %(prog)s doctor --namespace pki

on your own machine, with the permissions of your kubeconfig:
  %(prog)s crds | kubectl apply -f -
  %(prog)s run --no-leader-elect
"""


def main(app: "IssuerApp[Any]", argv: Sequence[str] | None = None) -> int:
    """Do what was typed; return the exit code."""
    parser = make_parser(app)
    options = parser.parse_args(argv)
    try:
        code: int = options.command(app, options)
    except NotReadyToRun as error:
        sys.stderr.write(f"not started:\n{error}\n")
        return 1
    except (ApiError, ConfigError, TransportError, ValueError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return code


def make_parser(app: "IssuerApp[Any]") -> ArgumentParser:
    """Declare the commands."""
    kinds = " and ".join(kind.resource.kind for kind in app.kinds)
    parser = ArgumentParser(
        prog=_typed(),
        description=f"The issuer of {kinds} in {app.kinds[0].resource.group}.",
        epilog=_EPILOG,
        formatter_class=RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="sign requests until a signal ends it")
    run.set_defaults(command=_run)
    _add_cluster(run)
    _add_installation(run, app)
    _add_run(run)
    crds = commands.add_parser("crds", help="print the CustomResourceDefinitions of its kinds")
    crds.set_defaults(command=_crds)
    rbac = commands.add_parser(
        "rbac", help="print its roles, those of its users, and the right to approve its requests"
    )
    rbac.set_defaults(command=_rbac)
    _add_installation(rbac, app)
    deploy = commands.add_parser("deploy", help="print everything: crds, rbac and a Deployment")
    deploy.set_defaults(command=_deploy)
    _add_installation(deploy, app)
    deploy.add_argument("--image", required=True, help="the image that runs this program")
    deploy.add_argument("--replicas", type=int, default=2, help="one signs, others stand by (2)")
    conformance = commands.add_parser(
        "conformance", help="test an issuer in a cluster and print what it supports"
    )
    conformance.set_defaults(command=_conformance)
    _conformance_module().add_arguments(conformance)
    doctor = commands.add_parser(
        "doctor", help="look whether kinds and permissions are there, and who may approve"
    )
    doctor.set_defaults(command=_doctor)
    _add_cluster(doctor)
    _add_installation(doctor, app)
    return parser


def _typed() -> str:
    """Return what people type to get here."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None:
        return f"python -m {spec.parent or spec.name}"
    return f"python {Path(sys.argv[0]).name}"


def _add_cluster(parser: ArgumentParser) -> None:
    parser.add_argument("--kubeconfig", type=Path, help="which cluster; default: as kubectl does")
    parser.add_argument("--context", help="which context of the kubeconfig")


def _add_installation(parser: ArgumentParser, app: "IssuerApp[Any]") -> None:
    parser.add_argument(
        "--name",
        default=app.name,
        help="of the ServiceAccount, the roles and the Lease (%(default)s)",
    )
    parser.add_argument(
        "--namespace",
        default="",
        help="where it runs and cluster issuers find Secrets (default: that of the"
        " configuration, for printing: the name)",
    )
    parser.add_argument(
        "--approver",
        default="cert-manager/cert-manager",
        metavar="NAMESPACE/NAME",
        help="the ServiceAccount that approves requests (%(default)s)",
    )


def _add_run(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--no-leader-elect",
        action="store_true",
        help="sign without asking for the Lease: only where nobody else does",
    )
    parser.add_argument(
        "--probes", metavar="HOST:PORT", help="serve /livez, /readyz and /metrics there"
    )
    parser.add_argument("--log-format", choices=("auto", "json", "text"), default="auto")
    parser.add_argument(
        "--log-level", choices=("debug", "info", "warning", "error"), default="info"
    )
    parser.add_argument(
        "--no-preflight", action="store_true", help="start even if kinds or permissions are missing"
    )


def _run(app: "IssuerApp[Any]", options: Namespace) -> int:
    asyncio.run(
        serve(
            app,
            RunOptions(
                kubeconfig=options.kubeconfig,
                context=options.context,
                leader_elect=not options.no_leader_elect,
                probes=Address.parse(options.probes) if options.probes else None,
                log_format=options.log_format,
                log_level=options.log_level,
                preflight=not options.no_preflight,
                installation=_in_cluster(options),
            ),
        )
    )
    return 0


def _crds(app: "IssuerApp[Any]", _options: Namespace) -> int:
    return _print(app.crds())


def _rbac(app: "IssuerApp[Any]", options: Namespace) -> int:
    return _print(_roles(app, _installation(options)))


def _deploy(app: "IssuerApp[Any]", options: Namespace) -> int:
    where = _installation(options)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": where.namespace}}
    arguments = [
        "run",
        f"--name={where.name}",
        f"--namespace={where.namespace}",
        f"--approver={where.approver}",
        "--probes=0.0.0.0:8081",
        "--log-format=json",
    ]
    workload = deployment(where, arguments)
    return _print([namespace, *app.crds(), *_roles(app, where), workload])


def _conformance(_app: "IssuerApp[Any]", options: Namespace) -> int:
    code: int = _conformance_module().run_arguments(options)
    return code


def _doctor(app: "IssuerApp[Any]", options: Namespace) -> int:
    async def look() -> int:
        async with connect(options.kubeconfig, options.context) as client:
            findings = await examine(client, app, _in_cluster(options))
        for one in findings:
            mark = "ok" if not one.problem else "MISSING" if one.is_fatal else "WARNING"
            sys.stdout.write(f"{mark:<8} {one.what}\n")
            if one.problem:
                sys.stdout.write(f"         {one.problem}\n")
        return int(any(one.problem for one in findings))

    return asyncio.run(look())


def _roles(app: "IssuerApp[Any]", where: Installation) -> list[JsonObject]:
    kinds = [kind.resource for kind in app.kinds]
    return rbac_manifests(kinds, app.settings, where, uses_secrets=app.spec.uses_secrets)


def _installation(options: Namespace, default_namespace: str = "") -> Installation:
    return Installation(
        name=options.name,
        namespace=options.namespace or default_namespace or options.name,
        approver=options.approver,
        image=getattr(options, "image", ""),
        replicas=getattr(options, "replicas", 1),
    )


def _in_cluster(options: Namespace) -> Installation:
    """Return where we are, as the configuration says unless somebody else does."""
    found = load_config(options.kubeconfig, options.context).namespace
    return _installation(options, found)


def _conformance_module() -> Any:
    return import_module("certwright.issuer.conformance.command")


def _print(manifests: list[JsonObject]) -> int:
    sys.stdout.write(yaml.safe_dump_all(manifests, sort_keys=False, explicit_start=True))
    return 0
