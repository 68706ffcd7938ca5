"""Paths by cryptography's verifier as well: it agrees wherever it can decide."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from itertools import product
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.x509 import verification as oracle

from certwright.pki import KeyAlgorithm, PathRefused, parse_name, verify_path

DAY = timedelta(days=1)
SIGNS = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
SIGNS_NOT = x509.KeyUsage(True, False, False, False, False, False, False, False, False)


@dataclass(frozen=True)
class Made:
    """A certificate of a path, and how it differs from a good one."""

    is_ca: bool | None = None
    """None: without basic constraints."""
    path_length: int | None = None
    key_usage: x509.KeyUsage | None = None
    names: tuple[x509.GeneralName, ...] = ()
    permitted: tuple[x509.GeneralName, ...] = ()
    excluded: tuple[x509.GeneralName, ...] = ()
    starts: timedelta = -DAY
    ends: timedelta = DAY
    signed_by_another: bool = False
    extra: tuple[tuple[x509.ExtensionType, bool], ...] = field(default=())


AUTHORITY = Made(is_ca=True, key_usage=SIGNS)
LEAF = Made(names=(x509.DNSName("a.example"),))
UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\x05\x00")


def build(
    parts: list[Made], key_of: Callable[..., Any], now: datetime, algorithm: str
) -> list[x509.Certificate]:
    """Sign a path from the root, which comes first, to the leaf."""
    found: list[x509.Certificate] = []
    for place, made in enumerate(parts):
        above = max(place - 1, 0)
        signer = key_of(algorithm, which="another" if made.signed_by_another else f"path {above}")
        key = key_of(algorithm, which=f"path {place}").public_key()
        builder = (
            x509.CertificateBuilder()
            .subject_name(parse_name(f"CN={place}"))
            .issuer_name(parse_name(f"CN={above}"))
            .public_key(key)
            .serial_number(place + 1)
            .not_valid_before(now + made.starts)
            .not_valid_after(now + made.ends)
        )
        extensions: list[tuple[x509.ExtensionType, bool]] = [*made.extra]
        if made.is_ca is not None:
            extensions.append((x509.BasicConstraints(made.is_ca, made.path_length), True))
        if made.key_usage is not None:
            extensions.append((made.key_usage, True))
        if made.names:
            extensions.append((x509.SubjectAlternativeName(made.names), False))
        if made.permitted or made.excluded:
            constraints = x509.NameConstraints(made.permitted or None, made.excluded or None)
            extensions.append((constraints, True))
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        found.append(builder.sign(signer, None if algorithm == "Ed25519" else hashes.SHA256()))
    return found


def ours(path: list[x509.Certificate], now: datetime) -> bool:
    try:
        verify_path(path[-1], roots=path[:1], intermediates=path[1:-1], now=now)
    except PathRefused:
        return False
    return True


def theirs(path: list[x509.Certificate], now: datetime) -> bool:
    """Ask cryptography, with every extension permitted that it lets one permit."""
    permissive = oracle.ExtensionPolicy.permit_all()
    authorities = permissive.require_present(
        x509.BasicConstraints, oracle.Criticality.AGNOSTIC, None
    )
    verifier = (
        oracle.PolicyBuilder()
        .store(oracle.Store(path[:1]))
        .time(now)
        .extension_policies(ca_policy=authorities, ee_policy=permissive)
        .build_client_verifier()
    )
    try:
        verifier.verify(path[-1], path[1:-1])
    except oracle.VerificationError:
        return False
    return True


AUTHORITIES = {
    "good": AUTHORITY,
    "expired": Made(is_ca=True, key_usage=SIGNS, starts=-2 * DAY, ends=-DAY / 2),
    "not yet valid": Made(is_ca=True, key_usage=SIGNS, starts=DAY / 2),
    "without key usage": Made(is_ca=True),
    "not an authority": Made(is_ca=False, key_usage=SIGNS),
    "without basic constraints": Made(key_usage=SIGNS),
    "nothing below": Made(is_ca=True, key_usage=SIGNS, path_length=0),
    "one below": Made(is_ca=True, key_usage=SIGNS, path_length=1),
    "signed by another": Made(is_ca=True, key_usage=SIGNS, signed_by_another=True),
    "permits the name": Made(is_ca=True, key_usage=SIGNS, permitted=(x509.DNSName("example"),)),
    "permits other names": Made(is_ca=True, key_usage=SIGNS, permitted=(x509.DNSName("else"),)),
    "excludes the name": Made(is_ca=True, key_usage=SIGNS, excluded=(x509.DNSName("a.example"),)),
    "excludes other names": Made(is_ca=True, key_usage=SIGNS, excluded=(x509.DNSName("else"),)),
    "permits a network": Made(
        is_ca=True, key_usage=SIGNS, permitted=(x509.IPAddress(ip_network("10.0.0.0/8")),)
    ),
    "permits mail": Made(is_ca=True, key_usage=SIGNS, permitted=(x509.RFC822Name("example"),)),
    "critical and unknown": Made(is_ca=True, key_usage=SIGNS, extra=((UNKNOWN, True),)),
    "unknown": Made(is_ca=True, key_usage=SIGNS, extra=((UNKNOWN, False),)),
}
LEAVES = {
    "a name": LEAF,
    "no name": Made(),
    "an address": Made(names=(x509.IPAddress(ip_address("10.1.2.3")),)),
    "another address": Made(names=(x509.IPAddress(ip_address("11.1.2.3")),)),
    "mail": Made(names=(x509.RFC822Name("me@example"),)),
    "other mail": Made(names=(x509.RFC822Name("me@elsewhere"),)),
    "an authority": Made(is_ca=True, key_usage=SIGNS, names=LEAF.names),
    "expired": Made(starts=-2 * DAY, ends=-DAY / 2),
    "critical and unknown": Made(extra=((UNKNOWN, True),)),
    "signed by another": Made(signed_by_another=True),
}


@pytest.mark.parametrize("above", AUTHORITIES)
def test_both_decide_alike(above: str, key_of: Callable[..., Any], now: datetime) -> None:
    wrong, verdicts = [], set()
    for below, leaf in product(("good", "one below", "nothing below", "expired"), LEAVES):
        parts = [AUTHORITY, AUTHORITIES[above], AUTHORITIES[below], LEAVES[leaf]]
        path = build(parts, key_of, now, KeyAlgorithm.ECDSA)
        verdict = ours(path, now)
        verdicts.add(verdict)
        if verdict != theirs(path, now):
            wrong.append(f"{above}, {below}, {leaf}: ours {'accepts' if verdict else 'refuses'}")
    assert not wrong, "\n".join(wrong)
    assert False in verdicts


NARROW = {
    "a directory name": (x509.DirectoryName(parse_name("CN=2")), LEAF),
    "a URI": (
        x509.UniformResourceIdentifier(".example"),
        Made(names=(x509.UniformResourceIdentifier("spiffe://a.example/web"),)),
    ),
}


@pytest.mark.parametrize("constraint", NARROW)
def test_constraints_that_cryptography_does_not_support(
    constraint: str, key_of: Callable[..., Any], now: datetime
) -> None:
    """Once this fails, the decision for a verifier of our own can be made anew."""
    permitted, leaf = NARROW[constraint]
    authority = Made(is_ca=True, key_usage=SIGNS, permitted=(permitted,))
    path = build([AUTHORITY, authority, leaf], key_of, now, KeyAlgorithm.ECDSA)
    assert (ours(path, now), theirs(path, now)) == (True, False)


def test_keys_that_cryptography_does_not_accept(key_of: Callable[..., Any], now: datetime) -> None:
    path = build([AUTHORITY, AUTHORITY, LEAF], key_of, now, KeyAlgorithm.ED25519)
    assert (ours(path, now), theirs(path, now)) == (True, False)


def test_key_usages_that_cryptography_does_not_check(
    key_of: Callable[..., Any], now: datetime
) -> None:
    authority = Made(is_ca=True, key_usage=SIGNS_NOT)
    path = build([AUTHORITY, authority, LEAF], key_of, now, KeyAlgorithm.ECDSA)
    assert (ours(path, now), theirs(path, now)) == (False, True)
