"""Which changes of namespaces, Secrets and Pods concern which DiscoveryService."""

from collections.abc import Iterable, Iterator
from typing import Final

from certwright.api.discoveryservices import GROUP, DiscoveryServiceCertificate
from certwright.kube import Key
from certwright.kube.kinds import Namespace, Pod, Secret
from certwright.operators.discoveryservice.injection.review import (
    ENABLED,
    OWNER_LABEL,
    STATUS_LABEL,
)
from certwright.operators.discoveryservice.service.plane import DiscoveryPlane
from certwright.operators.discoveryservice.service.probe import has_sidecar
from certwright.runtime import Entry, Trigger, mapped, select
from certwright.runtime.cache.transforms import KeepFields

_POD_FIELDS: Final = KeepFields("/spec/containers", "/spec/initContainers", "/status/phase")
_NAMESPACE_FIELDS: Final = KeepFields("/status/phase")


class Interests:
    """The control planes that a pass has seen, by DiscoveryService.

    Before the first pass nothing is known, and nothing need be: that pass reads all there is.
    """

    def __init__(self) -> None:
        self._planes: dict[Key, DiscoveryPlane] = {}

    def note(self, key: Key, plane: DiscoveryPlane) -> None:
        """Wake a DiscoveryService by what concerns this control plane from now on."""
        self._planes[key] = plane

    def forget(self, key: Key) -> None:
        """Wake a DiscoveryService no more."""
        self._planes.pop(key, None)

    def triggers(self) -> Iterator[Trigger]:
        """Yield what is watched: namespaces, Secrets of our certificates, labelled Pods."""
        yield mapped(select(Namespace, transform=_NAMESPACE_FIELDS), self.of_namespace)
        yield mapped(select(Secret, keep=is_of_certificate), self.of_secret)
        labelled = select(Pod, labels=f"{STATUS_LABEL}={ENABLED}", transform=_POD_FIELDS)
        yield mapped(labelled, self.of_pod, lacks_sidecar)

    def of_namespace(self, entry: Entry) -> Iterable[Key]:
        """Return whom a namespace concerns: who lives in it, serves it, or is named by it."""
        name, owner = entry.key.name, entry.meta.labels.get(OWNER_LABEL)
        return [
            key
            for key, plane in self._planes.items()
            if name in plane.enabled or name == plane.namespace or owner == plane.name
        ]

    def of_secret(self, entry: Entry) -> Iterable[Key]:
        """Return whose certificate, or authority, is in a Secret."""
        namespace, name = entry.key
        return [
            key
            for key, plane in self._planes.items()
            if namespace == plane.namespace and name in {plane.server_secret, plane.ca_secret}
        ]

    def of_pod(self, entry: Entry) -> Iterable[Key]:
        """Return who serves the namespace of a Pod."""
        namespace = entry.key.namespace
        return [key for key, plane in self._planes.items() if namespace in plane.enabled]


def is_of_certificate(entry: Entry) -> bool:
    """Return whether a Secret belongs to a certificate of ours; others are not held in memory."""
    owner = entry.meta.controller
    if owner is None or owner.kind != DiscoveryServiceCertificate.resource.kind:
        return False
    return owner.api_version.rpartition("/")[0] == GROUP


def lacks_sidecar(old: Entry | None, new: Entry | None) -> bool:
    """Return whether a change of a Pod counts: it has, or had, no sidecar."""
    return any(one is not None and not has_sidecar(one.obj()) for one in (old, new))
