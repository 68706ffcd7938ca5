"""As whom the objects of a ManagedResource are read and written, and which it may touch at all.

With ``spec.serviceAccountName``, or the name that the configuration sets for all, the target
cluster is read and written as that ServiceAccount of the ManagedResource's namespace: its roles
decide. The configuration may limit the namespaces and kinds of objects besides.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Final

from certwright.api.managedresources import ManagedResource
from certwright.keep import KeptSets
from certwright.keep.keptset import Actor
from certwright.kube import Key, Resource
from certwright.kube.names import dns_subdomain_problems
from certwright.operators.managedresource.configuration import ManagedResourceSettings
from certwright.operators.managedresource.state import ResourceState

RECHECK_SECONDS: Final = 600.0
"""How often a ManagedResource at rest is looked at, since its account may have lost a right."""
OWN_NAMESPACE: Final = "<own>"
"""In a list of namespaces: that of the ManagedResource."""
_MOST_ACTORS: Final = 1000
"""How many accounts are remembered; others are asked about again."""


def account_of(resource: ManagedResource, default: str) -> str:
    """Return the user a ManagedResource acts as; empty for ourselves.

    Raises:
        ValueError: what it names cannot be a ServiceAccount.
    """
    name = resource.spec.service_account_name or default
    if not name:
        return ""
    if problems := dns_subdomain_problems(name):
        raise ValueError(
            f"spec.serviceAccountName is {name[:100]!r}, which cannot be the name of a "
            f"ServiceAccount: {'; '.join(problems)}"
        )
    return f"system:serviceaccount:{resource.metadata.namespace}:{name}"


@dataclass(frozen=True, slots=True)
class TargetLimits:
    """Which objects an installation touches; patterns with ``*``, all if there are none.

    Kinds are written as kubectl does: ``ConfigMap``, ``Deployment.apps``.
    """

    namespaces: Sequence[str] = ()
    kinds: Sequence[str] = ()

    def __bool__(self) -> bool:
        return bool(self.namespaces or self.kinds)

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


class Actors:
    """Knows as whom each ManagedResource acts."""

    def __init__(self, settings: ManagedResourceSettings, kept: KeptSets[ResourceState]) -> None:
        self._default = settings.service_account_name
        self._limits = TargetLimits(settings.allowed_namespaces, settings.allowed_kinds)
        self._kept = kept
        self._known: OrderedDict[tuple[str, str], Actor] = OrderedDict()

    def of(self, resource: ManagedResource) -> Actor:
        """Return who acts for a ManagedResource; one that names no account touches nothing."""
        own = resource.metadata.namespace
        try:
            user = account_of(resource, self._default)
        except ValueError as error:
            problem = str(error)
            return self._kept.actor(refuses=lambda _resource, _key: problem)
        if not user and not self._limits:
            return self._kept.ourselves
        known = self._known.pop((user, own), None)
        if known is None:
            refuses = partial(self._limits.refusal, own) if self._limits else None
            known = self._kept.actor(user, refuses)
        self._known[user, own] = known
        while len(self._known) > _MOST_ACTORS:
            self._known.popitem(last=False)
        return known
