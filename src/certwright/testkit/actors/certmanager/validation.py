"""Whether an object is one that cert-manager's webhook accepts. Pure.

Checked is what an empty or careless object lacks; the real webhook looks at much more.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from certwright.kube import JsonObject

_NAMES: Final = (
    "commonName", "dnsNames", "uris", "uriSANs", "emailAddresses", "emailSANs", "ipAddresses",
    "otherNames", "literalSubject",
)  # fmt: skip
_ISSUERS: Final = ("acme", "ca", "selfSigned", "vault", "venafi")
_REQUIRED: Final = "Required value: must be specified"
_NAMELESS: Final = (
    'spec: Invalid value: "": at least one of commonName (from the commonName field or from a '
    "literalSubject), dnsNames, emailSANs, ipAddresses, otherNames, or uriSANs must be set"
)


def refusal(obj: JsonObject) -> str:
    """Return why an object is refused; empty if it is accepted."""
    check = _CHECKS.get(obj.get("kind", ""))
    errors = list(check(obj.get("spec") or {})) if check else []
    return errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]" if errors else ""


def _certificate(spec: JsonObject) -> Iterator[str]:
    if not spec.get("secretName"):
        yield f"spec.secretName: {_REQUIRED}"
    yield from _issuer_reference(spec)
    if not any(spec.get(name) for name in _NAMES):
        yield _NAMELESS


def _request(spec: JsonObject) -> Iterator[str]:
    yield from _issuer_reference(spec)
    if not (spec.get("request") or spec.get("csr")):
        yield f"spec.request: {_REQUIRED}"


def _issuer_reference(spec: JsonObject) -> Iterator[str]:
    reference = spec.get("issuerRef") or {}
    if not reference.get("name"):
        yield f"spec.issuerRef.name: {_REQUIRED}"
    ours = reference.get("group", "") in {"", "cert-manager.io", "certmanager.k8s.io"}
    kind = reference.get("kind") or "Issuer"
    if ours and kind not in {"Issuer", "ClusterIssuer"}:
        allowed = "must be one of Issuer or ClusterIssuer"
        yield f'spec.issuerRef.kind: Invalid value: "{kind}": {allowed}'


def _issuer(spec: JsonObject) -> Iterator[str]:
    given = [name for name in _ISSUERS if spec.get(name) is not None]
    if not given:
        yield "spec: Required value: at least one issuer must be configured"
    for name in given[1:]:
        yield f"spec.{name}: Forbidden: may not specify more than one issuer type"


_CHECKS: Final[Mapping[str, Callable[[JsonObject], Iterator[str]]]] = {
    "Certificate": _certificate,
    "CertificateRequest": _request,
    "Issuer": _issuer,
    "ClusterIssuer": _issuer,
}
