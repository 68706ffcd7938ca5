"""Certificates of webhooks: who signed them, for whom, and until when."""

from datetime import UTC, datetime, timedelta

import pytest

from certwright.apiserver.http.certs import TestAuthority
from certwright.apiserver.webhooks.trust import certificate_failure

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OURS, OTHERS = TestAuthority("ours", NOW), TestAuthority("others", NOW)
PREFIX = "tls: failed to verify certificate: x509: "


def failure(*hosts: str, wanted: str, days: int = 1, by: TestAuthority = OURS) -> str:
    chain = by.serving(*hosts).certificate
    found = certificate_failure(chain, OURS.certificate, wanted, NOW + timedelta(days=days))
    assert found.startswith(PREFIX) or not found
    return found.removeprefix(PREFIX)


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("hook.ns.svc", "hook.ns.svc"),
        ("*.ns.svc", "hook.ns.svc"),
        ("Hook.ns.svc", "hook.NS.svc"),
        ("127.0.0.1", "127.0.0.1"),
    ],
)
def test_good_certificates(host: str, wanted: str) -> None:
    assert not failure(host, wanted=wanted)


def test_names() -> None:
    assert failure("a.ns.svc", "b.ns.svc", wanted="c.ns.svc") == (
        "certificate is valid for a.ns.svc, b.ns.svc, not c.ns.svc"
    )
    assert (
        failure("*.svc", wanted="hook.ns.svc") == "certificate is valid for *.svc, not hook.ns.svc"
    )
    assert failure("127.0.0.1", wanted="hook.ns.svc") == (
        "certificate is not valid for any names, but wanted to match hook.ns.svc"
    )
    assert failure("hook.ns.svc", wanted="127.0.0.1") == (
        "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
    )
    assert failure("127.0.0.2", wanted="127.0.0.1") == (
        "certificate is valid for 127.0.0.2, not 127.0.0.1"
    )


def test_authorities() -> None:
    assert failure("a", wanted="a", by=OTHERS) == "certificate signed by unknown authority"
    chain = OURS.serving("a").certificate
    assert certificate_failure(chain, b"", "a", NOW) == (
        f"{PREFIX}certificate signed by unknown authority"
    )


def test_times() -> None:
    assert failure("a", wanted="a", days=400).startswith(
        "certificate has expired or is not yet valid: current time 2027-02-05T00:00:00Z is after "
    )
    assert failure("a", wanted="a", days=-400).startswith(
        "certificate has expired or is not yet valid: current time 2024-11-27T00:00:00Z is before "
    )
