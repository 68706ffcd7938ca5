"""A DiscoveryService on the embedded server, where its pods are played and its webhook is ours.

::

    @pytest.mark.scenario("DS-1")
    async def test_installs(serving):
        await serving.declare("a")
        await serving.until_ready()

The webhook answers like that of the product, through the Service, with the certificate that the
pods would mount; so an authority that the API server does not know is noticed. Time is virtual.
"""

import asyncio
import base64
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self

import orjson
import pytest

from certwright import pki
from certwright.api.discoveryservices import DiscoveryService
from certwright.apiserver.webhooks.address import WebhookAddress
from certwright.apiserver.webhooks.registered import RegisteredWebhook
from certwright.client import Client, Selection
from certwright.kube import ApiError, JsonObject, Object, Resource, resource_of
from certwright.kube.kinds import Namespace, Pod, Secret, Service
from certwright.kube.reviews.admission import read_admission_review, write_admission_review
from certwright.operators.discoveryservice.certificates.operator import certificate_operator
from certwright.operators.discoveryservice.certificates.shared import CertificateOperatorSettings
from certwright.operators.discoveryservice.injection.annotations import PREFIX, SidecarDefaults
from certwright.operators.discoveryservice.injection.review import PATH, decide
from certwright.operators.discoveryservice.service.operator import service_operator
from certwright.operators.discoveryservice.service.plane import ServiceDefaults
from certwright.runtime import Operator
from certwright.testkit import Calls, EmbeddedCluster
from certwright.testkit.actors.podplay import PodPlay
from certwright.testkit.actors.reaction import Reaction
from certwright.testkit.actors.rollouts import PlayedDeployments
from certwright.webhook.decisions import respond

DS = DiscoveryService.resource
DEFAULTS = ServiceDefaults(image="certwright:test")


class PlayedPlane:
    """Plays the pods of the control plane, and answers reviews in their place."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.play = PodPlay()
        self.answers = True
        self.tried = 0
        """How often the API server looked for who answers."""
        self._cluster = cluster
        client = Client(cluster.client.transport, clock=cluster.clock, field_manager="kubelet")
        rollouts = PlayedDeployments(cluster.server, client, cluster.clock, lambda _pod: self.play)
        self._reaction = Reaction(rollouts.KINDS, rollouts.step)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._cluster.server.on_change(self._reaction.observe)
        self._cluster.webhooks.lookup = self.find
        group = await self._stack.enter_async_context(asyncio.TaskGroup())
        task = group.create_task(self._reaction.run())
        self._stack.callback(task.cancel)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._cluster.webhooks.lookup = None
        await self._stack.aclose()

    def find(self, address: WebhookAddress) -> RegisteredWebhook | None:
        """Return what answers at the address of a Service, if one of its pods is ready."""
        place = address.service
        if place is None or address.path != PATH:
            return None
        self.tried += 1
        [service] = self._held(Service, place.namespace, f"metadata.name={place.name}")
        selector = service["spec"]["selector"]
        ready = [pod for pod in self._held(Pod, place.namespace) if _is_ready(pod, selector)]
        if not ready or not self.answers:
            raise address.failed("connect: connection refused")
        name = service["spec"]["selector"]["app.kubernetes.io/instance"]
        volumes = ready[0]["spec"]["volumes"]
        secret = next(
            one["secret"]["secretName"] for one in volumes if one["name"] == "server-cert"
        )
        defaults = SidecarDefaults(name, manager_image="certwright:test")

        def chain() -> bytes:
            [found] = self._held(Secret, place.namespace, f"metadata.name={secret}")
            return base64.b64decode(found["data"]["tls.crt"])

        def answer(review: JsonObject) -> Any:
            request = read_admission_review(orjson.dumps(review))
            return orjson.loads(
                write_admission_review(respond(request, decide(request, defaults), mutating=True))
            )

        return RegisteredWebhook(answer, chain)

    def _held(self, kind: Resource, namespace: str, fields: str = "") -> list[JsonObject]:
        return list(self._cluster.server.held(kind, Selection(namespace, fields=fields)))


def _is_ready(pod: JsonObject, selector: dict[str, str]) -> bool:
    labels = pod["metadata"].get("labels") or {}
    conditions = (pod.get("status") or {}).get("conditions") or ()
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return ready and selector.items() <= labels.items()


class Serving:
    """A cluster, the operator, the played pods, and words for all of them."""

    def __init__(self, cluster: EmbeddedCluster, played: PlayedPlane) -> None:
        self.cluster = cluster
        self.played = played
        keys = CertificateOperatorSettings(keys=pki.KeySpec())
        self.operators: tuple[Operator, ...] = (
            service_operator(DEFAULTS),
            certificate_operator(keys),
        )

    # Declaring

    async def namespace(self, *names: str, **labels: str) -> None:
        """Create namespaces."""
        for name in names:
            metadata: JsonObject = {"name": name}
            if labels:
                metadata["labels"] = {
                    PREFIX + key.replace("_", "-"): v for key, v in labels.items()
                }
            await self.cluster.create(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
            )

    def resource(self, name: str = "x", *enabled: str, **spec: Any) -> JsonObject:
        """Return a DiscoveryService in namespace infra."""
        return {
            "apiVersion": DS.api_version,
            "kind": DS.kind,
            "metadata": {"name": name},
            "spec": {
                "discoveryServiceNamespace": "infra",
                "enabledNamespaces": list(enabled),
                **spec,
            },
        }

    async def declare(self, *enabled: str, name: str = "x", **spec: Any) -> None:
        """Create a DiscoveryService."""
        await self.cluster.serve(DiscoveryService)
        await self.cluster.create(self.resource(name, *enabled, **spec))

    async def change(self, **spec: Any) -> None:
        """Change the spec of the DiscoveryService."""
        await self.cluster.patch(DS, "x", {"spec": spec})

    async def pod(self, namespace: str = "a", **annotations: str) -> JsonObject:
        """Create a labelled Pod; return it as it was admitted."""
        named = {PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}
        metadata = {
            "name": "app",
            "namespace": namespace,
            "labels": {f"{PREFIX}status": "enabled"},
            "annotations": named,
        }
        spec = {"containers": [{"name": "app", "image": "app:1"}]}
        created: JsonObject = await self.cluster.client.create(
            {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        )
        return created

    # Running

    async def settle(self) -> Calls:
        """Run the operator until it waits."""
        return await self.cluster.settle(*self.operators)

    async def advance(self, seconds: float) -> Calls:
        """Let time pass while the operator runs; return its calls."""
        before = await self.settle()
        return Calls([*before, *await self.cluster.advance(seconds=seconds)])

    async def until_ready(self, name: str = "x", seconds: int = 120) -> Calls:
        """Let time pass until the DiscoveryService is ready; return all calls until then."""
        requests = list(await self.settle())
        for _ in range(seconds):
            if (await self.conditions(name)).get("Ready", "").startswith("True"):
                return Calls(requests)
            requests += await self.cluster.advance(seconds=1)
        raise AssertionError(await self.get(name))

    async def served(self, *enabled: str, **spec: Any) -> Calls:
        """Create the namespaces and a DiscoveryService, and wait until it is ready."""
        await self.namespace("infra", *enabled)
        await self.declare(*enabled, **spec)
        return await self.until_ready()

    # Looking

    async def get(self, name: str = "x") -> JsonObject:
        """Return the DiscoveryService."""
        found: JsonObject = await self.cluster.get(DS, name)
        return found

    async def status(self, name: str = "x") -> JsonObject:
        """Return its status."""
        return (await self.get(name)).get("status") or {}

    async def conditions(self, name: str = "x") -> dict[str, str]:
        """Return its conditions: ``{"Ready": "True/Serving", …}``."""
        found = (await self.status(name)).get("conditions") or ()
        return {one["type"]: f"{one['status']}/{one['reason']}" for one in found}

    async def message(self, condition: str, name: str = "x") -> str:
        """Return the message of a condition."""
        found = (await self.status(name)).get("conditions") or ()
        return next(one.get("message") or "" for one in found if one["type"] == condition)

    async def find(self, kind: type[Object] | Resource, name: str) -> Any:
        """Return an object, or None."""
        return await self.cluster.find(resource_of(kind), name)

    async def labels(self, namespace: str) -> dict[str, str]:
        """Return the labels of a namespace that are of the discovery service."""
        found = await self.cluster.get(Namespace, namespace)
        labels = found["metadata"].get("labels") or {}
        return {
            key.removeprefix(PREFIX): value
            for key, value in labels.items()
            if key.startswith(PREFIX)
        }

    async def is_injected(self, namespace: str) -> bool:
        """Return whether a labelled Pod would get a sidecar; False also if it is refused."""
        try:
            pod = await self.pod(namespace, node_id="test")
        except ApiError:
            return False
        await self.cluster.delete(Pod, f"{namespace}/app")
        return any(one["name"] == "envoy-sidecar" for one in pod["spec"]["containers"])


@pytest.fixture
async def serving(embedded_cluster: EmbeddedCluster) -> Serving:
    played = await embedded_cluster.enter(PlayedPlane(embedded_cluster))
    return Serving(embedded_cluster, played)
