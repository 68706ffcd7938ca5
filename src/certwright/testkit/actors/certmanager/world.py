"""What the played components share: the server, who they are to it, the time, the play."""

from typing import Final, Protocol

from certwright.apiserver.server import ApiServer
from certwright.apiserver.webhooks.registered import RegisteredWebhooks
from certwright.client import Client, Selection
from certwright.clock import Clock
from certwright.kube import JsonObject, Key, NotFound, Resource
from certwright.kube.kinds import Pod
from certwright.testkit.actors.certmanager.components import ComponentPod, component_pod
from certwright.testkit.actors.certmanager.play import CertManagerPlay

GROUPS: Final = ("cert-manager.io", "certmanager.k8s.io")
"""The names of cert-manager's API group, today's first."""
_ALL: Final = Selection()
_MOST_FORGOTTEN: Final = 100
"""How many pods that are gone may be remembered."""
_VERSIONS: Final = ("v1", "v1beta1", "v1alpha3", "v1alpha2", "v1alpha1")


class PlayedHost(Protocol):
    """Where cert-manager is played: an `EmbeddedCluster`, or what has the same parts."""

    @property
    def clock(self) -> Clock:
        """The time."""
        ...

    @property
    def server(self) -> ApiServer:
        """The server, whose webhooks are called in this process."""
        ...

    @property
    def client(self) -> Client:
        """An administrator's client."""
        ...

    @property
    def webhooks(self) -> RegisteredWebhooks:
        """The webhooks that can be called."""
        ...


class PlayedWorld:
    """Reads the server's objects directly, and writes to it as the ServiceAccounts of pods."""

    def __init__(self, cluster: PlayedHost, play: CertManagerPlay) -> None:
        self.play = play
        self.clock = cluster.clock
        self.server = cluster.server
        self._transport = cluster.client.transport
        self._pods: dict[str, tuple[str, ComponentPod | None]] = {}

    def client(self, field_manager: str) -> Client:
        """Return an administrator's client."""
        return Client(self._transport, clock=self.clock, field_manager=field_manager)

    def client_of(self, pod: ComponentPod, field_manager: str) -> Client:
        """Return a client that is the ServiceAccount of a pod."""
        return self.client(field_manager).acting_as(pod.user)

    def get(self, kind: Resource, key: Key) -> JsonObject | None:
        """Return a stored object, not to be changed."""
        return self.server.stored(kind, key)

    def objects(self, kind: Resource, chosen: Selection = _ALL) -> list[JsonObject]:
        """Return stored objects, not to be changed; none if the kind is not served."""
        try:
            return self.server.held(kind, chosen)
        except NotFound:
            return []

    def pods(self, component: str) -> list[ComponentPod]:
        """Return the pods of a component."""
        stored = self.objects(Pod)
        found = [self.component_pod(pod) for pod in stored]
        if len(self._pods) > 2 * len(stored) + _MOST_FORGOTTEN:
            there = {pod["metadata"]["uid"] for pod in stored}
            self._pods = {uid: known for uid, known in self._pods.items() if uid in there}
        return [pod for pod in found if pod is not None and pod.component == component]

    def component_pod(self, pod: JsonObject) -> ComponentPod | None:
        """Return a pod as one of cert-manager's, read once; None if it is none."""
        metadata = pod["metadata"]
        version, known = self._pods.get(metadata["uid"], ("", None))
        if version != metadata["resourceVersion"]:
            known = component_pod(pod)
            self._pods[metadata["uid"]] = (metadata["resourceVersion"], known)
        return known

    def served(self, kind: str, plural: str, *, namespaced: bool = True) -> Resource | None:
        """Return a kind of cert-manager in the best version that is served; None if none is."""
        for group in GROUPS:
            for version in _VERSIONS:
                resource = Resource(group, version, kind, plural, namespaced=namespaced)
                try:
                    self.server.held(resource, Selection(fields="metadata.name=-"))
                except NotFound:
                    continue
                return resource
        return None
