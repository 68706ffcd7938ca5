"""Small bundles in the form of real ones, and a small table of flags.

`NEW` has the form of cert-manager 1.21, `OLD` that of 1.2: other names of ports, conversion, DNS
names in one argument. Real bundles are compared with Helm elsewhere; these are quick.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass

from certwright.bundles.bundle import Bundle
from certwright.kube import JsonObject
from certwright.operators.certmanager.request import Component

APP = "app.kubernetes.io/"
CA = "cert-manager.io/inject-ca-from-secret"
RBAC = "rbac.authorization.k8s.io"
FULL = {
    "controller": "cert-manager",
    "cainjector": "cert-manager-cainjector",
    "webhook": "cert-manager-webhook",
}
NAMES = {"controller": "cert-manager", "cainjector": "cainjector", "webhook": "webhook"}


@dataclass(frozen=True)
class SampleFlag:
    name: str
    type: str
    style: str = "comma"
    since: str = ""
    removed: str = ""


_ALL = [SampleFlag("v", "i"), SampleFlag("metrics-listen-address", "s")]
_ELECTION = [
    SampleFlag("leader-election-namespace", "s"),
    *(
        SampleFlag(f"leader-election-{name}", "d")
        for name in ("lease-duration", "renew-deadline", "retry-period")
    ),
]
_FLAGS = {
    "controller": [
        *_ALL,
        *_ELECTION,
        SampleFlag("config", "s", since="1.13"),
        SampleFlag("acme-http01-solver-image", "s"),
        SampleFlag("acme-http01-solver-extra-labels", "m", since="1.21"),
        SampleFlag("cluster-resource-namespace", "s"),
        SampleFlag("controllers", "l"),
        SampleFlag("dns01-recursive-nameservers", "l"),
        SampleFlag("dns01-self-check-nameservers", "l", removed="1.7"),
        SampleFlag("enable-certificate-owner-ref", "b"),
        SampleFlag("feature-gates", "m"),
        SampleFlag("kube-api-burst", "i"),
        SampleFlag("kube-api-qps", "f"),
        SampleFlag("leader-elect", "b"),
        SampleFlag("max-concurrent-challenges", "i"),
        SampleFlag("metrics-tls-min-version", "s", since="1.14"),
    ],
    "cainjector": [*_ALL, *_ELECTION, SampleFlag("leader-elect", "b")],
    "webhook": [
        *_ALL,
        SampleFlag("config", "s", since="1.7"),
        SampleFlag("dynamic-serving-ca-secret-name", "s"),
        SampleFlag("dynamic-serving-ca-secret-namespace", "s"),
        SampleFlag("dynamic-serving-dns-names", "l", "repeat"),
        SampleFlag("feature-gates", "m", since="1.7"),
        SampleFlag("healthz-port", "i"),
        SampleFlag("secure-port", "i"),
        SampleFlag("tls-cipher-suites", "l"),
        SampleFlag("tls-min-version", "s"),
    ],
}


class SampleTables:
    """What is known about flags of two versions."""

    def flags(self, component: str, version: str) -> Mapping[str, SampleFlag]:
        minor = int(version.split(".")[1])

        def exists(flag: SampleFlag) -> bool:
            began = not flag.since or int(flag.since.split(".")[1]) <= minor
            return began and not (flag.removed and int(flag.removed.split(".")[1]) <= minor)

        return {flag.name: flag for flag in _FLAGS[component] if exists(flag)}

    def all_flags(self, component: str) -> list[SampleFlag]:
        return _FLAGS[component]

    def feature_gates(self, component: str, version: str) -> list[str]:
        del version
        gates = {"controller": ["ServerSideApply", "StableCertificateRequestName"]}
        return gates.get(component, [])


TABLES = SampleTables()


def sample_bundle(version: str) -> Bundle:
    """Return a bundle in the form of a version: 1.21 or 1.2."""
    form = _New(version) if version.startswith("v1.21") else _Old(version)
    return Bundle(version, tuple(form.objects()), "")


class _New:
    def __init__(self, version: str) -> None:
        self.version = version

    def objects(self) -> list[JsonObject]:
        return [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cert-manager"}},
            self.definition(),
            *(self.account(component) for component in Component),
            *self.roles(),
            *self.services(),
            *(self.deployment(component) for component in Component),
            *(self.registration(kind) for kind in ("Mutating", "Validating")),
        ]

    def meta(
        self, component: str, name: str = "", *, namespace: str = "cert-manager"
    ) -> JsonObject:
        found: JsonObject = {
            "name": name or FULL[component],
            "labels": {
                "app": NAMES[component],
                f"{APP}version": self.version,
                **self.selector(component),
            },
        }
        if namespace:
            found["namespace"] = namespace
        return found

    def selector(self, component: str) -> dict[str, str]:
        return {
            f"{APP}name": NAMES[component],
            f"{APP}instance": "cert-manager",
            f"{APP}component": component,
        }

    def definition(self) -> JsonObject:
        metadata = {"name": "issuers.cert-manager.io", "labels": {f"{APP}component": "crds"}}
        spec = {"group": "cert-manager.io", "versions": [{"name": "v1", "schema": {}}]}
        return _object("apiextensions.k8s.io/v1", "CustomResourceDefinition", metadata, spec=spec)

    def account(self, component: str) -> JsonObject:
        automount = {"automountServiceAccountToken": True}
        return _object("v1", "ServiceAccount", self.meta(component), **automount)

    def roles(self) -> list[JsonObject]:
        election = [("controller", "cert-manager"), ("cainjector", "cert-manager-cainjector")]
        tokens = {
            "apiGroups": [""],
            "resources": ["serviceaccounts/token"],
            "resourceNames": ["cert-manager"],
            "verbs": ["create"],
        }
        secret = {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": ["cert-manager-webhook-ca"],
            "verbs": ["get"],
        }
        approve = {
            "apiGroups": ["cert-manager.io"],
            "resources": ["signers"],
            "resourceNames": ["issuers.cert-manager.io/*"],
            "verbs": ["approve"],
        }
        view = self.meta("controller", "cert-manager-view", namespace="")
        view["labels"][f"{RBAC}/aggregate-to-view"] = "true"
        return [
            *(
                obj
                for component, name in election
                for obj in self.role(component, f"{name}:leaderelection", [], at="kube-system")
            ),
            *self.role("webhook", "cert-manager-webhook:dynamic-serving", [secret]),
            *self.role("controller", "cert-manager-tokenrequest", [tokens]),
            *self.role("controller", "cert-manager-controller-issuers", [], at=""),
            *self.role(
                "controller", "cert-manager-controller-approve:cert-manager-io", [approve], at=""
            ),
            *self.role("cainjector", "cert-manager-cainjector", [], at=""),
            _object(f"{RBAC}/v1", "ClusterRole", view, rules=[]),
        ]

    def role(
        self, component: str, name: str, rules: list[JsonObject], at: str = "cert-manager"
    ) -> list[JsonObject]:
        kind = "Role" if at else "ClusterRole"
        subject = {"kind": "ServiceAccount", "name": FULL[component], "namespace": "cert-manager"}
        ref = {"apiGroup": RBAC, "kind": kind, "name": name}
        binding = {"roleRef": ref, "subjects": [subject]}
        return [
            _object(f"{RBAC}/v1", kind, self.meta(component, name, namespace=at), rules=rules),
            _object(
                f"{RBAC}/v1", f"{kind}Binding", self.meta(component, name, namespace=at), **binding
            ),
        ]

    def services(self) -> list[JsonObject]:
        metrics = {"name": "http-metrics", "port": 9402, "protocol": "TCP"}
        https = {"name": "https", "port": 443, "protocol": "TCP", "targetPort": "https"}
        return [
            self.service("controller", [metrics]),
            self.service("cainjector", [metrics]),
            self.service("webhook", [https, {**metrics, "targetPort": "http-metrics"}]),
        ]

    def service(self, component: str, ports: list[JsonObject]) -> JsonObject:
        spec = {"type": "ClusterIP", "ports": deepcopy(ports), "selector": self.selector(component)}
        return _object("v1", "Service", self.meta(component), spec=spec)

    def args(self, component: str) -> list[str]:
        election = "--leader-election-namespace=kube-system"
        image = f"quay.io/jetstack/cert-manager-acmesolver:{self.version}"
        return {
            "controller": [
                "--v=2",
                "--cluster-resource-namespace=$(POD_NAMESPACE)",
                election,
                f"--acme-http01-solver-image={image}",
                "--max-concurrent-challenges=60",
            ],
            "cainjector": ["--v=2", election],
            "webhook": [
                "--v=2",
                "--secure-port=10250",
                "--dynamic-serving-ca-secret-namespace=$(POD_NAMESPACE)",
                "--dynamic-serving-ca-secret-name=cert-manager-webhook-ca",
                "--dynamic-serving-dns-names=cert-manager-webhook",
                "--dynamic-serving-dns-names=cert-manager-webhook.$(POD_NAMESPACE)",
                "--dynamic-serving-dns-names=cert-manager-webhook.$(POD_NAMESPACE).svc",
            ],
        }[component]

    def ports(self, component: str) -> list[JsonObject]:
        metrics = {"containerPort": 9402, "name": "http-metrics", "protocol": "TCP"}
        https = {"containerPort": 10250, "name": "https", "protocol": "TCP"}
        healthy = {"containerPort": 6080, "name": "healthcheck", "protocol": "TCP"}
        return [https, healthy, metrics] if component == "webhook" else [metrics]

    def probe(self, path: str) -> JsonObject:
        return {"httpGet": {"path": path, "port": "healthcheck"}, "periodSeconds": 10}

    def pod(self) -> JsonObject:
        return {
            "enableServiceLinks": False,
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "securityContext": {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        }

    def deployment(self, component: str) -> JsonObject:
        source = {"fieldRef": {"fieldPath": "metadata.namespace"}}
        container: JsonObject = {
            "name": f"cert-manager-{component}",
            "image": f"quay.io/jetstack/cert-manager-{component}:{self.version}",
            "imagePullPolicy": "IfNotPresent",
            "args": self.args(component),
            "ports": self.ports(component),
            "env": [{"name": "POD_NAMESPACE", "valueFrom": source}],
        }
        if component == "webhook":
            container["livenessProbe"] = self.probe("/livez")
            container["readinessProbe"] = self.probe("/healthz")
        metadata = {
            "labels": self.meta(component)["labels"],
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9402"},
        }
        pod = {
            "serviceAccountName": FULL[component],
            "containers": [container],
            **self.pod(),
        }
        spec = {
            "replicas": 1,
            "selector": {"matchLabels": self.selector(component)},
            "template": {"metadata": metadata, "spec": pod},
        }
        return _object("apps/v1", "Deployment", self.meta(component), spec=spec)

    def registration(self, kind: str) -> JsonObject:
        metadata = self.meta("webhook", namespace="")
        metadata["annotations"] = {CA: "cert-manager/cert-manager-webhook-ca"}
        path = "/mutate" if kind == "Mutating" else "/validate"
        service = {"name": "cert-manager-webhook", "namespace": "cert-manager", "path": path}
        webhook = {
            "name": "webhook.cert-manager.io",
            "timeoutSeconds": 30,
            "clientConfig": {"service": service},
            "namespaceSelector": {"matchExpressions": self.expressions()},
        }
        api_version = "admissionregistration.k8s.io/v1"
        return _object(api_version, f"{kind}WebhookConfiguration", metadata, webhooks=[webhook])

    def expressions(self) -> list[JsonObject]:
        disabled = {"key": "cert-manager.io/disable-validation", "operator": "NotIn"}
        return [{**disabled, "values": ["true"]}]


class _Old(_New):
    def definition(self) -> JsonObject:
        found = super().definition()
        found["metadata"]["annotations"] = {CA: "cert-manager/cert-manager-webhook-ca"}
        service = {
            "name": "cert-manager-webhook",
            "namespace": "cert-manager",
            "path": "/convert",
        }
        webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
        found["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
        return found

    def services(self) -> list[JsonObject]:
        metrics = {"port": 9402, "protocol": "TCP", "targetPort": 9402}
        https = {"name": "https", "port": 443, "targetPort": 10250}
        return [self.service("controller", [metrics]), self.service("webhook", [https])]

    def args(self, component: str) -> list[str]:
        found = [arg for arg in super().args(component) if "acme" not in arg and "dns" not in arg]
        if component == "webhook":
            base = "cert-manager-webhook"
            names = f"{base},{base}.cert-manager,{base}.cert-manager.svc"
            found.append(f"--dynamic-serving-dns-names={names}")
        return [arg for arg in found if "max-concurrent" not in arg]

    def ports(self, component: str) -> list[JsonObject]:
        if component == "webhook":
            return [{"containerPort": 10250, "name": "https"}]
        return [{"containerPort": 9402}] if component == "controller" else []

    def probe(self, path: str) -> JsonObject:
        return {"httpGet": {"path": path, "port": 6080}, "periodSeconds": 10}

    def pod(self) -> JsonObject:
        return {}

    def expressions(self) -> list[JsonObject]:
        own = {"key": "name", "operator": "NotIn", "values": ["cert-manager"]}
        return [*super().expressions(), own]


def _object(api_version: str, kind: str, metadata: JsonObject, **parts: object) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **parts}


NEW = sample_bundle("v1.21.2")
OLD = sample_bundle("v1.2.0")
