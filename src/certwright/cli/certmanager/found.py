"""The cert-manager that is in a cluster, however it was installed, found by labels and images."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from certwright.apply import ObjectRef
from certwright.client import Client
from certwright.kube import JsonObject, Key, NotFound
from certwright.kube.kinds import (
    CustomResourceDefinition,
    Deployment,
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from certwright.operators.certmanager.engine.observed import (
    ComponentState,
    DefinitionState,
    component_state,
    definition_state,
    first_container,
)
from certwright.operators.certmanager.request import Component

DEFINITIONS: Final = (
    "certificaterequests.cert-manager.io",
    "certificates.cert-manager.io",
    "challenges.acme.cert-manager.io",
    "clusterissuers.cert-manager.io",
    "issuers.cert-manager.io",
    "orders.acme.cert-manager.io",
)
_DOMAIN: Final = "cert-manager.io"
_NAMES: Final = frozenset({"cert-manager", "webhook", "cainjector"})


@dataclass(frozen=True, slots=True)
class FoundInstallation:
    """What a cluster has of cert-manager."""

    definitions: tuple[DefinitionState, ...]
    deployments: tuple[tuple[Component, JsonObject], ...]
    registrations: tuple[JsonObject, ...]

    def of(self, component: Component) -> list[JsonObject]:
        """Return the Deployments of a component; there should be one."""
        return [obj for one, obj in self.deployments if one is component]

    def state(self, component: Component) -> ComponentState | None:
        """Return how a component runs; None if there is none."""
        found = self.of(component)
        return component_state(component, ObjectRef.of(found[0]), found[0]) if found else None


async def find_installation(client: Client) -> FoundInstallation:
    """Read definitions, Deployments and webhook configurations."""
    definitions = [await _definition(client, name) for name in DEFINITIONS]
    deployments: list[tuple[Component, JsonObject]] = []
    async for page in client.pages(Deployment):
        for item in page.items:
            obj = {"apiVersion": "apps/v1", "kind": "Deployment", **orjson.loads(memoryview(item))}
            if (component := component_found(obj)) is not None:
                deployments.append((component, obj))
    registrations: list[JsonObject] = []
    for kind in (ValidatingWebhookConfiguration, MutatingWebhookConfiguration):
        registrations += registered((await client.list(kind)).items)
    return FoundInstallation(tuple(definitions), tuple(deployments), tuple(registrations))


def component_found(deployment: JsonObject) -> Component | None:
    """Return which component of some cert-manager a Deployment runs; None if it runs none."""
    labels = deployment["metadata"].get("labels") or {}
    told = labels.get("app.kubernetes.io/component")
    if labels.get("app.kubernetes.io/name") in _NAMES and told in set(Component):
        return Component(told)
    image = str(first_container(deployment).get("image") or "")
    name = image.partition("@")[0].rpartition("/")[2].partition(":")[0]
    return next((one for one in Component if name.endswith(f"cert-manager-{one}")), None)


def registered(configurations: Iterable[JsonObject]) -> list[JsonObject]:
    """Return the webhook configurations that are cert-manager's: their webhooks are named so."""
    return [
        one
        for one in configurations
        if any(str(webhook.get("name")).endswith(_DOMAIN) for webhook in one.get("webhooks") or ())
    ]


def webhook_services(registrations: Sequence[JsonObject]) -> list[Key]:
    """Return the Services by which the API server reaches webhooks; none if it uses URLs."""
    services = [
        (webhook.get("clientConfig") or {}).get("service") or {}
        for one in registrations
        for webhook in one.get("webhooks") or ()
    ]
    keys = (Key(str(s.get("namespace")), str(s.get("name"))) for s in services if s)
    return list(dict.fromkeys(keys))


async def _definition(client: Client, name: str) -> DefinitionState:
    try:
        return definition_state(name, await client.get(CustomResourceDefinition, Key("", name)))
    except NotFound:
        return definition_state(name, None)
