"""APIServices as the API server treats them: whether they are available, and reviews through them.

Up to 0.13 cert-manager's webhook was an aggregated API: its configurations name the API server
itself, which passes reviews on to the Service of an APIService, trusted by the caBundle of that.
"""

import base64
import binascii
from collections.abc import Callable
from typing import Final

from certwright.apiserver.webhooks.address import ServicePort, WebhookAddress
from certwright.apiserver.webhooks.registered import RegisteredWebhook
from certwright.apiserver.webhooks.response import CallFailed
from certwright.apiserver.webhooks.trust import certificate_failure
from certwright.kube import JsonObject, Key, format_time, key_of
from certwright.kube.kinds import APIService, Pod, Service
from certwright.runtime.writes.patches import status_patch
from certwright.testkit.actors.certmanager.world import PlayedWorld

Find = Callable[[WebhookAddress], RegisteredWebhook | None]

_API_SERVER: Final = ("default", "kubernetes")


class PlayedAggregation:
    """Passes reviews on; *find* knows what answers behind a Service."""

    KINDS: Final = (APIService, Service, Pod)

    def __init__(self, world: PlayedWorld, find: Find) -> None:
        self._world = world
        self._find = find

    def find(self, address: WebhookAddress) -> RegisteredWebhook | None:
        """Return what answers at an address, behind an APIService if it is the API server's."""
        place = address.service
        if place is None or (place.namespace, place.name) != _API_SERVER:
            return self._find(address)
        group, version = [*address.path.split("/"), "", ""][2:4]
        service = self._world.get(APIService, Key("", f"{version}.{group}"))
        if service is None:
            raise address.failed("the server could not find the requested resource")
        found, failure = self._reached(service, address.path)
        if failure:
            raise address.failed(f"the server is currently unable to handle the request: {failure}")
        return RegisteredWebhook(found.handler) if found else None

    async def step(self) -> float | None:
        """Write whether APIServices are available."""
        client = self._world.client("kube-aggregator")
        for service in self._world.objects(APIService):
            if not service["spec"].get("service"):
                continue
            _, failure = self._reached(service, "/")
            status = _status(service, failure, format_time(self._world.clock.now()))
            if patch := status_patch(service, status):
                change = {"status": patch["status"]}
                await client.patch(APIService, key_of(service), change, subresource="status")
        return None

    def _reached(self, service: JsonObject, path: str) -> tuple[RegisteredWebhook | None, str]:
        """Return what is behind an APIService, and why it is not available; empty if it is."""
        spec = service["spec"]
        named = spec["service"]
        port = named.get("port") or 443
        name = f"{named['name']}.{named['namespace']}.svc"
        try:
            authorities = base64.b64decode(spec.get("caBundle") or "")
        except binascii.Error:
            authorities = b""
        place = ServicePort(named["namespace"], named["name"], port)
        inner = WebhookAddress(f"{name}:{port}", path, "", name, authorities, place)
        try:
            found = self._find(inner)
        except CallFailed as error:
            return None, error.reason
        if found is None:
            return None, f'no response from "{name}"'
        chain = found.chain() if found.chain else b""
        now = self._world.clock.now()
        if spec.get("insecureSkipTLSVerify"):
            return found, ""
        return found, certificate_failure(chain, authorities, name, now)


def _status(service: JsonObject, failure: str, now: str) -> JsonObject:
    before: JsonObject = service.get("status") or {}
    conditions = list(before.get("conditions") or ())
    old: JsonObject = next((each for each in conditions if each["type"] == "Available"), {})
    value = "False" if failure else "True"
    available = {
        "type": "Available",
        "status": value,
        "lastTransitionTime": old["lastTransitionTime"] if old.get("status") == value else now,
        "reason": "FailedDiscoveryCheck" if failure else "Passed",
        "message": failure or "all checks passed",
    }
    kept = [each for each in conditions if each["type"] != "Available"]
    return {**before, "conditions": [*kept, available]}
