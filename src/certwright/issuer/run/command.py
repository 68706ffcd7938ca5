"""The command line of an issuer: run, crds, rbac, deploy, conformance and doctor."""

import asyncio
import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from certwright.client import ConfigError, TransportError, connect, load_config
from certwright.issuer.declaration import IncompleteApp
from certwright.issuer.run.lifetime import StartupFailed
from certwright.issuer.run.manifests import Installation, deployment, rbac_manifests
from certwright.issuer.run.run import NotReadyToRun, RunOptions, examine, serve
from certwright.issuer.sign.result import find
from certwright.kube import ApiError, JsonObject
from certwright.kube.names import dns_label_problems, dns_subdomain_problems
from certwright.runtime import ListenAddress, new_event_loop

if TYPE_CHECKING:
    from certwright.issuer.app import IssuerApp

_EPILOG = """\
a first installation, as an administrator:
  %(prog)s deploy --namespace pki --image registry.example.com/issuer:1 | kubectl apply -f -
  %(prog)s doctor --namespace pki --installed

on your own machine, with the permissions of your kubeconfig:
  %(prog)s crds | kubectl apply -f -
  %(prog)s run --no-leader-elect
"""


def main(app: "IssuerApp[Any]", argv: Sequence[str] | None = None) -> int:
    """Run the command that was given; return the exit code."""
    parser = make_parser(app)
    options = parser.parse_args(argv)
    try:
        app.refuse_incomplete()
        code: int = options.command(app, options)
    except NotReadyToRun as error:
        sys.stderr.write(f"not started:\n{error}\n")
        return 1
    except (ApiError, ConfigError, TransportError, IncompleteApp, ValueError) as error:
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
    made = {name: _add_command(commands, name, *texts) for name, texts in _COMMANDS.items()}
    for name in ("run", "doctor"):
        made[name].add_argument(
            "--kubeconfig", type=Path, help="which cluster; default: as kubectl finds it"
        )
        made[name].add_argument("--context", help="which context of the kubeconfig")
    for name in ("run", "rbac", "deploy", "doctor"):
        _add_installation(made[name], app)
    _add_run(made["run"])
    deploy = made["deploy"]
    deploy.add_argument("--image", required=True, help="the image; its entry point is this program")
    deploy.add_argument("--replicas", type=_count, default=2, help="one signs, others stand by (2)")
    _conformance_module().add_arguments(made["conformance"])
    made["doctor"].add_argument(
        "--installed",
        action="store_true",
        help="check the permissions of its ServiceAccount instead of yours",
    )
    return parser


def _add_command(
    commands: Any, name: str, run: Callable[..., int], short: str, more: str
) -> ArgumentParser:
    description = f"{short[0].upper()}{short[1:]}. {more}"
    parser: ArgumentParser = commands.add_parser(name, help=short, description=description)
    parser.set_defaults(command=run)
    return parser


def _typed() -> str:
    """Return the command that starts this program."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None:
        return f"python -m {spec.parent or spec.name}"
    return f"python {Path(sys.argv[0]).name}"


def _add_installation(parser: ArgumentParser, app: "IssuerApp[Any]") -> None:
    parser.add_argument(
        "--name",
        default=app.name,
        type=_object_name,
        help="name of the ServiceAccount, the roles and the Lease (%(default)s)",
    )
    parser.add_argument(
        "--namespace",
        default="",
        type=_namespace,
        help="where it runs and cluster issuers find Secrets (default: that of the"
        " configuration, for printing: the name)",
    )
    parser.add_argument(
        "--approver",
        default="cert-manager/cert-manager",
        type=_account,
        metavar="NAMESPACE/NAME",
        help="the ServiceAccount that approves requests (%(default)s)",
    )


def _object_name(text: str) -> str:
    if problems := dns_subdomain_problems(text):
        raise ArgumentTypeError(f"{text!r} is not a name: {problems[0]}")
    return text


def _namespace(text: str) -> str:
    if text and (problems := dns_label_problems(text)):
        raise ArgumentTypeError(f"{text!r} is not a namespace: {problems[0]}")
    return text


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a number of replicas, such as 2")
    return int(text)


def _account(text: str) -> str:
    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise ArgumentTypeError(f"{text!r} is not namespace/name")
    return text


def _add_run(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--no-leader-elect",
        action="store_true",
        help="sign without holding the Lease: only if no other process signs",
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
    chosen = RunOptions(
        kubeconfig=options.kubeconfig,
        context=options.context,
        leader_elect=not options.no_leader_elect,
        probes=ListenAddress.parse(options.probes) if options.probes else None,
        log_format=options.log_format,
        log_level=options.log_level,
        preflight=not options.no_preflight,
        installation=_in_cluster(options),
    )
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        try:
            runner.run(serve(app, chosen))
        except ExceptionGroup as group:
            if (failed := find(group, StartupFailed)) is None:
                raise
            raise NotReadyToRun(str(failed)) from group
        except OSError as error:
            if chosen.probes is None or not error.errno:
                raise
            problem = os.strerror(error.errno)
            raise ValueError(f"--probes {options.probes}: {problem}; choose another") from error
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
        where = _in_cluster(options)
        account = f"{where.namespace}/{where.name}" if options.installed else ""
        async with connect(options.kubeconfig, options.context) as client:
            prerequisites = await examine(client, app, where, account=account)
        for one in prerequisites:
            mark = "ok" if not one.problem else "MISSING" if one.is_fatal else "WARNING"
            sys.stdout.write(f"{mark:<8} {one.what}\n")
            if one.problem:
                sys.stdout.write(f"         {one.problem}\n")
        return int(any(one.problem for one in prerequisites))

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
    """Return the installation; its namespace is that of the configuration unless given."""
    found = load_config(options.kubeconfig, options.context).namespace
    return _installation(options, found)


def _conformance_module() -> Any:
    return import_module("certwright.issuer.conformance.command")


class _PlainDumper(yaml.SafeDumper):
    """Repeats what occurs twice: people read manifests, and not every tool knows anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - as the base names it
        return True


def _print(manifests: list[JsonObject]) -> int:
    text = yaml.dump_all(manifests, Dumper=_PlainDumper, sort_keys=False, explicit_start=True)
    sys.stdout.write(text)
    return 0


_COMMANDS: Mapping[str, tuple[Callable[..., int], str, str]] = {
    "run": (
        _run,
        "sign requests until a signal ends it",
        (
            "Checks first whether kinds and permissions are there; if not, it does not start and"
            " names the rule to add."
        ),
    ),
    "crds": (
        _crds,
        "print the CustomResourceDefinitions of its kinds",
        "The output is for kubectl apply.",
    ),
    "rbac": (
        _rbac,
        "print its roles, those of its users, and the right to approve its requests",
        "The output is for kubectl apply, into a namespace that exists.",
    ),
    "deploy": (
        _deploy,
        "print everything: namespace, crds, rbac and a Deployment",
        "The output is for kubectl apply.",
    ),
    "conformance": (
        _conformance,
        "test an issuer in a cluster and print what it supports",
        (
            "Needs the right to create, approve and delete requests and issuers of its kind, and"
            " removes what it creates. Exit codes: 0 it conforms, 1 it does not, 2 it cannot be"
            " tested."
        ),
    ),
    "doctor": (
        _doctor,
        "check kinds and permissions, and whether requests can be approved",
        "Exit codes: 0 nothing is missing, 1 something is; what to add is printed.",
    ),
}
