"""The objects of a release of cert-manager, with little in them, for tests by the thousand.

Names, labels, arguments, ports and annotations are those of the published manifest. Definitions
take any spec and status, and roles hold only what the played cert-manager needs. What depends on
the version is what differs between the last few: the Role of tokens, and the images.
"""

from collections.abc import Sequence
from typing import Final

from certwright.kube import JsonObject

_RBAC: Final = "rbac.authorization.k8s.io"
_GROUP: Final = "cert-manager.io"
_ACME: Final = f"acme.{_GROUP}"
_ALL: Final = ("create", "delete", "get", "list", "patch", "update", "watch")
_READ: Final = ("get", "list", "watch")
_KINDS: Final = (
    (_GROUP, "Certificate", "certificates", "Namespaced"),
    (_GROUP, "CertificateRequest", "certificaterequests", "Namespaced"),
    (_GROUP, "Issuer", "issuers", "Namespaced"),
    (_GROUP, "ClusterIssuer", "clusterissuers", "Cluster"),
    (_ACME, "Challenge", "challenges", "Namespaced"),
    (_ACME, "Order", "orders", "Namespaced"),
)
_TOKEN_REQUESTS: Final = range(16, 21)
"""The minor versions that have a Role for tokens."""


def small_release(version: str, namespace: str = "cert-manager") -> list[JsonObject]:
    """Return the objects of a version, in the order in which they are applied."""
    return _SmallRelease(version, namespace).objects()


class _SmallRelease:
    def __init__(self, version: str, namespace: str) -> None:
        self._version = version
        self._namespace = namespace

    def objects(self) -> list[JsonObject]:
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self._namespace}}
        return [
            space,
            *(self._definition(*kind) for kind in _KINDS),
            *(self._account(name) for name in ("-cainjector", "", "-webhook")),
            *self._cluster_roles(),
            *self._roles(),
            *self._services(),
            *self._deployments(),
            *self._registrations(),
        ]

    def _metadata(self, name: str, app: str, namespace: str = "") -> JsonObject:
        component = "controller" if app == "cert-manager" else app
        labels = {
            "app": app,
            "app.kubernetes.io/name": app,
            "app.kubernetes.io/instance": "cert-manager",
            "app.kubernetes.io/component": component,
            "app.kubernetes.io/version": self._version,
        }
        place = {"namespace": namespace} if namespace else {}
        return {"name": name, **place, "labels": labels}

    def _definition(self, group: str, kind: str, plural: str, scope: str) -> JsonObject:
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        schema = {"type": "object", "properties": {"spec": anything, "status": anything}}
        metadata = self._metadata(f"{plural}.{group}", "cert-manager")
        metadata["labels"]["app.kubernetes.io/component"] = "crds"
        version = {
            "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": schema},
        }  # fmt: skip
        names = {
            "kind": kind,
            "plural": plural,
            "singular": kind.lower(),
            "listKind": f"{kind}List",
        }
        return {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": metadata,
            "spec": {"group": group, "scope": scope, "names": names, "versions": [version]},
        }

    def _account(self, suffix: str) -> JsonObject:
        app = suffix.lstrip("-") or "cert-manager"
        metadata = self._metadata(f"cert-manager{suffix}", app, self._namespace)
        return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}

    def _cluster_roles(self) -> list[JsonObject]:
        secrets = _rule("", ["secrets"], _ALL)
        issuers = _rule(_GROUP, ["issuers", "issuers/status"], _ALL)
        cluster = _rule(_GROUP, ["clusterissuers", "clusterissuers/status"], _ALL)
        parts = ["certificates", "certificaterequests"]
        certificates = _rule(_GROUP, [*parts, *(f"{part}/status" for part in parts)], _ALL)
        approved = [f"{kind}.{_GROUP}/*" for kind in ("issuers", "clusterissuers")]
        approve = {**_rule(_GROUP, ["signers"], ["approve"]), "resourceNames": approved}
        acme = _rule(_ACME, ["orders", "challenges"], _ALL)
        reviews = _rule("authorization.k8s.io", ["subjectaccessreviews"], ["create"])
        injected = [
            _rule(_GROUP, ["certificates"], _READ),
            _rule("", ["secrets"], _READ),
            _rule("admissionregistration.k8s.io", ["*"], [*_READ, "patch", "update"]),
            _rule("apiregistration.k8s.io", ["apiservices"], [*_READ, "patch", "update"]),
            _rule(
                "apiextensions.k8s.io", ["customresourcedefinitions"], [*_READ, "patch", "update"]
            ),
        ]
        controller = "cert-manager-controller"
        return [
            *self._granted("cert-manager-cainjector", "cainjector", injected),
            *self._granted(f"{controller}-issuers", "cert-manager", [issuers, secrets]),
            *self._granted(f"{controller}-clusterissuers", "cert-manager", [cluster, secrets]),
            *self._granted(f"{controller}-certificates", "cert-manager", [certificates, secrets]),
            *self._granted(f"{controller}-orders", "cert-manager", [acme]),
            *self._granted(f"{controller}-approve:cert-manager-io", "cert-manager", [approve]),
            *self._granted("cert-manager-webhook:subjectaccessreviews", "webhook", [reviews]),
        ]

    def _granted(
        self, name: str, app: str, rules: Sequence[JsonObject], namespace: str = ""
    ) -> list[JsonObject]:
        """Return a role and its binding, in a namespace or for the cluster."""
        prefix = "" if namespace else "Cluster"
        account = "cert-manager" if app == "cert-manager" else f"cert-manager-{app}"
        kind, metadata = f"{prefix}Role", self._metadata(name, app, namespace)
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self._namespace}
        role = {"apiGroup": _RBAC, "kind": kind, "name": name}
        version = {"apiVersion": f"{_RBAC}/v1"}
        return [
            {**version, "kind": kind, "metadata": metadata, "rules": list(rules)},
            {**version, "kind": f"{kind}Binding", "metadata": metadata, "roleRef": role,
             "subjects": [subject]},
        ]  # fmt: skip

    def _roles(self) -> list[JsonObject]:
        made = [
            *self._election("cert-manager", "cert-manager", "cert-manager-controller"),
            *self._election(
                "cert-manager-cainjector", "cainjector", "cert-manager-cainjector-leader-election"
            ),
            *self._granted(
                "cert-manager-webhook:dynamic-serving",
                "webhook",
                [
                    {
                        **_rule("", ["secrets"], [*_READ, "update"]),
                        "resourceNames": ["cert-manager-webhook-ca"],
                    },
                    _rule("", ["secrets"], ["create"]),
                ],
                self._namespace,
            ),
        ]
        if int(self._version.split(".")[1]) in _TOKEN_REQUESTS:
            tokens = {
                **_rule("", ["serviceaccounts/token"], ["create"]),
                "resourceNames": ["cert-manager"],
            }
            name = "cert-manager-tokenrequest"
            made += self._granted(name, "cert-manager", [tokens], self._namespace)
        return made

    def _election(self, name: str, app: str, lease: str) -> list[JsonObject]:
        leases = ["leases"]
        rules = [
            {
                **_rule("coordination.k8s.io", leases, ["get", "update", "patch"]),
                "resourceNames": [lease],
            },
            _rule("coordination.k8s.io", leases, ["create"]),
        ]
        return self._granted(f"{name}:leaderelection", app, rules, "kube-system")

    def _services(self) -> list[JsonObject]:
        metrics = {"name": "http-metrics", "port": 9402, "protocol": "TCP"}
        https = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": "https"}
        ports = {"": [metrics], "-cainjector": [metrics], "-webhook": [https]}
        return [self._service(suffix, each) for suffix, each in ports.items()]

    def _service(self, suffix: str, ports: Sequence[JsonObject]) -> JsonObject:
        app = suffix.lstrip("-") or "cert-manager"
        metadata = self._metadata(f"cert-manager{suffix}", app, self._namespace)
        spec = {"type": "ClusterIP", "ports": list(ports), "selector": _selector(metadata)}
        return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}

    def _deployments(self) -> list[JsonObject]:
        election = "--leader-election-namespace=kube-system"
        host = "--dynamic-serving-dns-names=cert-manager-webhook"
        webhook = [
            "--v=2", "--secure-port=10250",
            "--dynamic-serving-ca-secret-namespace=$(POD_NAMESPACE)",
            "--dynamic-serving-ca-secret-name=cert-manager-webhook-ca",
            host, f"{host}.$(POD_NAMESPACE)", f"{host}.$(POD_NAMESPACE).svc",
        ]  # fmt: skip
        controller = [
            "--v=2", "--cluster-resource-namespace=$(POD_NAMESPACE)", election,
            f"--acme-http01-solver-image=quay.io/jetstack/cert-manager-acmesolver:{self._version}",
            "--max-concurrent-challenges=60",
        ]  # fmt: skip
        metrics, https, health = (
            {"name": name, "containerPort": port, "protocol": "TCP"}
            for name, port in (("http-metrics", 9402), ("https", 10250), ("healthcheck", 6080))
        )
        return [
            self._deployment("cainjector", ["--v=2", election], [metrics]),
            self._deployment("controller", controller, [metrics]),
            self._deployment("webhook", webhook, [https, health, metrics]),
        ]

    def _deployment(
        self, component: str, args: Sequence[str], ports: Sequence[JsonObject]
    ) -> JsonObject:
        is_controller = component == "controller"
        app = "cert-manager" if is_controller else component
        name = "cert-manager" if is_controller else f"cert-manager-{component}"
        metadata = self._metadata(name, app, self._namespace)
        place = {"fieldRef": {"fieldPath": "metadata.namespace"}}
        container = {
            "name": f"cert-manager-{component}",
            "image": f"quay.io/jetstack/cert-manager-{component}:{self._version}",
            "imagePullPolicy": "IfNotPresent",
            "args": list(args),
            "ports": list(ports),
            "env": [{"name": "POD_NAMESPACE", "valueFrom": place}],
        }
        template = {
            "metadata": {"labels": metadata["labels"]},
            "spec": {"serviceAccountName": name, "containers": [container]},
        }
        spec = {
            "replicas": 1,
            "selector": {"matchLabels": _selector(metadata)},
            "template": template,
        }
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}

    def _registrations(self) -> list[JsonObject]:
        validated = [_rules([_GROUP, _ACME], ["*/*"], ["CREATE", "UPDATE"])]
        mutated = [_rules([_GROUP], ["certificaterequests"], ["CREATE"])]
        return [
            self._registration("MutatingWebhookConfiguration", "/mutate", mutated),
            self._registration("ValidatingWebhookConfiguration", "/validate", validated),
        ]

    def _registration(self, kind: str, path: str, rules: Sequence[JsonObject]) -> JsonObject:
        metadata = self._metadata("cert-manager-webhook", "webhook")
        source = f"{self._namespace}/cert-manager-webhook-ca"
        metadata["annotations"] = {f"{_GROUP}/inject-ca-from-secret": source}
        service = {"name": "cert-manager-webhook", "namespace": self._namespace, "path": path}
        webhook = {
            "name": f"webhook.{_GROUP}",
            "rules": list(rules),
            "admissionReviewVersions": ["v1"],
            "matchPolicy": "Equivalent",
            "timeoutSeconds": 30,
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "clientConfig": {"service": service},
        }
        version = "admissionregistration.k8s.io/v1"
        return {"apiVersion": version, "kind": kind, "metadata": metadata, "webhooks": [webhook]}


def _rule(group: str, resources: Sequence[str], verbs: Sequence[str]) -> JsonObject:
    return {"apiGroups": [group], "resources": list(resources), "verbs": list(verbs)}


def _rules(groups: Sequence[str], resources: Sequence[str], verbs: Sequence[str]) -> JsonObject:
    return {
        "apiGroups": list(groups),
        "apiVersions": ["v1"],
        "operations": list(verbs),
        "resources": list(resources),
    }


def _selector(metadata: JsonObject) -> dict[str, str]:
    names = [f"app.kubernetes.io/{part}" for part in ("component", "instance", "name")]
    return {name: metadata["labels"][name] for name in names}
