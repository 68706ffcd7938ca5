"""Parts of objects with an endpoint of their own, besides the object as a whole."""

from dataclasses import dataclass
from typing import Final

from certwright.apiserver.kinds.kind import ServedKind

_WHOLE: Final = ("get", "patch", "update")


@dataclass(frozen=True, slots=True)
class SubresourceKind:
    """What discovery says about a subresource."""

    name: str
    kind: str
    group_version: str = ""
    """Empty: that of the object."""
    verbs: tuple[str, ...] = _WHOLE


_OWN_KINDS: Final = {
    "scale": ("Scale", "autoscaling/v1", _WHOLE),
    "token": ("TokenRequest", "authentication.k8s.io/v1", ("create",)),
    "eviction": ("Eviction", "policy/v1", ("create",)),
    "binding": ("Binding", "", ("create",)),
    "log": ("Pod", "", ("get",)),
}


def subresource_kinds(kind: ServedKind) -> list[SubresourceKind]:
    """Return the subresources of a kind as discovery lists them."""
    found = []
    for name in sorted(kind.subresources):
        if name in _OWN_KINDS:
            own, group_version, verbs = _OWN_KINDS[name]
            found.append(SubresourceKind(name, own, group_version, verbs))
        elif name == "finalize":
            found.append(SubresourceKind(name, kind.resource.kind, verbs=("update",)))
        else:
            found.append(SubresourceKind(name, kind.resource.kind))
    return found
