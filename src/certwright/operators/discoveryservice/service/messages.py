"""The words of the status and of events."""

from collections.abc import Sequence
from typing import Final

from certwright.kube import Key
from certwright.operators.discoveryservice.service.namespaces import NamespaceProblem, Unserved
from certwright.operators.discoveryservice.service.probe import ProbeFinding, ProbeResult

_SHOWN: Final = 5
_LONGEST: Final = 300

SERVING: Final = "the control plane serves all enabled namespaces"
NO_CONFLICT: Final = "there is no other DiscoveryService"
NOT_DEGRADED: Final = "nothing is out of order"
REMOVAL: Final = "the control plane is being removed"

_NAMESPACE: Final = {
    NamespaceProblem.MISSING: "does not exist; it is served as soon as it does",
    NamespaceProblem.TERMINATING: "is being deleted",
    NamespaceProblem.OWNED: "already owned by DiscoveryService {}; remove it there first",
    NamespaceProblem.EXCLUDED: "the control plane must be able to start without its own webhook",
    NamespaceProblem.FAILED: "{}",
}
_PROBE: Final = {
    ProbeResult.UNTRIED: "the webhook was not tried yet",
    ProbeResult.UNREACHED: "the API server cannot call the webhook: {}",
    ProbeResult.NOT_INJECTED: "a labelled Pod came back without a sidecar: the API server does not "
    "call the webhook yet",
    ProbeResult.REFUSED: "a labelled Pod would be refused: {}",
    ProbeResult.UNKNOWN: "the API server did not answer: {}",
}


def namespace_message(unserved: Unserved) -> str:
    """Return why a namespace is not served."""
    return _cut(_NAMESPACE[unserved.problem].format(unserved.detail))


def namespaces_message(unserved: Sequence[Unserved], enabled: int) -> str:
    """Return which namespaces are not served."""
    named = [f"{one.name} ({namespace_message(one)})" for one in unserved]
    return f"{len(unserved)} of {enabled} namespaces are not served: {_listed(named)}"


def probe_message(finding: ProbeFinding) -> str:
    """Return what a dry run showed."""
    place = f"namespace {finding.namespace}: " if finding.namespace else ""
    return _cut(place + _PROBE[finding.result].format(finding.detail))


def certificate_message(secret: Key, said: str) -> str:
    """Return that the certificate of the server is not there yet, and what its object says."""
    waiting = f"waiting for the certificate of the server in Secret {secret}"
    return f"{waiting}: {_cut(said)}" if said else waiting


def deployment_message(name: str, available: int, replicas: int) -> str:
    """Return that not all pods are available."""
    return f"{available} of {replicas} pods of Deployment {name} are available"


def missing_namespace_message(namespace: str) -> str:
    """Return that the namespace of the control plane does not exist."""
    return f"namespace {namespace} of the control plane does not exist; create it"


def failed_message(failed: Sequence[str]) -> str:
    """Return which objects could not be written."""
    return f"{len(failed)} objects could not be written: {_listed(failed)}"


def conflict_message(others: Sequence[str], *, first: str, own: str) -> str:
    """Return which DiscoveryServices there are, and which of them counts."""
    which = "this one, the oldest, is served" if first == own else f"{first}, the oldest, is served"
    return f"there is another DiscoveryService: {_listed(others)}; {which}"


def without_sidecar_message(pods: Sequence[Key]) -> str:
    """Return which Pods have no sidecar."""
    named = _listed([str(pod) for pod in pods])
    return f"{len(pods)} labelled Pods have no sidecar; delete them to have them injected: {named}"


def removal_message(left: Sequence[str]) -> str:
    """Return what is still to go."""
    return f"{REMOVAL}: {len(left)} objects are left: {_listed(left)}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return f"{shown} and {len(names) - _SHOWN} more" if len(names) > _SHOWN else shown


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
