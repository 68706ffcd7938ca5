"""Where the ports of Services are found on this machine."""

from collections.abc import Mapping
from typing import Protocol

from certwright.apiserver.storage.storage import Storage
from certwright.apiserver.webhooks.address import ServicePort
from certwright.apiserver.webhooks.response import CallFailed
from certwright.kube.objects import JsonObject

Address = tuple[str, int]
"""Host and port to connect to."""


class ServiceResolver(Protocol):
    """Finds what serves a port of a Service."""

    def resolve(self, service: ServicePort) -> Address:
        """Return where to connect to; `CallFailed` if nothing serves the port."""
        ...


class ServiceTable:
    """Resolves Services by the objects stored: Service, then a ready endpoint of its slices.

    Pods have no addresses of their own on one machine, so whatever runs them (a node) fills
    `ports`: the address and port of an endpoint, as its EndpointSlice names them, leads to a port
    of the loopback interface. What is not in it is connected to as named.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.ports: dict[Address, Address] = {}

    def resolve(self, service: ServicePort) -> Address:
        """Return where to connect to for a port of a Service."""
        key = f"{service.namespace}/{service.name}"
        record = self._storage.collection("", "services").get(key)
        if record is None:
            raise CallFailed(f'service "{service.name}" not found')
        slices = self._storage.collection("discovery.k8s.io", "endpointslices")
        found = ready_endpoint(
            record.obj, service.port, [each.obj for each in slices.records(f"{service.namespace}/")]
        )
        if found is None:
            raise CallFailed(f'no endpoints available for service "{service.name}"')
        return self.ports.get(found, found)


def ready_endpoint(service: JsonObject, port: int, slices: list[JsonObject]) -> Address | None:
    """Return address and port of the first ready endpoint of a port of a Service; None if none."""
    name = service["metadata"]["name"]
    wanted = next(
        (each for each in service["spec"].get("ports") or () if each["port"] == port), None
    )
    if wanted is None:
        raise CallFailed(f'no service port {port} found for service "{name}"')
    for each in slices:
        labels: Mapping[str, str] = each["metadata"].get("labels") or {}
        if labels.get("kubernetes.io/service-name") != name:
            continue
        number = _number(each, wanted.get("name") or "")
        for endpoint in each.get("endpoints") or ():
            is_ready = (endpoint.get("conditions") or {}).get("ready", True)
            if number and is_ready and endpoint.get("addresses"):
                return endpoint["addresses"][0], number
    return None


def _number(slice_: JsonObject, name: str) -> int:
    ports = slice_.get("ports") or ()
    return next((each.get("port") or 0 for each in ports if (each.get("name") or "") == name), 0)
