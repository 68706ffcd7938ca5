"""How a control plane is, from its objects; pure."""

from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from certwright.api.discoveryservices import DiscoveryService
from certwright.apply import Action, Change
from certwright.kube import JsonObject
from certwright.operators.discoveryservice.hashes import hash_of_certificate
from certwright.operators.discoveryservice.service.namespaces import (
    FoundNamespace,
    NamespaceProblem,
    Unserved,
)
from certwright.operators.discoveryservice.service.plane import ServerCertificate


@dataclass(frozen=True, slots=True)
class DeploymentState:
    """How far the pods of a control plane are."""

    status: JsonObject
    """As the Deployment has it, but for the times of updates."""
    generation: int
    rolled_out: bool
    """Whether all pods are of the present template, and available."""

    @property
    def available(self) -> int:
        """How many pods serve."""
        return int(self.status.get("availableReplicas") or 0)


def deployment_state(obj: JsonObject) -> DeploymentState:
    """Return how far the pods of a Deployment are."""
    status, generation = obj.get("status") or {}, int(obj["metadata"].get("generation") or 0)
    replicas = int(obj["spec"].get("replicas") or 0)
    counts = {int(status.get(name) or 0) for name in ("replicas", "updatedReplicas")}
    counts.add(int(status.get("availableReplicas") or 0))
    current = status.get("observedGeneration") == generation
    return DeploymentState(_calm(status), generation, current and counts == {replicas})


def _calm(status: JsonObject) -> JsonObject:
    """Return a status without the times of updates, which say nothing and change often."""
    conditions = [
        {name: value for name, value in one.items() if name != "lastUpdateTime"}
        for one in status.get("conditions") or ()
    ]
    return {**status, "conditions": conditions} if conditions else status


def server_certificate(
    server: JsonObject | None, authority: JsonObject | None
) -> ServerCertificate | None:
    """Return what the Secrets of a server and of its authority show; None while one is missing."""
    held, trusted = _data(server), _data(authority)
    bundle, certificate = trusted.get("ca.crt"), held.get("tls.crt")
    if not bundle or not certificate or not held.get("ca.crt") or not held.get("tls.key"):
        return None
    return ServerCertificate(bundle, hash_of_certificate(certificate))


def _data(secret: JsonObject | None) -> dict[str, bytes]:
    data = (secret or {}).get("data") or {}
    try:
        return {name: b64decode(str(value), validate=True) for name, value in data.items()}
    except (NotBase64, ValueError):
        return {}


def found_namespaces(objects: Iterable[JsonObject]) -> dict[str, FoundNamespace]:
    """Return the namespaces there are, by name."""
    found = {}
    for obj in objects:
        metadata = obj["metadata"]
        going = metadata.get("deletionTimestamp") is not None
        terminating = going or (obj.get("status") or {}).get("phase") == "Terminating"
        found[metadata["name"]] = FoundNamespace(metadata.get("labels") or {}, terminating)
    return found


def rivals(obj: DiscoveryService, all_: Iterable[DiscoveryService]) -> tuple[str, tuple[str, ...]]:
    """Return which DiscoveryService counts, the oldest, and the names of those besides *obj*."""
    ordered = sorted(all_, key=lambda one: (str(one.metadata.creation_timestamp), one.key.name))
    others = tuple(one.metadata.name for one in ordered if one.metadata.uid != obj.metadata.uid)
    return ordered[0].metadata.name if ordered else obj.metadata.name, others


@dataclass(frozen=True, slots=True)
class WriteFailures:
    """What could not be written."""

    own: tuple[str, ...]
    """Objects of the control plane, and why."""
    namespaces: tuple[Unserved, ...]
    """Enabled namespaces in which something failed."""


def write_failures(changes: Sequence[Change], served: Collection[str]) -> WriteFailures:
    """Return what failed, apart for the control plane and for each namespace that it serves."""
    failed = [one for one in changes if one.action is Action.FAILED]
    first: dict[str, Change] = {}
    for one in failed:
        if one.ref.namespace in set(served):
            first.setdefault(one.ref.namespace, one)
    own = (one for one in failed if one.ref.namespace not in first)
    return WriteFailures(
        tuple(f"{one.ref}: {one.reason}" for one in own),
        tuple(
            Unserved(name, NamespaceProblem.FAILED, f"{one.ref}: {one.reason}")
            for name, one in sorted(first.items())
        ),
    )
