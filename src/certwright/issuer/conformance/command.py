"""The ``conformance`` command: a matrix on the terminal, JUnit XML in a file."""

import asyncio
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path

from certwright.api.certmanager import CertificateRequest
from certwright.client import Client, ConfigError, HttpTransport, TransportError, load_config
from certwright.clock import SYSTEM
from certwright.issuer.conformance.cases.features import Feature, read_feature
from certwright.issuer.conformance.matrix import junit, render
from certwright.issuer.conformance.results import CaseResult, CaseStatus, ConformanceReport
from certwright.issuer.conformance.runner import ITEMS, run
from certwright.issuer.conformance.undertest import PATIENCE, IssuerUnderTest
from certwright.kube import ApiError, Key, NotFound, Resource, resource_of
from certwright.kube.durations import parse_duration

DESCRIPTION = (
    "Request certificates of every kind from an issuer in a cluster, check each answer,"
    " and print what it supports. Needs the right to create, approve and delete requests and"
    " to create and delete issuers of its kind; removes everything it creates."
)


class NoSuchIssuer(Exception):
    """The issuer to test cannot be found; the message names the remedy."""


class DefinitionsMissing(Exception):
    """The cluster does not serve the requests that are to be made; the message has the remedy."""


@dataclass(frozen=True, slots=True)
class IssuerName:
    """An issuer as named on the command line."""

    group: str
    kind: str
    name: str

    @classmethod
    def parse(cls, text: str) -> "IssuerName":
        """Read ``group/kind/name``; `ValueError` if it is not of this form."""
        parts = text.split("/")
        if len(parts) != 3 or not all(parts):
            raise ValueError(
                f"{text!r} is not group/kind/name, such as pki.example.com/DemoIssuer/my-ca"
            )
        return cls(*parts)


@dataclass(frozen=True, slots=True)
class ConformanceOptions:
    """The options of the command."""

    issuer: IssuerName
    kubeconfig: Path | None = None
    context: str | None = None
    namespace: str | None = None
    """None: that of the context."""
    unsupported: Sequence[Feature] = field(default=())
    junit: Path | None = None
    timeout: timedelta = PATIENCE
    key_secrets: bool = False


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's options on a parser."""
    parser.add_argument(
        "--issuer",
        required=True,
        type=_issuer,
        metavar="GROUP/KIND/NAME",
        help="the issuer to test",
    )
    parser.add_argument(
        "--kubeconfig", type=Path, help="which cluster; default: as kubectl finds it"
    )
    parser.add_argument("--context", help="which context of the kubeconfig")
    parser.add_argument(
        "--namespace",
        help="where requests are made, and the issuer if it has one; default: as kubectl finds it",
    )
    parser.add_argument(
        "--unsupported",
        action="append",
        default=[],
        type=_feature,
        metavar="FEATURE",
        help=f"what its authority does not do; may be repeated: {', '.join(sorted(Feature))}",
    )
    parser.add_argument(
        "--key-secrets",
        action="store_true",
        help="put the private keys into Secrets beside the requests, for self-signing issuers",
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit XML")
    parser.add_argument(
        "--timeout",
        type=_duration,
        default=PATIENCE,
        metavar="DURATION",
        help="how long one answer may take, such as 90s or 8m (default: 1m)",
    )


def run_arguments(arguments: Namespace) -> int:
    """Run the command with parsed options; return its exit code."""
    chosen = {one.name: getattr(arguments, one.name) for one in fields(ConformanceOptions)}
    return main(ConformanceOptions(**chosen))


def main(options: ConformanceOptions) -> int:
    """Test an issuer and print the matrix: 0 it conforms, 1 it does not, 2 it cannot be tested."""
    try:
        report = asyncio.run(_test(options))
    except (NoSuchIssuer, DefinitionsMissing, ApiError, TransportError, ConfigError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    sys.stdout.write(render(report))
    if options.junit is not None:
        options.junit.write_bytes(junit(report))
    return 0 if report.conforms else 1


async def _test(options: ConformanceOptions) -> ConformanceReport:
    config = load_config(options.kubeconfig, options.context)
    namespace = options.namespace or config.namespace or "default"
    async with Client(HttpTransport(config)) as client:
        resource = await _resource_of(client, options.issuer)
        subject = IssuerUnderTest(
            client,
            SYSTEM,
            Key(namespace if resource.namespaced else "", options.issuer.name),
            resource,
            namespace,
            dict.fromkeys(options.unsupported, "by --unsupported"),
            options.timeout,
            key_secrets=options.key_secrets,
        )
        try:
            await client.get(resource, subject.issuer)  # fail once, not in every case
        except NotFound as error:
            where = f" in namespace {namespace}" if resource.namespaced else ""
            raise NoSuchIssuer(f"{error}{where}: create the issuer first") from error
        await _check_definitions(client)
        return await run(subject, ITEMS, progress=_show)


async def _resource_of(client: Client, issuer: IssuerName) -> Resource:
    found = [
        one
        for one in await client.discovery.resources()
        if (one.group, one.kind) == (issuer.group, issuer.kind)
    ]
    if not found:
        raise NoSuchIssuer(
            f"this cluster serves no kind {issuer.kind} in the group {issuer.group}:"
            " install its CustomResourceDefinition first"
        )
    return found[0]


async def _check_definitions(client: Client) -> None:
    """Raise `DefinitionsMissing` if cert-manager's requests are not served."""
    wanted = resource_of(CertificateRequest)
    if wanted.qualified not in {one.qualified for one in await client.discovery.resources()}:
        raise DefinitionsMissing(
            f"this cluster serves no {wanted.kind}s of {wanted.api_version}: install cert-manager,"
            " or its CustomResourceDefinitions alone, first"
        )


def _show(result: CaseResult) -> None:
    if result.status is CaseStatus.FAILED:
        names = ", ".join(one.name for one in result.violations)
        sys.stderr.write(f"failed: {result.suite}: {result.name}: {names}\n")


def _issuer(text: str) -> IssuerName:
    try:
        return IssuerName.parse(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def _feature(text: str) -> Feature:
    try:
        return read_feature(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def _duration(text: str) -> timedelta:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
