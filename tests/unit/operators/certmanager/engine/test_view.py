"""The installation as a pass sees it, worked out once for what does not change."""

from dataclasses import dataclass, field

from certwright.apiserver import ApiServer
from certwright.apply import ObjectRef
from certwright.client import Client
from certwright.clock import SYSTEM
from certwright.kube import JsonObject
from certwright.operators.certmanager.engine.steps import Wanted
from certwright.operators.certmanager.engine.view import ClusterView
from certwright.operators.certmanager.request import Component

WEBHOOK = ObjectRef("apps/v1", "Deployment", "cert-manager", "cert-manager-webhook")
WANTED = Wanted(version="v1.21.2", steps={}, deployments={Component.WEBHOOK: WEBHOOK})


@dataclass(frozen=True, eq=False)
class Stored:
    """What a store has of an object."""

    content: JsonObject

    def obj(self) -> JsonObject:
        return dict(self.content)


@dataclass
class Stores:
    """The objects of an installation."""

    annotation: str = "certwright.dev/owner"
    field_manager: str = "operator"
    entries: dict[ObjectRef, Stored] = field(default_factory=dict)

    async def entry(self, ref: ObjectRef) -> Stored | None:
        return self.entries.get(ref)


def webhook(ready: int) -> Stored:
    image = "quay.io/jetstack/cert-manager-webhook:v1.21.2"
    containers = [{"name": "cert-manager-webhook", "image": image}]
    return Stored(
        {
            "metadata": {"name": WEBHOOK.name, "namespace": WEBHOOK.namespace},
            "spec": {"template": {"spec": {"containers": containers}}},
            "status": {"readyReplicas": ready},
        }
    )


async def test_a_component_is_looked_at_again_only_when_its_deployment_changes() -> None:
    stores = Stores(entries={WEBHOOK: webhook(0)})
    view = ClusterView(stores, Client(ApiServer().transport()), SYSTEM)
    [first] = (await view.observe(WANTED)).components
    [again] = (await view.observe(WANTED)).components
    assert again is first
    assert (first.found, first.version, first.ready) == (True, "v1.21.2", 0)
    stores.entries[WEBHOOK] = webhook(1)
    [changed] = (await view.observe(WANTED)).components
    assert changed.ready == 1
    stores.entries.clear()
    [gone] = (await view.observe(WANTED)).components
    assert not gone.found
