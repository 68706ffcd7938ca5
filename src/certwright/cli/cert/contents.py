"""What `certwright cert inspect` looks at, wherever it was found: certificates, key, request."""

from dataclasses import dataclass, field, replace
from datetime import timedelta

from cryptography import x509

from certwright import pki
from certwright.api.certificates import CertificateSigningRequest
from certwright.api.certmanager import CertificateRequest
from certwright.kube.durations import parse_duration
from certwright.pki.errors import MalformedPem
from certwright.pki.pem import read_blocks, write_block
from certwright.pki.usages import DEFAULT_USAGES

SIZE_LIMIT = 1 << 20
"""Bytes of a file; a Secret cannot hold more either."""
_MOST_CERTIFICATES = 1_000
_CERTIFICATES = {"CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"}
_REQUESTS = {"CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST"}


@dataclass(frozen=True, slots=True)
class Contents:
    """What a source holds."""

    source: str
    certificates: tuple[x509.Certificate, ...] = ()
    """As they were found: of a chain the leaf first."""
    trusted: tuple[x509.Certificate, ...] = ()
    """Roots that came along, apart from the chain."""
    key: pki.PrivateKey | None = field(default=None, repr=False)
    request: pki.SigningRequest | None = None
    terms: pki.RequestTerms | None = None
    """What the request asks for besides the signing request, if known."""
    conditions: tuple[str, ...] = ()


def of_pem(source: str, data: bytes) -> Contents:
    """Read a PEM text: certificates, at most one key, at most one request; else `PkiError`."""
    labels = {block.label for block in read_blocks(data, limit=SIZE_LIMIT)}
    found = Contents(source)
    if labels & _CERTIFICATES:
        found = replace(found, certificates=_certificates(data))
    if labels & _REQUESTS:
        found = replace(found, request=pki.read_request(_only(data, _REQUESTS)))
    if any("PRIVATE KEY" in label for label in labels):
        keys = {label for label in labels if "PRIVATE KEY" in label}
        found = replace(found, key=pki.read_key(_only(data, keys)))
    if found == Contents(source):
        raise MalformedPem("neither a certificate, a signing request nor a private key found")
    return found


def of_secret(source: str, data: dict[str, bytes]) -> Contents:
    """Read a Secret: ``tls.crt``, ``tls.key``, ``ca.crt``, or any PEM; `PkiError` without any."""
    trusted = data.get("ca.crt", b"")
    own = [data[name] for name in ("tls.crt", "tls.key") if data.get(name)]
    if not own:
        own = [
            value
            for name, value in sorted(data.items())
            if b"-----BEGIN " in value and name != "ca.crt"
        ]
    if not own and trusted:
        return of_pem(source, trusted)
    found = of_pem(source, b"\n".join(own))
    return replace(found, trusted=_certificates(trusted) if trusted else ())


def of_certificate_request(source: str, request: CertificateRequest) -> Contents:
    """Read cert-manager's request and its certificate; `PkiError`, `ValueError` if malformed."""
    spec, status = request.spec, request.status
    lifetime = parse_duration(spec.duration) if spec.duration else timedelta(days=90)
    usages = pki.parse_usages(spec.usages) if spec.usages else DEFAULT_USAGES
    return Contents(
        source,
        _certificates(status.certificate) if status.certificate else (),
        _certificates(status.ca) if status.ca else (),
        request=pki.read_request(spec.request),
        terms=pki.RequestTerms(lifetime, spec.is_ca, usages),
        conditions=tuple(
            f"{one.type}={one.status} {one.reason}: {one.message}" for one in status.conditions
        ),
    )


def of_signing_request(source: str, request: CertificateSigningRequest) -> Contents:
    """Read Kubernetes' own request and its certificate; `PkiError` if one is malformed."""
    certificate = request.status.certificate
    return Contents(
        source,
        _certificates(certificate) if certificate else (),
        request=pki.read_request(request.spec.request),
        conditions=tuple(
            f"{one.type}={one.status} {one.reason}: {one.message}"
            for one in request.status.conditions
        ),
    )


def _certificates(data: bytes) -> tuple[x509.Certificate, ...]:
    found = pki.read_certificates(data, limit=SIZE_LIMIT, at_most=_MOST_CERTIFICATES)
    return tuple(found)


def _only(data: bytes, labels: set[str]) -> bytes:
    """Return the blocks of these kinds alone: the readers are strict about size."""
    blocks = read_blocks(data, limit=SIZE_LIMIT)
    return b"".join(write_block(one.label, one.der) for one in blocks if one.label in labels)
