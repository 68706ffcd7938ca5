"""``certwright cert inspect``: from what was typed to what is printed, and the exit code."""

import binascii
import sys
from base64 import b64decode
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import msgspec
import orjson

from certwright import pki
from certwright.api.certificates import CertificateSigningRequest
from certwright.api.certmanager import CertificateRequest
from certwright.cli.cert.contents import (
    SIZE_LIMIT,
    Contents,
    of_certificate_request,
    of_pem,
    of_secret,
    of_signing_request,
)
from certwright.cli.cert.details import details_of, names_of
from certwright.cli.cert.diagnostics import Diagnostic, Horizon, Severity, diagnose
from certwright.cli.cert.lint import lint
from certwright.cli.cert.table import table
from certwright.cli.connection import connected
from certwright.cli.errors import UsageError
from certwright.cli.loops import run_to_end
from certwright.cli.options import Target
from certwright.client import Client
from certwright.clock import SYSTEM
from certwright.kube import ApiError, Key, NotFound, kinds
from certwright.kube.durations import parse_duration

Read = Callable[[Client, Key], Coroutine[Any, Any, Contents]]


@dataclass(frozen=True, slots=True)
class InspectOptions:
    """What the command line asks for."""

    sources: list[str]
    target: Target = field(default_factory=Target)
    """The cluster and namespace of objects."""
    output: str = "table"
    expires_within: str | None = None
    with_lint: bool = False


def inspect(options: InspectOptions) -> int:
    """Print what the sources hold; return 1 if any diagnostic is an error, else 0."""
    if options.output not in {"table", "json"}:
        raise UsageError(f"--output {options.output}: choose table or json")
    horizon = _horizon(options.expires_within)
    now = SYSTEM.now()
    sources = [_contents(source, options) for source in options.sources]
    diagnostics = [diagnose(contents, now, horizon) for contents in sources]
    if options.with_lint:
        for found, contents in zip(diagnostics, sources, strict=True):
            found.extend(lint(contents.certificates))
    if options.output == "json":
        reports = [report(*pair) for pair in zip(sources, diagnostics, strict=True)]
        print(orjson.dumps(reports, option=orjson.OPT_INDENT_2).decode())
    else:
        pairs = zip(sources, diagnostics, strict=True)
        print("\n".join(table(contents, found, now) for contents, found in pairs), end="")
    errors = [one for found in diagnostics for one in found if one.severity is Severity.ERROR]
    return 1 if errors else 0


def report(contents: Contents, diagnostics: list[Diagnostic]) -> dict[str, Any]:
    """Return everything as JSON values."""
    request = contents.request
    return {
        "source": contents.source,
        "certificates": [msgspec.to_builtins(details_of(one)) for one in contents.certificates],
        "trusted": [msgspec.to_builtins(details_of(one)) for one in contents.trusted],
        "privateKey": None if contents.key is None else str(pki.key_spec(contents.key)),
        "request": None
        if request is None
        else {
            "subject": pki.format_name(request.subject),
            "names": names_of(request.names),
            "key": str(pki.key_spec(request.public_key)),
        },
        "conditions": list(contents.conditions),
        "findings": [msgspec.to_builtins(one) for one in diagnostics],
    }


def _horizon(text: str | None) -> Horizon:
    """Return when an expiry is near; one within a term that was typed is an error."""
    try:
        return Horizon(parse_duration(text), Severity.ERROR) if text else Horizon()
    except ValueError as error:
        raise UsageError(f"--expires-within: {error}") from error


def _contents(source: str, options: InspectOptions) -> Contents:
    kind, slash, name = source.partition("/")
    read = _KINDS.get(kind.lower().removesuffix("s")) if slash else None
    try:
        if read is not None:
            return _from_cluster(read, name, options)
        if source == "-":
            return of_pem("standard input", sys.stdin.buffer.read(SIZE_LIMIT + 1))
        with Path(source).open("rb") as file:
            return of_pem(source, file.read(SIZE_LIMIT + 1))
    except OSError as error:
        hint = "" if not slash or source.startswith((".", "/")) else _OBJECTS
        raise UsageError(f"cannot read {source}: {error.strerror or error}{hint}") from error
    except (pki.PkiError, ValueError) as error:
        raise UsageError(f"{'standard input' if source == '-' else source}: {error}") from error


def _from_cluster(read: Read, name: str, options: InspectOptions) -> Contents:
    found: list[Contents] = []

    async def fetch() -> None:
        async with connected(options.target) as session:
            try:
                found.append(await read(session.client, Key(session.namespace, name)))
            except NotFound as error:
                raise UsageError(_missing(error, session.namespace)) from error
            except ApiError as error:
                raise UsageError(str(error)) from error

    run_to_end(fetch())
    return found[0]


def _missing(error: NotFound, namespace: str) -> str:
    if not error.details:
        return "this cluster does not serve CertificateRequests; install cert-manager first"
    return f"{error} in namespace {namespace}; choose another namespace with -n"


async def _secret(client: Client, key: Key) -> Contents:
    secret = await client.get(kinds.Secret, key)
    try:
        data = {name: b64decode(text) for name, text in (secret.get("data") or {}).items()}
    except binascii.Error as error:
        raise UsageError(f"Secret {key}: {error}") from error
    return of_secret(f"Secret {key}", data)


async def _certificate_request(client: Client, key: Key) -> Contents:
    request = await client.get(CertificateRequest, key)
    return of_certificate_request(f"CertificateRequest {key}", request)


async def _signing_request(client: Client, key: Key) -> Contents:
    try:
        request = await client.get(CertificateSigningRequest, Key("", key.name))
    except NotFound as error:
        raise UsageError(str(error)) from error
    source = f"CertificateSigningRequest {key.name}"
    return of_signing_request(source, request)


_OBJECTS: Final = "; objects are secret/NAME, cr/NAME and csr/NAME"
_KINDS: dict[str, Read] = {
    "secret": _secret,
    "certificaterequest": _certificate_request,
    "cr": _certificate_request,
    "certificatesigningrequest": _signing_request,
    "csr": _signing_request,
}
