"""Whose request is it."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.issuer.issuer_rows import CLUSTER_ISSUER, ISSUER, KINDS

from certwright.api.certmanager import IssuerRef
from certwright.issuer.kinds import IssuerKey
from certwright.issuer.requests.certificaterequest import match_reference
from certwright.issuer.requests.kind import NotOurs
from certwright.issuer.requests.signingrequest import match_signer
from certwright.kube import Key, Resource

GROUP = "testing.cert-manager.io"
SIGNER = f"testclusterissuers.{GROUP}"

NAMESPACED = IssuerKey(ISSUER, Key("ns1", "issuer-1"))
CLUSTER = IssuerKey(CLUSTER_ISSUER, Key("", "issuer-1"))


@pytest.mark.scenario("ISS-100")
@pytest.mark.scenario("ISS-3")
@pytest.mark.scenario("ISS-4")
@pytest.mark.parametrize(
    ("kinds", "ref", "expected"),
    [
        pytest.param(KINDS, None, "invalid reference, CertificateRequest is nil", id="empty"),
        pytest.param(
            (),
            IssuerRef("name", "kind", "group"),
            'no issuer found for reference: [Group="group", Kind="kind", Name="name"]',
            id="no issuers",
        ),
        pytest.param(
            KINDS, IssuerRef("issuer-1", "TestIssuer", GROUP), NAMESPACED, id="match issuer"
        ),
        pytest.param(
            KINDS,
            IssuerRef("issuer-1", "TestClusterIssuer", GROUP),
            CLUSTER,
            id="match cluster issuer",
        ),
        pytest.param(
            (CLUSTER_ISSUER,), IssuerRef("issuer-1", "", GROUP), CLUSTER, id="select kind if empty"
        ),
        pytest.param(
            KINDS,
            IssuerRef("issuer-1", "", GROUP),
            NAMESPACED,
            id="prefer issuer over cluster issuer v1",
        ),
        pytest.param(
            (ISSUER, Resource(GROUP, "api", "TestIssuer", "testissuers", namespaced=False)),
            IssuerRef("issuer-1", "TestIssuer", GROUP),
            NAMESPACED,
            id="prefer issuer over cluster issuer v2",
        ),
    ],
)
def test_references(
    kinds: tuple[Resource, ...], ref: IssuerRef | None, expected: str | tuple[Any, ...]
) -> None:
    check(lambda: match_reference(ref, "ns1", kinds), expected)


@pytest.mark.scenario("ISS-1")
@pytest.mark.parametrize("kind", ["TestIssuer", "TestClusterIssuer", ""])
def test_a_reference_to_another_group_means_none_of_ours(kind: str) -> None:
    told = f'no issuer found for reference: [Group="other", Kind="{kind}", Name="issuer-1"]'
    check(lambda: match_reference(IssuerRef("issuer-1", kind, "other"), "ns1", KINDS), told)


@pytest.mark.scenario("ISS-100")
@pytest.mark.scenario("ISS-88")
@pytest.mark.scenario("ISS-85")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(None, "invalid reference, CertificateSigningRequest is nil", id="empty"),
        pytest.param(
            "aaaaaa",
            'invalid signer name, should have format <issuer-type-id>/<issuer-id>: "aaaaaa"',
            id="invalid signer name format",
        ),
        pytest.param(
            f"{SIGNER}/issuer-1/more",
            "invalid signer name, should have format <issuer-type-id>/<issuer-id>:"
            f' "{SIGNER}/issuer-1/more"',
            id="two slashes",
        ),
        pytest.param(
            "unknown/name",
            'no issuer found for signer name: "unknown/name"',
            id="unknown issuer type identifier",
        ),
        pytest.param(
            f"testissuers.{GROUP}/ns1.issuer-1",
            f'invalid SignerName, "testissuers.{GROUP}" is a namespaced issuer type,'
            " namespaced issuers are not supported for Kubernetes CSRs",
            id="match issuer",
        ),
        pytest.param(f"{SIGNER}/issuer-1", CLUSTER, id="match cluster issuer"),
        pytest.param(
            f"{SIGNER}/my.name",
            IssuerKey(CLUSTER_ISSUER, Key("", "my.name")),
            id="cluster issuer with dot in name",
        ),
        pytest.param(
            f"{SIGNER}/",
            IssuerKey(CLUSTER_ISSUER, Key("", "")),
            id="cluster issuer with empty name",
        ),
    ],
)
def test_signer_names(name: str | None, expected: str | tuple[Any, ...]) -> None:
    check(lambda: match_signer(name, KINDS), expected)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (f"testissuers.{GROUP}/ns1.my.issuer", IssuerKey(ISSUER, Key("ns1", "my.issuer"))),
        (f"testissuers.{GROUP}/issuer-1", f'no issuer found for signer name: "testissuers.{GROUP}/issuer-1"'),
        (f"testissuers.{GROUP}/.issuer", f'no issuer found for signer name: "testissuers.{GROUP}/.issuer"'),
        (f"{SIGNER}/a/b", f'invalid signer name, should have format <issuer-type-id>/<issuer-id>: "{SIGNER}/a/b"'),
    ],
)  # fmt: skip
def test_signer_names_of_namespaced_issuers(name: str, expected: str | tuple[Any, ...]) -> None:
    check(lambda: match_signer(name, KINDS, namespaced=True), expected)


def check(match: Callable[..., Any], expected: str | tuple[Any, ...]) -> None:
    if isinstance(expected, str):
        with pytest.raises(NotOurs) as refused:
            match()
        assert str(refused.value) == expected
    else:
        assert match() == expected
