"""Everything in `certwright.pki` that reads, fed with what nobody should send.

Under pytest Hypothesis drives the targets for a moment. With atheris installed (`pip install
atheris`) one target runs until it is stopped::

    python tests/fuzz/pki/test_parsers.py request [folder-with-corpus]

A target fails by any exception that is not a `PkiError`.
"""

import contextlib
import importlib
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certwright.pki import (
    AlternativeNames,
    Authority,
    KeyAlgorithm,
    KeySpec,
    PkiError,
    RequestTerms,
    build_request,
    certificate_violations,
    create_intermediate,
    create_root,
    format_name,
    generate_key,
    parse_name,
    parse_usages,
    read_bundle,
    read_certificate,
    read_certificates,
    read_chain,
    read_key,
    read_request,
    request_template,
    verify_path,
    write_certificates,
    write_key,
    write_request,
)
from certwright.pki.certificates import usages_of
from certwright.pki.matches import chain_violations
from certwright.pki.pem import read_blocks, write_block
from certwright.pki.requests import request_violations

NOW = datetime(2031, 5, 17, 12, tzinfo=UTC)
DAY = timedelta(days=1)

pytestmark = pytest.mark.filterwarnings("ignore")  # the parsers below warn about odd encodings


@cache
def authority() -> tuple[Authority, Authority, x509.CertificateSigningRequest]:
    """A root and an intermediate, and a request for a leaf."""
    top = create_root(parse_name("CN=top,O=x"), generate_key(KeySpec()), 99 * DAY, NOW)
    between = create_intermediate(top, parse_name("CN=b"), generate_key(KeySpec()), 50 * DAY, NOW)
    names = AlternativeNames.of_hosts("a.example", "10.0.0.1")
    usages = parse_usages(["signing", "server auth"])
    csr = build_request(generate_key(KeySpec()), parse_name("CN=a"), names, usages=usages)
    return top, between, csr


@cache
def leaf() -> x509.Certificate:
    _, between, csr = authority()
    request = read_request(write_request(csr))
    return between.issue(request_template(request, RequestTerms(DAY)), NOW)


def fuzz_pem(data: bytes) -> None:
    read_blocks(data, limit=1 << 20)


def fuzz_key(data: bytes) -> None:
    key = read_key(data)
    read_key(write_key(key))


def fuzz_certificate(data: bytes) -> None:
    certificate = read_certificate(data)
    usages_of(certificate)
    _, _, csr = authority()
    request = read_request(write_request(csr))
    for one in certificate_violations(certificate, request, RequestTerms(), NOW):
        assert "\n" not in str(one)
        assert len(str(one)) < 2_000


def fuzz_chain(data: bytes) -> None:
    read_chain(data)


def fuzz_delivered(data: bytes) -> None:
    chain_violations(read_certificates(data))


def fuzz_path(data: bytes) -> None:
    found = read_certificates(data)
    verify_path(found[0], roots=found[-1:], intermediates=found, now=NOW)


def fuzz_bundle(data: bytes) -> None:
    read_bundle(data)


def fuzz_request(data: bytes) -> None:
    request = read_request(data)
    for one in request_violations(request, RequestTerms()):
        assert "\n" not in str(one)
        assert len(str(one)) < 2_000
    top, _, _ = authority()
    top.issue_request(request, RequestTerms(), NOW)


def fuzz_name(data: bytes) -> None:
    name = parse_name(data.decode("utf-8", "surrogateescape"))
    assert parse_name(format_name(name)) == name


def fuzz_usages(data: bytes) -> None:
    parse_usages(data.decode("utf-8", "replace").split(","))


TARGETS = {
    "pem": fuzz_pem,
    "key": fuzz_key,
    "certificate": fuzz_certificate,
    "chain": fuzz_chain,
    "delivered": fuzz_delivered,
    "path": fuzz_path,
    "bundle": fuzz_bundle,
    "request": fuzz_request,
    "name": fuzz_name,
    "usages": fuzz_usages,
}
BLOCKS: dict[str, Callable[[], Any]] = {
    "key": lambda: (
        "PRIVATE KEY",
        [read_blocks(write_key(generate_key(KeySpec())), limit=9_999)[0].der],
    ),
    "certificate": lambda: ("CERTIFICATE", [leaf().public_bytes(Encoding.DER)]),
    "chain": lambda: (
        "CERTIFICATE",
        [
            leaf().public_bytes(Encoding.DER),
            authority()[1].certificate.public_bytes(Encoding.DER),
            authority()[0].certificate.public_bytes(Encoding.DER),
        ],
    ),
    "path": lambda: BLOCKS["chain"](),
    "bundle": lambda: ("CERTIFICATE", [authority()[0].certificate.public_bytes(Encoding.DER)]),
    "request": lambda: ("CERTIFICATE REQUEST", [authority()[2].public_bytes(Encoding.DER)]),
}


def run(target: str, data: bytes) -> None:
    """Run one target; being refused is what it is for."""
    with contextlib.suppress(PkiError):
        TARGETS[target](data)


@pytest.mark.parametrize("target", TARGETS)
@settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
@given(data=st.binary(max_size=300))
def test_noise_is_refused(target: str, data: bytes) -> None:
    run(target, data)


@pytest.mark.parametrize("target", BLOCKS)
@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_damaged_documents_are_refused(target: str, data: Any) -> None:
    """A good document with a few bytes changed, cut, doubled or moved."""
    label, documents = BLOCKS[target]()
    out = []
    for document in documents:
        der = bytearray(document)
        for _ in range(data.draw(st.integers(0, 3))):
            place = data.draw(st.integers(0, len(der) - 1))
            match data.draw(st.sampled_from(["flip", "cut", "insert", "double"])):
                case "flip":
                    der[place] = data.draw(st.integers(0, 255))
                case "cut":
                    del der[place : place + data.draw(st.integers(1, 9))]
                case "insert":
                    der[place:place] = data.draw(st.binary(min_size=1, max_size=9))
                case "double":
                    der[place:place] = der[place : place + 40]
        out.append(write_block(label, bytes(der)))
    run(target, b"".join(out))


@pytest.mark.parametrize("target", ["name"])
@settings(deadline=None, max_examples=400)
@given(text=st.text('CNO=,+;"\\# \0aé1.2', max_size=40))
def test_almost_names_are_refused_or_survive(target: str, text: str) -> None:
    run(target, text.encode())


def oddities() -> Iterator[bytes]:
    """Certificates and requests that broke other readers."""
    vectors = pytest.importorskip("cryptography_vectors")
    from importlib.resources import files  # noqa: PLC0415

    folder = files(vectors) / "x509"
    for place in (folder, folder / "custom", folder / "requests", folder / "custom" / "ca"):
        for entry in place.iterdir():
            if entry.name.endswith(".pem"):
                yield entry.read_bytes()
            elif entry.name.endswith(".der"):
                yield write_block("CERTIFICATE", entry.read_bytes())


def test_oddities_of_the_field_are_read_or_refused() -> None:
    read, refusals = 0, []
    for text in oddities():
        for target in ("certificate", "chain", "path", "bundle", "request", "key"):
            try:
                TARGETS[target](text)
                read += 1
            except PkiError as error:
                refusals.append(str(error))
    assert read > 100
    assert len(refusals) > 100
    assert all("\n" not in message and 0 < len(message) < 2_000 for message in refusals)


def many_names() -> bytes:
    builder = x509.CertificateSigningRequestBuilder().subject_name(parse_name("CN=a"))
    names = [x509.DNSName(f"{number:x}") for number in range(8_000)]
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return write_request(builder.sign(generate_key(KeySpec()), hashes.SHA256()))


def same_name_chain() -> bytes:
    """Ten authorities of one name, none of which signed another, with the dearest keys."""
    spec, name = KeySpec(KeyAlgorithm.ECDSA, 521), parse_name("CN=x")
    plain = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(1)
    plain = plain.not_valid_before(NOW).not_valid_after(NOW + DAY)
    return write_certificates(
        *(plain.public_key((key := generate_key(spec)).public_key()).sign(key, hashes.SHA256()) for _ in range(10))
    )  # fmt: skip


def nested(depth: int) -> bytes:
    der = b""
    for _ in range(depth):
        size = len(der)
        der = b"0" + (bytes([size]) if size < 128 else b"\x83" + size.to_bytes(3)) + der
    return der


MIB = 1 << 20
BOMBS: dict[str, Callable[[], Any]] = {
    "nothing": lambda: b"A" * MIB,
    "lines": lambda: b"\n" * MIB,
    "begins": lambda: (b"-----BEGIN CERTIFICATE-----\n" * MIB)[:MIB],
    "pairs": lambda: (b"-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n" * MIB)[:300_000],
    "dashes": lambda: b"-" * MIB,
    "headers": lambda: b"-----BEGIN CERTIFICATE-----\n" + b"a: b\n" * 60_000,
    "deep": lambda: write_block("CERTIFICATE", nested(5_000)),
    "deep request": lambda: write_block("CERTIFICATE REQUEST", nested(5_000)),
    "names": many_names,
    "same name": same_name_chain,
    "commas": lambda: b"CN=a," * 3_000,
    "pluses": lambda: b"+" * 16_384,
    "escapes": lambda: b"CN=" + b"\\" * 16_000,
    "quotes": lambda: b'CN="' * 4_000,
    "spaces": lambda: b"CN=a" + b" " * 16_000 + b"b",
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs_cost_little(bomb: str) -> None:
    """At most 100 ms and 64 MiB, whoever reads it."""
    data = BOMBS[bomb]()
    for target in TARGETS:
        run(target, data[:100])  # what is made once is not what is measured
        # A busy machine makes anything slow once, not three times.
        assert any(cpu_seconds(target, data) < 0.1 for _ in range(3)), target
        tracemalloc.start()
        try:
            run(target, data)
            assert tracemalloc.get_traced_memory()[1] < 64 * MIB, target
        finally:
            tracemalloc.stop()


def cpu_seconds(target: str, data: bytes) -> float:
    start = time.thread_time()
    run(target, data)
    return time.thread_time() - start


def main() -> None:
    """Let atheris run one target until it is stopped."""
    atheris: Any = importlib.import_module("atheris")

    target = sys.argv.pop(1)
    warnings.simplefilter("ignore")
    atheris.Setup(sys.argv, atheris.instrument_func(lambda data: run(target, data)))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
