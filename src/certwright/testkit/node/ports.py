"""Addresses of pods, and the ports of 127.0.0.1 that stand for theirs.

A pod's address leads nowhere by itself: what connects to it asks this table.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from certwright.kube import JsonObject
from certwright.testkit.controlplane.component import free_ports
from certwright.testkit.node.pod.facts import all_containers

LOOPBACK = "127.0.0.1"
_PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


@dataclass(frozen=True, slots=True)
class PodPorts:
    """The address of a pod and where its ports are on this machine."""

    ip: str
    ports: Mapping[int, int] = field(default_factory=dict)

    def resolve(self, pod: JsonObject, port: int | str) -> int:
        """Return the local port for a port of a pod, given by number or name."""
        number = port if isinstance(port, int) else named_port(pod, port)
        return self.ports.get(number, number)


class HostPortTaken(ValueError):
    """A pod asks for a port of the node that another pod has."""


class PortTable:
    """Which addresses and ports the pods of a node have.

    *addresses* is kept current: from address and port in the cluster to those of this machine.
    """

    def __init__(
        self,
        addresses: dict[tuple[str, int], tuple[str, int]] | None = None,
        network: str = "10.244.0",
    ) -> None:
        self.addresses = {} if addresses is None else addresses
        self._network = network
        self._pods: dict[str, PodPorts] = {}
        self._hosts: dict[str, set[int]] = {}

    def __len__(self) -> int:
        return len(self._pods)

    def assign(self, pod: JsonObject) -> PodPorts:
        """Give a pod an address and ports; `HostPortTaken` if it asks for one that is in use."""
        uid = pod["metadata"]["uid"]
        fixed = dict(host_ports(pod))
        taken = set().union(*self._hosts.values()) if self._hosts else set()
        if taken & set(fixed.values()):
            raise HostPortTaken
        wanted = sorted(set(container_ports(pod)) - fixed.keys())
        ports = dict(zip(wanted, self._free(len(wanted)), strict=True))
        assigned = PodPorts(self._free_ip(), {**ports, **fixed})
        self._pods[uid] = assigned
        for port, local in assigned.ports.items():
            self.addresses[assigned.ip, port] = (LOOPBACK, local)
        self._hosts[uid] = set(fixed.values())
        return assigned

    def release(self, uid: str) -> None:
        """Take back what a pod had."""
        assigned = self._pods.pop(uid, None)
        if assigned is not None:
            for port in assigned.ports:
                self.addresses.pop((assigned.ip, port), None)
        self._hosts.pop(uid, None)

    def _free(self, count: int) -> list[int]:
        """Return free ports that no other pod was given: its program may not listen yet."""
        given = {port for assigned in self._pods.values() for port in assigned.ports.values()}
        found: list[int] = []
        while len(found) < count:
            found += [port for port in free_ports(count - len(found)) if port not in given]
        return found

    def _free_ip(self) -> str:
        used = {assigned.ip for assigned in self._pods.values()}
        addresses = (f"{self._prefix(block)}.{n}" for block in range(256) for n in range(2, 255))
        return next(ip for ip in addresses if ip not in used)

    def _prefix(self, block: int) -> str:
        first, second, third = self._network.split(".")
        return f"{first}.{second}.{int(third) + block}"


def container_ports(pod: JsonObject) -> Iterator[int]:
    """Yield the TCP ports a pod listens on, as far as its spec tells."""
    for container in all_containers(pod):
        for port in container.get("ports") or ():
            if (port.get("protocol") or "TCP") == "TCP":
                yield port["containerPort"]
        for name in _PROBES:
            probe = container.get(name) or {}
            for handler in ("httpGet", "tcpSocket", "grpc"):
                port = (probe.get(handler) or {}).get("port")
                if isinstance(port, int):
                    yield port


def host_ports(pod: JsonObject) -> Iterator[tuple[int, int]]:
    """Yield the ports of a pod that must be ports of the node, and which."""
    for container in all_containers(pod):
        for port in container.get("ports") or ():
            if port.get("hostPort"):
                yield port["containerPort"], port["hostPort"]


def named_port(pod: JsonObject, name: str) -> int:
    """Return the number of a port that a container has named; 0 if none has."""
    for container in all_containers(pod):
        for port in container.get("ports") or ():
            if port.get("name") == name:
                return int(port["containerPort"])
    return int(name) if name.isdigit() else 0
