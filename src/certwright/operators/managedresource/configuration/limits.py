"""Which objects of the target an installation touches at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from certwright.kube import Key, Resource

OWN_NAMESPACE: Final = "<own>"
"""In a list of namespaces: that of the ManagedResource."""


@dataclass(frozen=True, slots=True)
class TargetLimits:
    """Which objects an installation touches; patterns with ``*``, all if there are none.

    Kinds are written as kubectl does: ``ConfigMap``, ``Deployment.apps``.
    """

    namespaces: Sequence[str] = ()
    kinds: Sequence[str] = ()

    def refusal(self, own: str, resource: Resource, key: Key) -> str:
        """Return why a ManagedResource in namespace *own* must not touch an object, or nothing.

        Where namespaces are limited, objects without one need their kind to be listed, as such.
        """
        kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
        if self.kinds and not any(fnmatchcase(kind, pattern) for pattern in self.kinds):
            return _refused(kind, key, "allowedKinds")
        if not self.namespaces:
            return ""
        if not resource.namespaced:
            return "" if kind in self.kinds else _refused(kind, key, "allowedKinds")
        allowed = (own if pattern == OWN_NAMESPACE else pattern for pattern in self.namespaces)
        if any(fnmatchcase(key.namespace, pattern) for pattern in allowed):
            return ""
        return _refused(kind, key, "allowedNamespaces")


def _refused(kind: str, key: Key, setting: str) -> str:
    return (
        f"{kind} {key} must not be touched by this resource manager; use another namespace or "
        f"kind, or ask for it to be added to controllers.managedResource.{setting}"
    )
