"""Which authorities are refreshed."""

from msgspec import UNSET

from certwright.api.certmanager import IssuerRef
from certwright.api.certmanagers import CertManagerSpec, RefreshedCertificate
from certwright.kube import Key
from certwright.operators.rollout.carefresh.authorities import (
    CLUSTER_ISSUER,
    ISSUER,
    NO_RULE,
    RefreshRule,
    is_chosen,
    issuer_of,
    rule_of,
)

ROOT = Key("ca", "root")
LABEL = {"ibm-cert-manager-operator/refresh-ca-chain": "true"}
ANNOTATION = {"rollout.certwright.dev/refresh-leaves": "true"}


def chosen(
    rule: RefreshRule,
    certificate: Key | None = ROOT,
    *,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    foundation: bool = False,
) -> bool:
    return is_chosen(rule, certificate, labels or {}, annotations or {}, foundation=foundation)


def test_refresh_is_on_unless_it_is_switched_off() -> None:
    for said in (UNSET, None, True):
        assert rule_of(CertManagerSpec(enable_cert_refresh=said)).enabled
    assert not rule_of(CertManagerSpec(enable_cert_refresh=False)).enabled
    assert not rule_of(None).enabled


def test_what_is_listed_is_refreshed() -> None:
    listed = [RefreshedCertificate(cert_name="root", namespace="ca")]
    rule = rule_of(CertManagerSpec(refresh_certs_based_on_ca=listed))
    assert chosen(rule)
    assert not chosen(rule, Key("other", "root"))
    off = rule_of(CertManagerSpec(refresh_certs_based_on_ca=listed, enable_cert_refresh=False))
    assert not chosen(off)


def test_what_is_labelled_is_refreshed_if_there_is_a_certmanager() -> None:
    assert chosen(RefreshRule(enabled=True), labels=LABEL)
    assert chosen(RefreshRule(enabled=True), None, labels=LABEL)
    assert not chosen(NO_RULE, labels=LABEL)


def test_our_own_annotation_needs_no_certmanager() -> None:
    assert chosen(NO_RULE, annotations=ANNOTATION)
    assert not chosen(NO_RULE, annotations={"rollout.certwright.dev/refresh-leaves": "yes"})


def test_foundation_services_name_theirs() -> None:
    rule = RefreshRule(enabled=True)
    assert chosen(rule, Key("ibm", "cs-ca-certificate"), foundation=True)
    assert chosen(rule, Key("ibm", "mongodb-root-ca-cert"), foundation=True)
    assert not chosen(rule, Key("ibm", "cs-ca-certificate"))
    assert not chosen(rule, Key("ibm", "another"), foundation=True)


def test_where_cluster_issuers_look_for_secrets() -> None:
    assert rule_of(CertManagerSpec()).resource_namespaces == ("cert-manager", "kube-system")
    assert rule_of(CertManagerSpec(resource_namespace="x")).resource_namespaces == ("x",)


def test_issuers_of_others_are_not_looked_at() -> None:
    assert issuer_of(IssuerRef("a"), "ns") == (ISSUER, Key("ns", "a"))
    assert issuer_of(IssuerRef("a", "ClusterIssuer", "cert-manager.io"), "ns") == (
        CLUSTER_ISSUER,
        Key("", "a"),
    )
    assert issuer_of(IssuerRef("a", "Issuer", "example.com"), "ns") is None
    assert issuer_of(IssuerRef("a", "GoogleCASIssuer"), "ns") is None
