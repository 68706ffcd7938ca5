"""A certificate that the real cert-manager renews reaches the processes that serve it."""

import asyncio
import hashlib
import ssl
import sys
from base64 import b64decode
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.bundles.released import released
from tests.support.certmanager.releases import (
    QUICK,
    Certificate,
    apply_release,
    request_certificate,
    until_ready,
)
from tests.support.node import tlsserver

from certwright.client import Client, Request, TransportError
from certwright.kube import ApiError, JsonObject, Key
from certwright.kube.kinds import Deployment, ReplicaSet, Secret
from certwright.operators.rollout.dialects.certwright import RESTART, CertwrightDialect
from certwright.operators.rollout.engine.settings import RolloutSettings
from certwright.operators.rollout.operator import rollout_operator
from certwright.operators.rollout.policy import RECORD
from certwright.runtime import Manager
from certwright.testkit.certmanager.assets import LATEST
from certwright.testkit.certmanager.images import cert_manager_images
from certwright.testkit.controlplane import AssetsMissing
from certwright.testkit.node import Program
from certwright.testkit.node.plane import control_plane_with_node

pytestmark = [pytest.mark.real, pytest.mark.timeout(480)]

SERVER = Path(tlsserver.__file__)
WEB = Key("default", "web")
LABELS = {"app": "web"}
SETTINGS = RolloutSettings(dialects=[CertwrightDialect()], quiet=timedelta(seconds=1))


def deployment() -> JsonObject:
    probe = {
        "httpGet": {"port": "https", "path": "/", "scheme": "HTTPS"},
        "periodSeconds": 1,
        "timeoutSeconds": 30,  # that a machine is busy makes no pod unready
    }
    container = {
        "name": "main",
        "image": "tls-server:1",
        "args": ["--port=8443", "--folder=/tls"],
        "ports": [{"name": "https", "containerPort": 8443}],
        "volumeMounts": [{"name": "tls", "mountPath": "/tls"}],
        "readinessProbe": probe,
    }
    pod = {
        "containers": [container],
        "volumes": [{"name": "tls", "secret": {"secretName": "web"}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "annotations": {RESTART: "certificates"},
        },
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": LABELS},
            "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {"metadata": {"labels": LABELS}, "spec": pod},
        },
    }


SERVICE: JsonObject = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"selector": LABELS, "ports": [{"port": 443, "targetPort": "https"}]},
}


@dataclass
class Visitor:
    """Asks the Service again and again, and notes what it serves and what fails."""

    client: Client
    served: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    async def ask(self) -> str:
        path = "/api/v1/namespaces/default/services/https:web:443/proxy/"
        answer = await self.client.transport.send(Request("get", "GET", path))
        if answer.status != 200:
            raise AssertionError(f"{answer.status}: {answer.body[:200]!r}")
        return answer.body.decode()

    async def run(self) -> None:
        while True:
            try:
                self.served.append(await self.ask())
            except (AssertionError, ApiError, TransportError) as error:
                self.failures.append(str(error))
            await asyncio.sleep(0.05)


async def fingerprint(client: Client) -> str:
    """Return the fingerprint of the certificate in the Secret."""
    secret = await client.get(Secret, WEB)
    first, end, _ = (
        b64decode(secret["data"]["tls.crt"]).decode().partition("-----END CERTIFICATE-----")
    )
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(f"{first}{end}\n")).hexdigest()


async def is_recorded(client: Client) -> bool:
    return RECORD in (await client.get(Deployment, WEB))["metadata"]["annotations"]


async def test_a_renewed_certificate_is_served_and_no_request_fails() -> None:
    try:
        images = await asyncio.to_thread(cert_manager_images, [LATEST])
    except AssetsMissing as missing:
        pytest.skip(str(missing))
    bundle = await asyncio.to_thread(released, f"v{LATEST}")
    images = {**images, "tls-server:*": Program((sys.executable, str(SERVER)))}
    async with (
        control_plane_with_node(images=images, settings=QUICK) as running,
        asyncio.timeout(400),
        asyncio.TaskGroup() as tasks,
    ):
        client = running.client
        await apply_release(client, bundle.objects)
        await request_certificate(client, "web")
        await until_ready(client, "web")
        await client.create(deployment())
        await client.create(SERVICE)
        visitor, old = Visitor(client), await fingerprint(client)
        while True:
            try:
                assert await visitor.ask() == old
                break
            except (AssertionError, TransportError):
                await asyncio.sleep(0.2)
        manager = Manager(client, [rollout_operator(SETTINGS)])
        tasks.create_task(manager.run())
        while not await is_recorded(client):
            await asyncio.sleep(0.1)
        visits = tasks.create_task(visitor.run())
        await asyncio.sleep(1)
        # As `cmctl renew web`.
        live = await client.get(Certificate, WEB)
        renew = {"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": ""}
        status = {"conditions": [*live["status"]["conditions"], renew]}
        await client.patch(Certificate, WEB, {"status": status}, subresource="status")
        while (new := await fingerprint(client)) == old:
            await asyncio.sleep(0.1)
        while visitor.served[-60:].count(new) < 60:
            await asyncio.sleep(0.2)
        visits.cancel()
        manager.stop()
        assert visitor.failures == []
        assert set(visitor.served) == {old, new}
        sets = (await client.list(ReplicaSet, "default")).items
        assert len(sets) == 2  # one rollout
