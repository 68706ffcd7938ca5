"""Labelled Pods of served namespaces that have no sidecar: they were created too early."""

from collections.abc import Collection, Iterable
from typing import Final

from certwright.kube import JsonObject, Key, key_of
from certwright.operators.discoveryservice.service.probe import has_sidecar

_FINISHED: Final = frozenset({"Succeeded", "Failed"})


def without_sidecar(pods: Iterable[JsonObject], served: Collection[str]) -> list[Key]:
    """Return the Pods that should have a sidecar and have none, in order."""
    namespaces = set(served)
    return sorted(
        key
        for pod in pods
        if (key := key_of(pod)).namespace in namespaces
        and not has_sidecar(pod)
        and not pod["metadata"].get("deletionTimestamp")
        and (pod.get("status") or {}).get("phase") not in _FINISHED
    )
