"""Keys, authorities and requests, made once per run: RSA keys are dear."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from cryptography.x509 import Name

from certwright.pki import (
    AlternativeNames,
    Authority,
    KeyAlgorithm,
    KeySpec,
    PrivateKey,
    SigningRequest,
    build_request,
    create_intermediate,
    create_root,
    distinguished_name,
    generate_key,
    parse_name,
    read_request,
    write_request,
)


@pytest.fixture(scope="session")
def now() -> datetime:
    return datetime(2031, 5, 17, 12, 0, 0, 250_000, tzinfo=UTC)


@pytest.fixture(scope="session")
def key_of() -> Callable[..., PrivateKey]:
    """``key_of("RSA", 2048)``: the same key every time."""

    @cache
    def make(algorithm: str = "ECDSA", size: int = 0, which: int | str = 0) -> PrivateKey:
        return generate_key(KeySpec(KeyAlgorithm(algorithm), size))

    return make


@pytest.fixture(scope="session")
def root(key_of: Callable[..., PrivateKey], now: datetime) -> Authority:
    name = parse_name("CN=Test Root,O=Test,C=DE")
    return create_root(name, key_of(which="root"), timedelta(days=3650), now - timedelta(days=1))


@pytest.fixture(scope="session")
def intermediate(root: Authority, key_of: Callable[..., PrivateKey], now: datetime) -> Authority:
    name = parse_name("CN=Test Intermediate,O=Test,C=DE")
    return create_intermediate(
        root, name, key_of(which="intermediate"), timedelta(days=365), now - timedelta(hours=1)
    )


@pytest.fixture(scope="session")
def request_for(key_of: Callable[..., PrivateKey]) -> Callable[..., Any]:
    """``request_for("a.example", subject=…, usages=…)``: a signing request that was read."""

    def make(
        *hosts: str,
        subject: Name | None = None,
        names: AlternativeNames | None = None,
        key: Any = None,
        **options: Any,
    ) -> SigningRequest:
        csr = build_request(
            key or key_of(which="leaf"),
            distinguished_name(hosts[0] if hosts else "web") if subject is None else subject,
            AlternativeNames.of_hosts(*hosts) if names is None else names,
            **options,
        )
        return read_request(write_request(csr))

    return make
