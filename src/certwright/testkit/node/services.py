"""What every pod of a node shares, as one value: settings, connections, tables, folders."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from certwright.client import Client
from certwright.clock import Clock
from certwright.kube import JsonObject, Key, NotFound
from certwright.kube.kinds import ConfigMap, Secret, Service
from certwright.testkit.node.events import PodEvents
from certwright.testkit.node.pod.environment import ObjectRead, service_links
from certwright.testkit.node.pod.facts import (
    KUBELET_INITIAL_SECONDS,
    KUBELET_LIMIT_SECONDS,
    RestartBackoff,
)
from certwright.testkit.node.ports import PortTable
from certwright.testkit.node.process.images import Program
from certwright.testkit.node.process.processes import Processes


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """The node's times, in seconds. They are kubelet's unless a test is in a hurry."""

    restart_seconds: float = KUBELET_INITIAL_SECONDS
    """The first delay before a container that ended is started again; it doubles."""
    restart_limit_seconds: float = KUBELET_LIMIT_SECONDS
    volume_lag_seconds: float = 60.0
    """How far volumes are behind the objects they show."""
    retry_seconds: float = 10.0
    """When missing ConfigMaps and Secrets of variables are looked for again."""
    mount_retry_seconds: float = 0.5
    """When missing objects of volumes are first looked for again; it doubles."""
    probe_scale: float = 1.0
    """What delays and periods of probes are multiplied by; silence is borne as long as without."""

    @property
    def backoff(self) -> RestartBackoff:
        """The delays between starts of a container, and between pulls of its image."""
        return RestartBackoff(self.restart_seconds, self.restart_limit_seconds)


@dataclass(frozen=True, slots=True)
class ApiAddress:
    """Where programs in pods reach the API server."""

    host: str
    port: int
    authority: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NodeServices:
    """What the pods of a node share."""

    name: str
    host_ip: str
    client: Client
    clock: Clock
    settings: NodeSettings
    images: Mapping[str, Program]
    processes: Processes
    events: PodEvents
    ports: PortTable
    folder: Path
    api: ApiAddress | None = None

    async def read(
        self, namespace: str, wanted: Iterable[ObjectRead]
    ) -> dict[ObjectRead, Mapping[str, bytes] | None]:
        """Read ConfigMaps and Secrets; None stands for those that do not exist."""
        return {one: await self._read(namespace, one) for one in dict.fromkeys(wanted)}

    async def _read(self, namespace: str, one: ObjectRead) -> Mapping[str, bytes] | None:
        kind = Secret if one.kind == "Secret" else ConfigMap
        try:
            found = await self.client.get(kind, Key(namespace, one.name))
        except NotFound:
            return None
        encoded = found.get("data" if one.kind == "Secret" else "binaryData") or {}
        content = {key: base64.b64decode(value) for key, value in encoded.items()}
        if one.kind == "ConfigMap":
            plain = found.get("data") or {}
            content |= {key: value.encode() for key, value in plain.items()}
        return content

    async def links(self, pod: JsonObject) -> dict[str, str]:
        """Return the variables by which a pod finds Services, and the API server."""
        links: dict[str, str] = {}
        if pod["spec"].get("enableServiceLinks", True):
            found = await self.client.list(Service, namespace=pod["metadata"]["namespace"])
            links = service_links(found.items)
        if self.api is not None:
            links["KUBERNETES_SERVICE_HOST"] = self.api.host
            links["KUBERNETES_SERVICE_PORT"] = str(self.api.port)
        return links

    def kubeconfig(self, token_file: Path) -> bytes:
        """Return a kubeconfig with which a program is the ServiceAccount of its pod."""
        assert self.api is not None, "a node without an address of the API server"
        cluster = {
            "server": f"https://{self.api.host}:{self.api.port}",
            "certificate-authority-data": base64.b64encode(self.api.authority).decode(),
        }
        config: JsonObject = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "cluster", "cluster": cluster}],
            "users": [{"name": "pod", "user": {"tokenFile": str(token_file)}}],
            "contexts": [{"name": "pod", "context": {"cluster": "cluster", "user": "pod"}}],
            "current-context": "pod",
        }
        return orjson.dumps(config, option=orjson.OPT_INDENT_2)
