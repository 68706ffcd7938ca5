"""Which certificate authorities are refreshed, and which of them signs a Certificate. Pure.

An authority is the Secret with its certificate. Its leaves are refreshed if the CertManager
"default" lists its Certificate, if a mark on its Certificate or its Secret asks for it, or if an
authority above it is refreshed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from msgspec import UnsetType

from certwright.api.certmanager import IssuerRef
from certwright.api.certmanagers import CertManagerSpec
from certwright.kube import Key, Resource

GROUP: Final = "cert-manager.io"
ISSUER: Final = Resource(GROUP, "v1", "Issuer", "issuers")
CLUSTER_ISSUER: Final = Resource(GROUP, "v1", "ClusterIssuer", "clusterissuers", namespaced=False)

REFRESH_CHAIN: Final = "ibm-cert-manager-operator/refresh-ca-chain"
"""The label of an authority whose leaves are refreshed, as IBM's operator has it."""
REFRESH_LEAVES: Final = "rollout.certwright.dev/refresh-leaves"
"""The annotation that asks for the same, without any CertManager."""

FOUNDATION_CERTIFICATES: Final = ("cs-ca-certificate", "mongodb-root-ca-cert")
"""Authorities that are refreshed wherever the Deployment below runs."""
LIFECYCLE_MANAGER: Final = "operand-deployment-lifecycle-manager"

RESOURCE_NAMESPACES: Final = ("cert-manager", "kube-system")
"""Where ClusterIssuers look for their Secrets, unless something else is said."""


@dataclass(frozen=True, slots=True)
class RefreshRule:
    """What is refreshed, as the CertManager "default" says."""

    enabled: bool = False
    """Whether lists and labels of IBM's operator count; annotations of ours always do."""
    listed: frozenset[Key] = frozenset()
    """The Certificates of authorities."""
    resource_namespaces: tuple[str, ...] = RESOURCE_NAMESPACES


NO_RULE: Final = RefreshRule()
"""Without a CertManager only our own annotation asks for anything."""


def rule_of(spec: CertManagerSpec | None) -> RefreshRule:
    """Return what a CertManager asks for; None means that there is none."""
    if spec is None:
        return NO_RULE
    enabled = spec.enable_cert_refresh is not False
    based = spec.refresh_certs_based_on_ca
    listed = () if isinstance(based, UnsetType) else based
    namespace = spec.resource_namespace
    given = () if isinstance(namespace, UnsetType) or not namespace else (namespace,)
    return RefreshRule(
        enabled,
        frozenset(Key(one.namespace, one.cert_name) for one in listed),
        given or RESOURCE_NAMESPACES,
    )


def is_chosen(
    rule: RefreshRule,
    certificate: Key | None,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    *,
    foundation: bool,
) -> bool:
    """Return whether the leaves of an authority are refreshed for its own sake.

    *certificate* is None for an authority that is only a Secret; *labels* and *annotations* are
    those of the Certificate and the Secret together. *foundation* is whether the lifecycle manager
    of IBM's foundation services runs in its namespace.
    """
    if annotations.get(REFRESH_LEAVES) == "true":
        return True
    if not rule.enabled:
        return False
    if labels.get(REFRESH_CHAIN) == "true":
        return True
    if certificate is None:
        return False
    return certificate in rule.listed or (
        foundation and certificate.name in FOUNDATION_CERTIFICATES
    )


def issuer_of(reference: IssuerRef, namespace: str) -> tuple[Resource, Key] | None:
    """Return the issuer of a Certificate; None if it is none of cert-manager's own."""
    if reference.group not in {"", GROUP}:
        return None
    match reference.kind:
        case "" | "Issuer":
            return ISSUER, Key(namespace, reference.name)
        case "ClusterIssuer":
            return CLUSTER_ISSUER, Key("", reference.name)
        case _:
            return None
