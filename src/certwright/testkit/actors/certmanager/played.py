"""The played cert-manager as a whole: what a test starts, steers and asks."""

import asyncio
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Final, Self

from certwright.kube import ApiError, JsonObject, Key
from certwright.testkit.actors.certmanager.aggregation import PlayedAggregation
from certwright.testkit.actors.certmanager.cainjector import PlayedCainjector
from certwright.testkit.actors.certmanager.components import CAINJECTOR, CONTROLLER, ComponentPod
from certwright.testkit.actors.certmanager.controller import PlayedController
from certwright.testkit.actors.certmanager.election import Election
from certwright.testkit.actors.certmanager.play import CertManagerPlay
from certwright.testkit.actors.certmanager.webhook import PlayedWebhook
from certwright.testkit.actors.certmanager.world import PlayedHost, PlayedWorld
from certwright.testkit.actors.podplay import PodPlay
from certwright.testkit.actors.reaction import Reaction
from certwright.testkit.actors.rollouts import PlayedDeployments

_AS_RELEASED: Final = CertManagerPlay()


class PlayedCertManager:
    """Plays cert-manager wherever its images run, until the context ends.

    With *pods*, it plays the pods of all Deployments as well; without, other actors have to. Its
    own requests are not counted, and no fault of a simulation concerns them.
    """

    def __init__(
        self, cluster: PlayedHost, play: CertManagerPlay = _AS_RELEASED, *, pods: bool = True
    ) -> None:
        self._cluster = cluster
        self._world = world = PlayedWorld(cluster, play)
        self._webhook = PlayedWebhook(world)
        self._aggregation = PlayedAggregation(world, self._webhook.find)
        self._injecting = Election(
            world, CAINJECTOR, "cert-manager-cainjector-leader-election", _cainjector_identity
        )
        self._leading = Election(world, CONTROLLER, "cert-manager-controller", _controller_identity)
        cainjector = PlayedCainjector(world, self._injecting)
        self._controller = PlayedController(world, self._leading)
        self._reactions = [
            Reaction(self._webhook.KINDS, self._webhook.step),
            Reaction(self._aggregation.KINDS, self._aggregation.step),
            Reaction(self._injecting.KINDS, self._injecting.step),
            Reaction(self._leading.KINDS, self._leading.step),
            injection := Reaction(cainjector.KINDS, cainjector.step),
            issuance := Reaction(self._controller.KINDS, self._controller.step),
        ]
        self._injecting.announce, self._leading.announce = injection.wake, issuance.wake
        if pods:
            client = world.client("kube-controller-manager")
            rollouts = PlayedDeployments(world.server, client, world.clock, self._pod_play)
            self._reactions.insert(0, Reaction(rollouts.KINDS, rollouts.step))
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        self._world.server.on_change(self._observe)
        self._cluster.webhooks.lookup = self._aggregation.find
        group = await self._stack.enter_async_context(asyncio.TaskGroup())
        for reaction in self._reactions:
            task = group.create_task(reaction.run())
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

    @property
    def play(self) -> CertManagerPlay:
        """How it behaves; may be changed while it runs."""
        return self._world.play

    @play.setter
    def play(self, play: CertManagerPlay) -> None:
        self._world.play = play
        for reaction in self._reactions:
            reaction.wake()

    @property
    def leader(self) -> ComponentPod | None:
        """The pod of the controller that leads."""
        return self._leading.leader

    @property
    def issued(self) -> list[Key]:
        """The Certificates that were issued, one entry for each time."""
        return list(self._controller.issued)

    async def obstacles(self) -> list[str]:
        """Return what is in the way of a Certificate that is created now; nothing if it is issued.

        Certificates are created through the API server, as dry runs: a good one, which must be
        accepted, and a senseless one, which must not.
        """
        kind = self._world.served("Certificate", "certificates")
        if kind is None:
            return ["Certificates are not served"]
        found = []
        spec = {"secretName": "x", "dnsNames": ["x.example"], "issuerRef": {"name": "x"}}
        try:
            await self._cluster.client.create(_probe(kind.api_version, spec), dry_run=True)
        except ApiError as error:
            found.append(f"a Certificate cannot be created: {error}")
        try:
            senseless = {**spec, "dnsNames": []}
            await self._cluster.client.create(_probe(kind.api_version, senseless), dry_run=True)
            found.append("a Certificate without names is accepted")
        except ApiError:
            pass
        leader = self.leader
        if leader is None:
            return [*found, "no pod of the controller leads"]
        try:
            await self._controller.check_rights(leader)
        except ApiError as error:
            found.append(f"the controller cannot work: {error}")
        return found

    def _observe(self, before: JsonObject | None, after: JsonObject | None) -> None:
        for reaction in self._reactions:
            reaction.observe(before, after)

    def _pod_play(self, pod: JsonObject) -> PodPlay:
        return self._world.play.pod(pod["spec"]["containers"][0]["image"])


def _controller_identity(pod: ComponentPod) -> str:
    return f"{pod.name}-external-cert-manager-controller"


def _cainjector_identity(pod: ComponentPod) -> str:
    return f"{pod.name}_{pod.uid}"


def _probe(api_version: str, spec: JsonObject) -> JsonObject:
    metadata = {"name": "obstacles", "namespace": "default"}
    return {"apiVersion": api_version, "kind": "Certificate", "metadata": metadata, "spec": spec}
