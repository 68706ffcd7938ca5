"""cert-manager as Deployments on a node, its webhook reached by its Service."""

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from certwright.apiserver.http.certs import TestAuthority
from certwright.client import until_served
from certwright.clock import SYSTEM
from certwright.kube import ApiError, InternalError, JsonObject, Key, Resource
from certwright.testkit.certmanager import obtain_cert_manager, official_definitions
from certwright.testkit.certmanager.manifests import (
    CONTROLLER,
    NAMESPACE,
    WEBHOOK,
    access_manifests,
    webhook_manifests,
)
from certwright.testkit.controlplane import AssetsMissing
from certwright.testkit.node import NodeSettings, Program
from certwright.testkit.node.plane import PlaneWithNode, control_plane_with_node

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

SECONDS = 10.0
"""From applied manifests to an issued certificate."""
IMAGE = "quay.io/jetstack/cert-manager"
Certificate = Resource("cert-manager.io", "v1", "Certificate", "certificates")


@pytest_asyncio.fixture
async def running() -> AsyncIterator[PlaneWithNode]:
    """Give a control plane with a node that has cert-manager's images."""
    try:
        assets = await asyncio.to_thread(obtain_cert_manager)
    except AssetsMissing as missing:
        pytest.skip(str(missing))
    images = {
        f"{IMAGE}-controller:*": Program((str(assets.controller), "--kubeconfig=$(KUBECONFIG)")),
        f"{IMAGE}-webhook:*": Program((str(assets.webhook), "--kubeconfig=$(KUBECONFIG)")),
    }
    settings = NodeSettings(probe_scale=0.05)
    async with control_plane_with_node(images=images, settings=settings) as made:
        yield made


def named(kind: str, version: str, name: str, **content: object) -> JsonObject:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}


def deployment(name: str, container: JsonObject, **pod: object) -> JsonObject:
    labels = {"app": name}
    spec = {"serviceAccountName": name, "containers": [container], **pod}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return named(
        "Deployment",
        "apps/v1",
        name,
        spec={"selector": {"matchLabels": labels}, "template": template},
    )


def installed(authority: TestAuthority) -> list[JsonObject]:
    pair = authority.serving(f"{WEBHOOK}.{NAMESPACE}.svc")
    tls = {"tls.crt": pair.certificate.decode(), "tls.key": pair.key.decode()}
    webhook = {
        "name": WEBHOOK,
        "image": f"{IMAGE}-webhook:v1.21.1",
        "args": [
            "--secure-port=10250", "--healthz-port=6080", "--metrics-listen-address=0",
            "--tls-cert-file=/etc/webhook/tls.crt", "--tls-private-key-file=/etc/webhook/tls.key",
        ],
        "ports": [
            {"name": "https", "containerPort": 10250}, {"name": "healthcheck", "containerPort": 6080},
        ],
        "readinessProbe": {"httpGet": {"path": "/healthz", "port": "healthcheck"}},
        "volumeMounts": [{"name": "tls", "mountPath": "/etc/webhook", "readOnly": True}],
    }  # fmt: skip
    controller = {
        "name": CONTROLLER,
        "image": f"{IMAGE}-controller:v1.21.1",
        "args": ["--cluster-resource-namespace=$(POD_NAMESPACE)"],
        "env": [
            {
                "name": "POD_NAMESPACE",
                "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}},
            }
        ],
    }
    ports = [{"name": "https", "port": 443, "targetPort": "https"}]
    return [
        named("Secret", "v1", "webhook-tls", stringData=tls),
        named("Service", "v1", WEBHOOK, spec={"selector": {"app": WEBHOOK}, "ports": ports}),
        deployment(
            WEBHOOK, webhook, volumes=[{"name": "tls", "secret": {"secretName": "webhook-tls"}}]
        ),
        deployment(CONTROLLER, controller),
        *(by_service(one) for one in webhook_manifests("https://webhook", authority.certificate)),
    ]


def by_service(registration: JsonObject) -> JsonObject:
    """Return a registration that names the Service instead of a URL."""
    for webhook in registration["webhooks"]:
        config = webhook["clientConfig"]
        path = "/" + config.pop("url").rpartition("/")[2]
        config["service"] = {"name": WEBHOOK, "namespace": NAMESPACE, "path": path}
    return registration


async def create(running: PlaneWithNode, obj: JsonObject) -> None:
    """Create an object as soon as the webhook is there to judge it."""
    while True:
        try:
            await running.client.create(obj)
        except InternalError:
            await asyncio.sleep(0.1)
        else:
            return


async def test_manifests_lead_to_a_certificate(running: PlaneWithNode) -> None:
    client = running.client
    definitions = await asyncio.to_thread(official_definitions)
    for definition in definitions:
        await client.apply(definition)
    for definition in definitions:
        await until_served(client, definition)
    manifests = [*access_manifests(), *installed(TestAuthority("webhook", SYSTEM.now()))]
    started = SYSTEM.monotonic()
    for manifest in manifests:
        await client.apply(manifest)
    issuer = {"apiVersion": "cert-manager.io/v1", "kind": "Issuer",
              "metadata": {"name": "own", "namespace": "default"}, "spec": {"selfSigned": {}}}  # fmt: skip
    spec = {"secretName": "one", "dnsNames": ["one.example"], "issuerRef": {"name": "own"},
            "privateKey": {"algorithm": "ECDSA", "size": 256}}  # fmt: skip
    async with asyncio.timeout(60):
        await create(running, issuer)
        await create(running, {
            "apiVersion": "cert-manager.io/v1", "kind": "Certificate",
            "metadata": {"name": "one", "namespace": "default"}, "spec": spec,
        })  # fmt: skip
        while not await is_ready(running):
            await asyncio.sleep(0.05)
    seconds = SYSTEM.monotonic() - started
    secret = await client.get(Resource("", "v1", "Secret", "secrets"), Key("default", "one"))
    assert b"BEGIN CERTIFICATE" in base64.b64decode(secret["data"]["tls.crt"])
    assert seconds < SECONDS, f"it took {seconds:.1f} s"
    bad = {
        "apiVersion": "cert-manager.io/v1", "kind": "Certificate",
        "metadata": {"name": "bad", "namespace": "default"},
        "spec": {**spec, "issuerRef": {"name": ""}},
    }  # fmt: skip
    with pytest.raises(ApiError, match="denied the request"):
        await client.create(bad)


async def is_ready(running: PlaneWithNode) -> bool:
    found = await running.client.get(Certificate, Key("default", "one"))
    conditions = (found.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
