"""The embedded server calls a webhook that runs in a pod, by its Service."""

import base64
import sys
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.support.node.rig import QUICK, PodRig

from certwright.apiserver import ApiServer
from certwright.apiserver.http.certs import TestAuthority
from certwright.clock import SYSTEM
from certwright.kube import ApiError, InternalError, JsonObject
from certwright.testkit.node import Program, server_with_node

WEBHOOK = """
import http.server, json, os, ssl, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["content-length"])))
        name = review["request"]["name"]
        answer = {"uid": review["request"]["uid"], "allowed": name != "bad",
                  "status": {"message": name + " is not wanted"}}
        body = json.dumps({"apiVersion": review["apiVersion"], "kind": "AdmissionReview",
                           "response": answer}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1] + "/tls.crt", sys.argv[1] + "/tls.key")
port = int(os.environ["CERTWRIGHT_PORTS"].partition("=")[2])
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
"""
IMAGES = {"webhook:*": Program((sys.executable, "-c", WEBHOOK))}
LABEL = {"kubernetes.io/service-name": "hook"}


@pytest_asyncio.fixture
async def rig() -> AsyncIterator[PodRig]:
    """Give an embedded server with a node that has the webhook's image."""
    async with server_with_node(ApiServer(), images=IMAGES, settings=QUICK) as running:
        yield PodRig(running.client, "default", running.node)


def named(version: str, kind: str, name: str, **content: object) -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": "default"}
    if kind == "EndpointSlice":
        metadata["labels"] = LABEL
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def registration(authority: bytes) -> JsonObject:
    rule = {
        "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
        "resources": ["configmaps"],
    }  # fmt: skip
    service = {"name": "hook", "namespace": "default", "path": "/validate", "port": 443}
    webhook = {
        "name": "hook.example.com",
        "clientConfig": {"service": service, "caBundle": base64.b64encode(authority).decode()},
        "rules": [rule],
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hook"},
        "webhooks": [webhook],
    }


async def test_a_webhook_in_a_pod_decides(rig: PodRig) -> None:
    authority = TestAuthority("webhook", SYSTEM.now())
    pair = authority.serving("hook.default.svc")
    await rig.secret("tls", **{"tls.crt": pair.certificate.decode(), "tls.key": pair.key.decode()})
    container = {
        "image": "webhook:1",
        "args": ["/etc/tls"],
        "ports": [{"name": "https", "containerPort": 8443}],
        "readinessProbe": {"tcpSocket": {"port": "https"}, "periodSeconds": 1},
        "volumeMounts": [{"name": "tls", "mountPath": "/etc/tls"}],
    }
    await rig.run(container, volumes=[{"name": "tls", "secret": {"secretName": "tls"}}])
    pod = await rig.ready()
    ports = [{"name": "https", "port": 443, "targetPort": "https"}]
    await rig.create(named("v1", "Service", "hook", spec={"ports": ports}))
    await rig.create(registration(authority.certificate))
    with pytest.raises(InternalError, match='no endpoints available for service "hook"'):
        await rig.create(named("v1", "ConfigMap", "early"))
    await rig.create(
        named(
            "discovery.k8s.io/v1", "EndpointSlice", "hook-1", addressType="IPv4",
            ports=[{"name": "https", "port": 8443}],
            endpoints=[{"addresses": [pod["status"]["podIP"]], "conditions": {"ready": True}}],
        )
    )  # fmt: skip
    await rig.create(named("v1", "ConfigMap", "good"))
    with pytest.raises(ApiError, match="denied the request: bad is not wanted"):
        await rig.create(named("v1", "ConfigMap", "bad"))
