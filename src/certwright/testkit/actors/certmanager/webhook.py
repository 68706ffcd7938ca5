"""The played webhook: its authority, the certificate it shows, and its answers.

A pod of the webhook that is running makes the Secret its arguments name, as its ServiceAccount. A
review reaches it by the Service, as through kube-proxy: a ready pod that the selector matches, at
the port that the Service leads to.
"""

import asyncio
import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from certwright.apiserver.webhooks.address import WebhookAddress
from certwright.apiserver.webhooks.registered import RegisteredWebhook
from certwright.apiserver.webhooks.response import WebhookResponse
from certwright.kube import AlreadyExists, JsonObject, Key, NotFound
from certwright.kube.kinds import Pod, Secret, Service
from certwright.kube.timestamps import parse_time
from certwright.testkit.actors.certmanager.components import WEBHOOK, ComponentPod
from certwright.testkit.actors.certmanager.keypairs import authority_pair, serving_chain
from certwright.testkit.actors.certmanager.reviews import ANSWERS, mutated, validated
from certwright.testkit.actors.certmanager.world import PlayedWorld
from certwright.testkit.actors.podplay import NEVER, seconds_left
from certwright.testkit.workloads.podstate import is_deleting

_INJECTABLE: Final = "cert-manager.io/allow-direct-injection"
_PARTS: Final = ("ca.crt", "tls.crt", "tls.key")


class PlayedWebhook:
    """All pods of the webhook."""

    KINDS: Final = (Pod, Secret)

    def __init__(self, world: PlayedWorld) -> None:
        self._world = world
        self._made = 0

    async def step(self) -> float | None:
        """Make the authorities that running pods lack; return the seconds until one is due."""
        due = NEVER
        for pod in self._world.pods(WEBHOOK):
            started = None if is_deleting(pod.pod) else _started(pod)
            if started is None or _authority_secret(pod) is None:
                continue
            left = seconds_left(started, self._world.play.authority, self._world.clock.now())
            if left > 0:
                due = min(due, left)
            elif not self._authority(pod):
                await self._make_authority(pod)
        return due

    def find(self, address: WebhookAddress) -> RegisteredWebhook | None:
        """Return what answers at an address; None if it is not that of a Service."""
        place = address.service
        if place is None:
            return None
        service = self._world.get(Service, Key(place.namespace, place.name))
        if service is None:
            raise address.failed(f'service "{place.name}" not found')
        pod = self._endpoint(service, place.port)
        if pod is None:
            target = f"{service['spec'].get('clusterIP')}:{place.port}"
            raise address.failed(f"dial tcp {target}: connect: connection refused")
        chain = self._chain(pod)
        if not chain:
            raise address.failed("remote error: tls: internal error")

        async def answer(review: JsonObject) -> JsonObject | WebhookResponse:
            await asyncio.sleep(min(self._world.play.answer, 3600.0))
            return _answer(address.path, review)

        return RegisteredWebhook(answer, lambda: chain)

    async def _make_authority(self, pod: ComponentPod) -> None:
        client, key = self._world.client_of(pod, "webhook"), _authority_secret(pod)
        assert key is not None, "only pods with such an argument make one"
        pair = authority_pair(self._made)
        values = (pair.certificate, pair.certificate, pair.key)
        data = {
            name: base64.b64encode(value).decode()
            for name, value in zip(_PARTS, values, strict=True)
        }
        try:
            found = await client.get(Secret, key)
        except NotFound:
            place = {"name": key.name, "namespace": key.namespace}
            metadata = {**place, "annotations": {_INJECTABLE: "true"}}
            secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
            try:
                await client.create(secret)
            except AlreadyExists:
                return  # by another pod
        else:
            await client.update({**found, "data": {**(found.get("data") or {}), **data}})
        self._made += 1

    def _authority(self, pod: ComponentPod) -> JsonObject:
        """Return the contents of the Secret with the authority of a pod; nothing if unusable."""
        key = _authority_secret(pod)
        secret = self._world.get(Secret, key) if key else None
        data: JsonObject = (secret or {}).get("data") or {}
        return data if all(data.get(part) for part in _PARTS) else {}

    def _chain(self, pod: ComponentPod) -> bytes:
        """Return the certificates that a pod shows, PEM; nothing if it has none."""
        if _authority_secret(pod) is not None:
            data = self._authority(pod)
            hosts = tuple(pod.listed("dynamic-serving-dns-names"))
            pair = [base64.b64decode(data.get(part, "")) for part in ("tls.crt", "tls.key")]
            return serving_chain(*pair, hosts) if data else b""
        for name in _mounted_secrets(pod):
            secret = self._world.get(Secret, Key(pod.namespace, name)) or {}
            if shown := (secret.get("data") or {}).get("tls.crt"):
                return base64.b64decode(shown)
        return b""

    def _endpoint(self, service: JsonObject, port: int) -> ComponentPod | None:
        """Return the first ready pod behind a port of a Service, if it is one of ours."""
        spec = service["spec"]
        wanted = next((each for each in spec.get("ports") or () if each["port"] == port), None)
        selector = (spec.get("selector") or {}).items()
        if wanted is None or not selector:
            return None
        for pod in self._world.objects(Pod):
            metadata = pod["metadata"]
            here = metadata["namespace"] == service["metadata"]["namespace"]
            if not here or not selector <= (metadata.get("labels") or {}).items():
                continue
            found = self._world.component_pod(pod)
            if found and found.is_working and _listens(found, wanted.get("targetPort", port)):
                return found
        return None


def _answer(path: str, review: JsonObject) -> JsonObject | WebhookResponse:
    if path in ANSWERS:
        return ANSWERS[path](review)
    if path.startswith("/apis/"):  # of an aggregated API
        return mutated(review) if path.endswith("/mutations") else validated(review)
    return WebhookResponse(404, b"404 page not found", "text/plain; charset=utf-8")


def _authority_secret(pod: ComponentPod) -> Key | None:
    name = pod.flag("dynamic-serving-ca-secret-name")
    namespace = pod.flag("dynamic-serving-ca-secret-namespace", pod.namespace)
    return Key(namespace, name) if name else None


def _started(pod: ComponentPod) -> datetime | None:
    """Return since when all containers of a pod run; None if they do not."""
    statuses: Sequence[JsonObject] = (pod.pod.get("status") or {}).get("containerStatuses") or ()
    running = [(each.get("state") or {}).get("running") for each in statuses]
    if not running or not all(running):
        return None
    return max(parse_time(each["startedAt"]) for each in running if each)


def _mounted_secrets(pod: ComponentPod) -> list[str]:
    volumes = pod.pod["spec"].get("volumes") or ()
    return [each["secret"]["secretName"] for each in volumes if each.get("secret")]


def _listens(pod: ComponentPod, target: int | str) -> bool:
    """Return whether the webhook listens on the port that a Service leads to."""
    own = int(pod.flag("secure-port", "10250") or 0)
    if isinstance(target, int):
        return target == own
    ports = [p for each in pod.pod["spec"]["containers"] for p in each.get("ports") or ()]
    return any(each.get("name") == target and each["containerPort"] == own for each in ports)
