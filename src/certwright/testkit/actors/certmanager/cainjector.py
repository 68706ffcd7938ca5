"""The played cainjector: it writes the caBundle of what asks for one by annotation.

Webhook configurations, conversions of definitions, and APIServices. Where the authority comes from
is said as in cert-manager: a Secret that allows it, the Secret of a Certificate, or the API server.
"""

import base64
from collections.abc import Iterator
from typing import Final

from certwright.kube import JsonObject, Key, Resource, key_of
from certwright.kube.kinds import (
    APIService,
    CustomResourceDefinition,
    MutatingWebhookConfiguration,
    Secret,
    ValidatingWebhookConfiguration,
)
from certwright.testkit.actors.certmanager.components import ComponentPod
from certwright.testkit.actors.certmanager.election import Election
from certwright.testkit.actors.certmanager.keypairs import authority_pair
from certwright.testkit.actors.certmanager.world import GROUPS, PlayedWorld
from certwright.testkit.actors.podplay import NEVER

_TARGETS: Final = (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
    CustomResourceDefinition,
    APIService,
)
_FIRST_THAT_APPLIES: Final = (1, 21)
"""The first version that applies bundles; those before it update whole objects."""
_API_SERVER: Final = 1_000_000
"""Which of the played authorities is taken for that of the API server."""


class PlayedCainjector:
    """The pod of the cainjector that leads."""

    KINDS: Final = (*_TARGETS, Secret)

    def __init__(self, world: PlayedWorld, election: Election) -> None:
        self._world = world
        self._election = election
        self._noticed: dict[tuple[str, str], tuple[str, float]] = {}

    async def step(self) -> float | None:
        """Write the bundles that are due; return the seconds until the next is."""
        leader, due = self._election.leader, NEVER
        if leader is None:
            return None
        for kind in _TARGETS:
            for target in self._world.objects(kind):
                wanted = self._wanted(target)
                if wanted and any(each.get("caBundle") != wanted for each in bundles_of(target)):
                    due = min(due, await self._inject(leader, kind, target, wanted))
        return due

    async def _inject(
        self, leader: ComponentPod, kind: Resource, target: JsonObject, wanted: str
    ) -> float:
        """Write a bundle if it is due; return the seconds until it is."""
        key, now = (kind.kind, target["metadata"]["name"]), self._world.clock.monotonic()
        known, since = self._noticed.get(key, ("", now))
        if known != wanted:
            since = now
        self._noticed[key] = (wanted, since)
        left = since + self._world.play.injection - now
        if left > 0:
            return left
        client = self._world.client_of(leader, "cert-manager-cainjector")
        found = await client.get(kind, key_of(target))
        for each in bundles_of(found):
            each["caBundle"] = wanted
        if leader.minor < _FIRST_THAT_APPLIES:
            await client.update(found)
        else:
            await client.apply(only_bundles(found))
        del self._noticed[key]
        return NEVER

    def _wanted(self, target: JsonObject) -> str:
        """Return the bundle that a target asks for, in base64; empty if there is none."""
        annotations = target["metadata"].get("annotations") or {}
        for group in GROUPS:
            if name := annotations.get(f"{group}/inject-ca-from-secret"):
                secret = self._world.get(Secret, Key.parse(name)) or {"metadata": {}}
                given = secret["metadata"].get("annotations") or {}
                allowed = given.get(f"{group}/allow-direct-injection") == "true"
                return _authority(secret) if allowed else ""
            if name := annotations.get(f"{group}/inject-ca-from"):
                return self._of_certificate(Key.parse(name))
            if annotations.get(f"{group}/inject-apiserver-ca") == "true":
                return base64.b64encode(authority_pair(_API_SERVER).certificate).decode()
        return ""

    def _of_certificate(self, key: Key) -> str:
        kind = self._world.served("Certificate", "certificates")
        certificate = self._world.get(kind, key) if kind else None
        if kind is None or certificate is None:
            return ""
        name = certificate["spec"].get("secretName", "")
        secret = self._world.get(Secret, Key(key.namespace, name)) or {"metadata": {}}
        owner = (secret["metadata"].get("annotations") or {}).get(f"{kind.group}/certificate-name")
        return _authority(secret) if owner == key.name else ""


def bundles_of(target: JsonObject) -> Iterator[JsonObject]:
    """Yield the parts of an object that have a caBundle."""
    for webhook in target.get("webhooks") or ():
        yield webhook["clientConfig"]
    if target.get("kind") == "CustomResourceDefinition":
        webhook = (target["spec"].get("conversion") or {}).get("webhook") or {}
        if webhook.get("clientConfig"):
            yield webhook["clientConfig"]
    if target.get("kind") == "APIService" and target["spec"].get("service"):
        yield target["spec"]


def only_bundles(target: JsonObject) -> JsonObject:
    """Return what is applied of an object: its bundles alone."""
    named = {name: target[name] for name in ("apiVersion", "kind")}
    metadata = {"name": target["metadata"]["name"]}
    if "webhooks" in target:
        webhooks = [
            {"name": each["name"], "clientConfig": {"caBundle": each["clientConfig"]["caBundle"]}}
            for each in target["webhooks"]
        ]
        return {**named, "metadata": metadata, "webhooks": webhooks}
    if target["kind"] == "APIService":
        return {**named, "metadata": metadata, "spec": {"caBundle": target["spec"]["caBundle"]}}
    bundle = target["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"]
    conversion = {"webhook": {"clientConfig": {"caBundle": bundle}}}
    return {**named, "metadata": metadata, "spec": {"conversion": conversion}}


def _authority(secret: JsonObject) -> str:
    return str((secret.get("data") or {}).get("ca.crt", ""))
