"""``certwright cert inspect``: from what was typed to what is printed, and the exit code."""

import binascii
import sys
from base64 import b64decode
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import msgspec
import orjson

from certwright import pki
from certwright.api.certificates import CertificateSigningRequest
from certwright.api.certmanager import CertificateRequest
from certwright.cli.cert import material as certmaterial
from certwright.cli.cert.facts import facts_of, names_of
from certwright.cli.cert.findings import Finding, Horizon, Severity, findings_in
from certwright.cli.cert.lint import lint
from certwright.cli.cert.material import SIZE_LIMIT, Material
from certwright.cli.cert.table import table
from certwright.cli.connection import connected
from certwright.cli.errors import UsageError
from certwright.cli.loops import run_to_end
from certwright.client import Client
from certwright.clock import SYSTEM
from certwright.kube import ApiError, Key, NotFound, kinds
from certwright.kube.durations import parse_duration

Read = Callable[[Client, Key], Coroutine[Any, Any, Material]]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user typed."""

    sources: list[str]
    namespace: str | None = None
    """None: that of the context."""
    kubeconfig: Path | None = None
    context: str | None = None
    output: str = "table"
    expires_within: str | None = None
    with_lint: bool = False


def inspect(options: Options) -> int:
    """Print what the sources hold; return 1 if any finding is an error, else 0.

    Raises:
        UsageError: a source cannot be read, or an option is wrong.
    """
    if options.output not in {"table", "json"}:
        raise UsageError(f"--output {options.output}: choose table or json")
    horizon = _horizon(options.expires_within)
    now = SYSTEM.now()
    materials = [_material(source, options) for source in options.sources]
    findings = [_findings(material, now, horizon, options) for material in materials]
    if options.output == "json":
        reports = [report(*pair) for pair in zip(materials, findings, strict=True)]
        print(orjson.dumps(reports, option=orjson.OPT_INDENT_2).decode())
    else:
        pairs = zip(materials, findings, strict=True)
        print("\n".join(table(material, found, now) for material, found in pairs), end="")
    errors = [one for found in findings for one in found if one.severity is Severity.ERROR]
    return 1 if errors else 0


def report(material: Material, findings: list[Finding]) -> dict[str, Any]:
    """Return everything as JSON values."""
    request = material.request
    return {
        "source": material.source,
        "certificates": [msgspec.to_builtins(facts_of(one)) for one in material.certificates],
        "trusted": [msgspec.to_builtins(facts_of(one)) for one in material.trusted],
        "privateKey": None if material.key is None else str(pki.key_spec(material.key)),
        "request": None
        if request is None
        else {
            "subject": pki.format_name(request.subject),
            "names": names_of(request.names),
            "key": str(pki.key_spec(request.public_key)),
        },
        "conditions": list(material.conditions),
        "findings": [msgspec.to_builtins(one) for one in findings],
    }


def _findings(
    material: Material, now: datetime, horizon: Horizon, options: Options
) -> list[Finding]:
    found = findings_in(material, now, horizon)
    return [*found, *lint(material.certificates)] if options.with_lint else found


def _horizon(text: str | None) -> Horizon:
    """Who names a term means it: an expiry within it is an error."""
    try:
        return Horizon(parse_duration(text), Severity.ERROR) if text else Horizon()
    except ValueError as error:
        raise UsageError(f"--expires-within: {error}") from error


def _material(source: str, options: Options) -> Material:
    kind, slash, name = source.partition("/")
    read = _KINDS.get(kind.lower().removesuffix("s")) if slash else None
    try:
        if read is not None:
            return _from_cluster(read, name, options)
        if source == "-":
            return certmaterial.of_pem("standard input", sys.stdin.buffer.read(SIZE_LIMIT + 1))
        with Path(source).open("rb") as file:
            return certmaterial.of_pem(source, file.read(SIZE_LIMIT + 1))
    except OSError as error:
        hint = "" if not slash or source.startswith((".", "/")) else _OBJECTS
        raise UsageError(f"cannot read {source}: {error.strerror or error}{hint}") from error
    except (pki.PkiError, ValueError) as error:
        raise UsageError(f"{'standard input' if source == '-' else source}: {error}") from error


def _from_cluster(read: Read, name: str, options: Options) -> Material:
    found: list[Material] = []

    async def fetch() -> None:
        async with connected(options.kubeconfig, options.context, options.namespace) as to:
            try:
                found.append(await read(to.client, Key(to.namespace, name)))
            except NotFound as error:
                raise UsageError(_missing(error, to.namespace)) from error
            except ApiError as error:
                raise UsageError(str(error)) from error

    run_to_end(fetch())
    return found[0]


def _missing(error: NotFound, namespace: str) -> str:
    if not error.details:
        return "this cluster does not know such requests; they come with cert-manager"
    return f"{error} in namespace {namespace}; -n names another"


async def _secret(client: Client, key: Key) -> Material:
    secret = await client.get(kinds.Secret, key)
    try:
        data = {name: b64decode(text) for name, text in (secret.get("data") or {}).items()}
    except binascii.Error as error:
        raise UsageError(f"Secret {key}: {error}") from error
    return certmaterial.of_secret(f"Secret {key}", data)


async def _certificate_request(client: Client, key: Key) -> Material:
    request = await client.get(CertificateRequest, key)
    return certmaterial.of_certificate_request(f"CertificateRequest {key}", request)


async def _signing_request(client: Client, key: Key) -> Material:
    try:
        request = await client.get(CertificateSigningRequest, Key("", key.name))
    except NotFound as error:
        raise UsageError(str(error)) from error
    source = f"CertificateSigningRequest {key.name}"
    return certmaterial.of_signing_request(source, request)


_OBJECTS: Final = "; objects are secret/NAME, cr/NAME and csr/NAME"
_KINDS: dict[str, Read] = {
    "secret": _secret,
    "certificaterequest": _certificate_request,
    "cr": _certificate_request,
    "certificatesigningrequest": _signing_request,
    "csr": _signing_request,
}
