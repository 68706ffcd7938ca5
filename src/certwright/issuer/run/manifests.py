"""The manifests of an issuer: roles, the right to approve, and a Deployment. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from certwright.api.certificates import CertificateSigningRequest
from certwright.api.certmanager import GROUP as CERT_MANAGER
from certwright.api.certmanager import CertificateRequest
from certwright.issuer.settings import IssuerSettings
from certwright.kube import JsonObject, Resource
from certwright.kube.kinds import Event, Lease, Secret, SubjectAccessReview

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
RBAC = "rbac.authorization.k8s.io"


@dataclass(frozen=True, slots=True)
class RoleRule:
    """Verbs on resources of one group, or on certain names only."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def to_json(self) -> JsonObject:
        """Return the rule as a role holds it."""
        rule: JsonObject = {
            "apiGroups": [self.group],
            "resources": list(self.resources),
            "verbs": list(self.verbs),
        }
        return {**rule, "resourceNames": list(self.names)} if self.names else rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """Where and under which names an issuer is installed."""

    name: str
    namespace: str
    approver: str = "cert-manager/cert-manager"
    """The ServiceAccount that approves requests, as ``namespace/name``."""
    image: str = ""
    replicas: int = 2


def controller_rules(
    kinds: Sequence[Resource], settings: IssuerSettings, *, uses_secrets: bool
) -> list[RoleRule]:
    """Return the cluster-wide permissions that the issuer's process needs."""
    group, plurals = kinds[0].group, tuple(kind.plural for kind in kinds)
    rules = [
        RoleRule(group, plurals, READ),
        RoleRule(group, tuple(f"{plural}/status" for plural in plurals), ("patch",)),
        RoleRule(Event.group, (Event.plural,), ("create", "patch")),
    ]
    if settings.certificate_requests:
        requests = CertificateRequest.resource
        rules += [
            RoleRule(requests.group, (requests.plural,), READ),
            RoleRule(requests.group, (f"{requests.plural}/status",), ("patch",)),
        ]
    if settings.kubernetes_csrs:
        signing = CertificateSigningRequest.resource
        served = [kind for kind in kinds if not kind.namespaced or settings.namespaced_csrs]
        rules += [
            RoleRule(signing.group, (signing.plural,), READ),
            RoleRule(signing.group, (f"{signing.plural}/status",), ("patch",)),
            RoleRule(signing.group, ("signers",), ("sign",), signer_names(served)),
        ]
        if settings.namespaced_csrs:
            review = SubjectAccessReview
            rules.append(RoleRule(review.group, (review.plural,), ("create",)))
    if uses_secrets and any(kind.namespaced for kind in kinds):
        rules.append(_secrets(settings, watched=True))
    elif settings.secrets:
        rules.append(_secrets(settings, watched=False))
    return [rule for rule in rules if rule.resources != ("signers",) or rule.names]


def namespace_rules(
    kinds: Sequence[Resource], settings: IssuerSettings, namespace: str, *, uses_secrets: bool
) -> dict[str, list[RoleRule]]:
    """Return the permissions it needs in its own namespace, and where its Secrets are."""
    rules = {namespace: [RoleRule(Lease.group, (Lease.plural,), ("create", "get", "patch"))]}
    if uses_secrets and not any(kind.namespaced for kind in kinds):
        found = settings.cluster_resource_namespace or namespace
        rules.setdefault(found, []).append(_secrets(settings, watched=True))
    return rules


def approve_rule(kinds: Sequence[Resource]) -> RoleRule:
    """Return the permission that cert-manager needs to approve requests for these issuers."""
    return RoleRule(CERT_MANAGER, ("signers",), ("approve",), signer_names(kinds))


def reference_rule() -> RoleRule:
    """Return the permission to name the issuers of a namespace in signing requests.

    It is cert-manager's own, so that one role serves for its issuers and ours.
    """
    return RoleRule(CERT_MANAGER, ("signers",), ("reference",))


def signer_names(kinds: Sequence[Resource]) -> tuple[str, ...]:
    """Return the names that mean all issuers of these kinds."""
    return tuple(f"{kind.qualified}/*" for kind in kinds)


def rbac_manifests(
    kinds: Sequence[Resource], settings: IssuerSettings, where: Installation, *, uses_secrets: bool
) -> list[JsonObject]:
    """Return the roles and bindings: the issuer's own, the approver's, and those of users."""
    name, namespace = where.name, where.namespace
    approve = f"cert-manager-controller-approve:{name}"
    approver_namespace, _, approver = where.approver.partition("/")
    account = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    others = {"kind": "ServiceAccount", "name": approver, "namespace": approver_namespace}
    wide = controller_rules(kinds, settings, uses_secrets=uses_secrets)
    plurals = tuple(kind.plural for kind in kinds)
    group = kinds[0].group
    made = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        },
        _role("ClusterRole", name, wide),
        _binding("ClusterRole", name, account),
    ]
    near = namespace_rules(kinds, settings, namespace, uses_secrets=uses_secrets)
    for place, rules in near.items():
        local = name if place == namespace else f"{name}-secrets"
        made += [_role("Role", local, rules, place), _binding("Role", local, account, place)]
    if settings.certificate_requests:
        made += [
            _role("ClusterRole", approve, [approve_rule(kinds)]),
            _binding("ClusterRole", approve, others),
        ]
    if settings.answers_signing_requests(namespaced=True) and any(k.namespaced for k in kinds):
        # Not aggregated and not bound: who may use the issuers of a namespace is for its owner.
        made.append(_role("ClusterRole", f"{name}-reference", [reference_rule()]))
    return [
        *made,
        _aggregated(f"{name}-view", RoleRule(group, plurals, READ), ("view", "edit", "admin")),
        _aggregated(f"{name}-edit", RoleRule(group, plurals, WRITE), ("edit", "admin")),
    ]


def deployment(where: Installation, arguments: Sequence[str]) -> JsonObject:
    """Return the Deployment that runs the issuer."""
    labels = {"app.kubernetes.io/name": where.name}
    container = {
        "name": "issuer",
        "image": where.image,
        "args": list(arguments),
        "ports": [{"name": "probes", "containerPort": 8081}],
        "livenessProbe": {"httpGet": {"path": "/livez", "port": "probes"}},
        "readinessProbe": {"httpGet": {"path": "/readyz", "port": "probes"}},
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": where.name, "namespace": where.namespace, "labels": labels},
        "spec": {
            "replicas": where.replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": where.name,
                    "securityContext": {
                        "runAsNonRoot": True,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                    "containers": [container],
                },
            },
        },
    }


def _secrets(settings: IssuerSettings, *, watched: bool) -> RoleRule:
    verbs = READ if watched else ("get",)
    assert watched or settings.secrets
    return RoleRule(Secret.group, (Secret.plural,), verbs)


def _role(kind: str, name: str, rules: Sequence[RoleRule], namespace: str = "") -> JsonObject:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": [rule.to_json() for rule in rules],
    }


def _binding(kind: str, name: str, subject: JsonObject, namespace: str = "") -> JsonObject:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {
        "apiVersion": f"{RBAC}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": kind, "name": name},
        "subjects": [subject],
    }


def _aggregated(name: str, rule: RoleRule, into: Sequence[str]) -> JsonObject:
    """Return a role that is aggregated into the roles that users have anyway."""
    role = _role("ClusterRole", name, [rule])
    labels = {f"{RBAC}/aggregate-to-{one}": "true" for one in into}
    return {**role, "metadata": {**role["metadata"], "labels": labels}}
