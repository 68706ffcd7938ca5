"""The cases of x509-limbo, a suite of paths that others accept or refuse, against ours.

The suite is a Go module, fetched when the tests run. What it asks of a name (is the peer who was
expected?) is no part of `verify_path`, and neither are policies and revocation: such cases are left
out by their features and by what they test. Where we judge otherwise, `OTHERWISE` says why.
"""

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID

from certwright.bundles.errors import BuildError
from certwright.bundles.tools import GO
from certwright.pki import PkiError, read_certificate, verify_path

pytestmark = pytest.mark.real

MODULE = "github.com/C2SP/x509-limbo@v0.0.0-20260726184259-1252c300df48"
USAGES = {
    "serverAuth": ExtendedKeyUsageOID.SERVER_AUTH,
    "clientAuth": ExtendedKeyUsageOID.CLIENT_AUTH,
    "anyExtendedKeyUsage": None,
}
NOT_OURS = ("webpki::", "crl::", "online::")
"""Rules of browsers, revocation, and chains of servers at a certain day."""
FEATURES = {
    "has-policy-constraints",
    "has-cert-policies",
    "has-crl",
    "max-chain-depth",
    "has-mldsa",
}
OTHERWISE: dict[str, str] = {}
"""Cases on which `verify_path` and the suite differ, each with the reason."""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("limbo")
    settings = {**os.environ, "GOFLAGS": "-modcacherw", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    try:
        answer = GO.run(
            ["mod", "download", "-json", MODULE], folder=folder, environ=settings, seconds=600
        )
    except BuildError as error:
        pytest.skip(f"{error}; then: go mod download {MODULE}")
    text = (Path(json.loads(answer)["Dir"]) / "limbo.json").read_bytes()
    found: list[dict[str, Any]] = json.loads(text)["testcases"]
    return found


def fitting(cases: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the cases that are about what `verify_path` checks."""
    for case in cases:
        usages = case["extended_key_usage"]
        is_ours = not case["id"].startswith(NOT_OURS) and not FEATURES & set(case["features"])
        if is_ours and case["validation_time"] and all(one in USAGES for one in usages[:1]):
            yield case


def is_accepted(case: dict[str, Any]) -> bool:
    usages = case["extended_key_usage"]
    try:
        verify_path(
            read_certificate(case["peer_certificate"]),
            roots=[read_certificate(one) for one in case["trusted_certs"]],
            intermediates=[read_certificate(one) for one in case["untrusted_intermediates"]],
            now=datetime.fromisoformat(case["validation_time"]).astimezone(UTC),
            usage=USAGES[usages[0]] if usages else None,
        )
    except PkiError:
        return False
    return True


def test_paths_are_judged_as_the_suite_does(cases: list[dict[str, Any]]) -> None:
    differing = {}
    count = 0
    for case in fitting(cases):
        count += 1
        wanted = case["expected_result"] == "SUCCESS"
        if is_accepted(case) != wanted:
            differing[case["id"]] = f"expected {case['expected_result']}: {case['description']}"
    assert count > 100
    unexplained = {name: why for name, why in differing.items() if name not in OTHERWISE}
    assert not unexplained, "\n".join(f"{name}: {why}" for name, why in unexplained.items())
    assert not set(OTHERWISE) - set(differing), "these are judged alike by now"
