"""A DiscoveryService in ``certwright up``: sidecars, certificates, and an Envoy's configuration.

The pods of its control plane are played, as all pods on the embedded server; their webhook answers
in this process, with the certificate that they would mount. EnvoyConfigs are published if there is
a schema of Envoy's messages on this machine.
"""

from base64 import b64decode
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import orjson

from certwright import pki
from certwright.api.discoveryservices import DiscoveryService, DiscoveryServiceCertificate
from certwright.api.envoyconfigs import EnvoyConfig, EnvoyConfigRevision
from certwright.apiserver import ApiServer
from certwright.apiserver.webhooks.address import WebhookAddress
from certwright.apiserver.webhooks.registered import RegisteredWebhook, RegisteredWebhooks
from certwright.cli.errors import UsageError
from certwright.cli.up.accounts import OperatorAccount
from certwright.cli.up.demos import Demo
from certwright.cli.xds.schemas import find_schema
from certwright.client import Selection
from certwright.clock import SYSTEM
from certwright.kube import JsonObject
from certwright.kube.kinds import Secret
from certwright.kube.reviews.admission import read_admission_review, write_admission_review
from certwright.operators.discoveryservice.certificates.operator import certificate_operator
from certwright.operators.discoveryservice.certificates.shared import CertificateOperatorSettings
from certwright.operators.discoveryservice.injection.annotations import SidecarDefaults
from certwright.operators.discoveryservice.injection.review import PATH, decide
from certwright.operators.discoveryservice.service.operator import service_operator
from certwright.operators.discoveryservice.service.plane import ServiceDefaults
from certwright.webhook.decisions import Allow, respond

if TYPE_CHECKING:
    from certwright.xds.schema.schema import MessageSchema

NAME: Final = "sample"
SPACE: Final = "envoy-system"
"""The namespace of the control plane."""
NODE: Final = "web"
_WITHOUT_SCHEMA: Final = (
    "CERTWRIGHT_ENVOY=/usr/bin/envoy certwright up   # EnvoyConfigs are published, too: see "
    "certwright xds schema --help"
)
_SERVER_SECRET: Final = f"marin3r-server-cert-{NAME}"
_CERTIFICATES: Final = CertificateOperatorSettings(
    keys=pki.KeySpec(), propagation=timedelta(seconds=10), soonest=timedelta(seconds=2)
)
"""Keys that are made at once, and a rotation that can be watched: nothing mounts the Secrets."""


def sample_schema() -> "MessageSchema | None":
    """Return the schema of Envoy's messages; None if there is none on this machine."""
    try:
        return find_schema(None, None)
    except UsageError:
        return None


def discovery_service_demo(schema: "MessageSchema | None") -> Demo:
    """Return the operator of DiscoveryServices, one of these, and an EnvoyConfig if it is read."""
    operators = [service_operator(ServiceDefaults()), certificate_operator(_CERTIFICATES)]
    accounts = [OperatorAccount("discovery-service-operator", operators)]
    if schema is not None:
        from certwright.operators.discoveryservice.config.operator import config_operator
        from certwright.xds.observations import Connections
        from certwright.xds.store import SnapshotStore

        publisher = config_operator(schema, SnapshotStore(), Connections(), replica="sample")
        accounts.append(OperatorAccount("discovery-service", [publisher]))
    return Demo(
        accounts=accounts,
        kinds=[DiscoveryService, DiscoveryServiceCertificate, EnvoyConfig, EnvoyConfigRevision],
        objects=lambda: discovery_sample(with_config=schema is not None),
        introduction="A DiscoveryService runs a control plane for Envoy sidecars. Try:",
        suggestions=lambda kubectl: _suggestions(kubectl, with_config=schema is not None),
        grants=[{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}],
    )


def discovery_sample(*, with_config: bool) -> list[JsonObject]:
    """Return a DiscoveryService for the namespace default, and a configuration of Envoys there."""
    service = DiscoveryService.resource
    spec = {"discoveryServiceNamespace": SPACE, "enabledNamespaces": ["default"]}
    made: list[JsonObject] = [
        {
            "apiVersion": service.api_version,
            "kind": service.kind,
            "metadata": {"name": NAME},
            "spec": spec,
        }
    ]
    if with_config:
        config = EnvoyConfig.resource
        made.append(
            {
                "apiVersion": config.api_version,
                "kind": config.kind,
                "metadata": {"name": NODE},
                "spec": {"nodeID": NODE, "resources": [_cluster("1s")]},
            }
        )
    return made


def _cluster(timeout: str) -> JsonObject:
    value = {
        "name": "backend",
        "type": "STATIC",
        "connect_timeout": timeout,
        "load_assignment": {"cluster_name": "backend"},
    }
    return {"type": "cluster", "value": value}


def _suggestions(kubectl: str, *, with_config: bool) -> list[str]:
    label, node = "marin3r.3scale.net/status=enabled", f"marin3r.3scale.net/node-id={NODE}"
    broken = orjson.dumps({"spec": {"resources": [_cluster("-1s")]}}).decode()
    configs = [
        f"{kubectl} patch envoyconfig {NODE} --type merge -p '{broken}'   # Envoy would refuse it",
        "certwright xds status   # the version before is served: Rollback, and the field at fault",
    ]
    return [
        f"{kubectl} run {NODE} --image=nginx --labels={label} --annotations={node}",
        f"{kubectl} get pod {NODE} -o jsonpath='{{.spec.containers[*].name}}'   # with its sidecar",
        f"certwright ds status {NAME}   # its certificates, and whether it serves",
        f"certwright ds rotate-ca {NAME}   # another authority, step by step; see the status again",
        *(configs if with_config else [_WITHOUT_SCHEMA]),
    ]


class SampleSidecars:
    """Answers reviews in place of the pods of the control plane."""

    def __init__(self) -> None:
        self.webhooks = RegisteredWebhooks(SYSTEM)
        self.webhooks.lookup = self._find
        self._server: ApiServer | None = None

    def serve(self, server: ApiServer) -> None:
        """Answer the reviews of a server."""
        self._server = server

    def _find(self, address: WebhookAddress) -> RegisteredWebhook | None:
        if address.service is None or self._server is None or not self._chain():
            return None  # nothing listens: the pods could not start without a certificate
        inject = address.path == PATH
        return RegisteredWebhook(_injected if inject else _allowed, self._chain)

    def _chain(self) -> bytes:
        assert self._server is not None
        chosen = Selection(SPACE, fields=f"metadata.name={_SERVER_SECRET}")
        for secret in self._server.held(Secret, chosen):
            return b64decode((secret.get("data") or {}).get("tls.crt") or "")
        return b""


def _injected(review: JsonObject) -> JsonObject:
    request = read_admission_review(orjson.dumps(review))
    decision = decide(request, SidecarDefaults(NAME, manager_image=ServiceDefaults().image))
    answer: JsonObject = orjson.loads(
        write_admission_review(respond(request, decision, mutating=True))
    )
    return answer


def _allowed(review: JsonObject) -> JsonObject:
    """Let an EnvoyConfig pass, so that what becomes of a broken one can be seen."""
    request = read_admission_review(orjson.dumps(review))
    answer: JsonObject = orjson.loads(
        write_admission_review(respond(request, Allow(), mutating=False))
    )
    return answer
