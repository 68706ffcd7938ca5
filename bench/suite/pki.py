"""What a certificate costs beyond the library calls that nobody can avoid."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from bench.result import Result, at_most
from certwright import pki

ROUNDS, CERTIFICATES = 15, 100
NOW = datetime(2030, 1, 1, tzinfo=UTC)
USAGES = pki.parse_usages(["digital signature", "server auth", "client auth"])
TERMS = pki.RequestTerms(timedelta(days=90), usages=USAGES)


def run(runs: int) -> Result:
    key = pki.generate_key(pki.KeySpec())
    authority = pki.create_root(pki.parse_name("CN=root"), key, timedelta(days=999), NOW)
    names = pki.AlternativeNames.of_hosts("a.example", "b.example")
    csr = pki.build_request(
        pki.generate_key(pki.KeySpec()), pki.parse_name("CN=a,O=b"), names, usages=USAGES
    )
    pem = pki.write_request(csr)

    def ours() -> None:
        authority.write_chain(authority.issue_request(pki.read_request(pem), TERMS, NOW))

    def bare() -> None:
        bare_issue(pem, authority.certificate, key)

    # Turn by turn, so that a busy neighbour hits both.
    pairs = [(cpu(ours), cpu(bare)) for _ in range(ROUNDS * runs)]
    factor = median(one / other for one, other in pairs)
    return Result(
        "pki",
        "one P-256 certificate: signing request parsed and verified, checked, certificate signed "
        "with six extensions, PEM written; CPU time.",
        {
            "certwright": {"µs per certificate": median(one for one, _ in pairs) * 1e6},
            "bare cryptography": {"µs per certificate": median(other for _, other in pairs) * 1e6},
        },
        [at_most("pki: full P-256 issue, times the bare calls", factor, 1.3, "")],
        runs,
    )


def cpu(issue: Callable[[], None]) -> float:
    start = time.thread_time()
    for _ in range(CERTIFICATES):
        issue()
    return (time.thread_time() - start) / CERTIFICATES


def bare_issue(pem: bytes, signer: x509.Certificate, key: pki.PrivateKey) -> bytes:
    """The same certificate without any check but the signature."""
    csr = x509.load_pem_x509_csr(pem)
    assert csr.is_signature_valid
    public_key = csr.public_key()
    names = csr.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    known: Any = signer.public_key()
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(known)
    builder = (
        x509.CertificateBuilder()
        .subject_name(csr.subject)
        .issuer_name(signer.subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW)
        .not_valid_after(NOW + timedelta(days=90))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(USAGES.key_usage(), critical=True)
        .add_extension(x509.ExtendedKeyUsage(USAGES.extended), critical=False)
        .add_extension(names, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .add_extension(identifier, critical=False)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
