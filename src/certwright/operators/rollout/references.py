"""Which Secrets and ConfigMaps a pod template consumes, and which keys of them.

What volumes of the Secrets Store CSI driver hold counts by their SecretProviderClass.

Volumes count whether or not a container mounts them; of one that is mounted by ``subPath`` only,
the keys at these paths. Environment variables count in containers, init containers and sidecars.
Secrets to pull images are consumed by the kubelet, not by pods, and do not count.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from certwright.kube import JsonObject
from certwright.operators.rollout.workload import SourceKind, SourceRef, SourceUse, UsePath

CONTAINER_LISTS: Final = ("containers", "initContainers")
CSI_DRIVER: Final = "secrets-store.csi.k8s.io"
_ONLY: Final = {path: frozenset({path}) for path in UsePath}


class _Found(NamedTuple):
    """One place of a template that consumes a source."""

    kind: SourceKind
    name: str
    keys: frozenset[str] | None
    path: UsePath
    containers: tuple[str, ...]
    optional: bool


@dataclass(slots=True)
class _Mounts:
    """How the containers of a template mount one volume."""

    containers: dict[str, None] = field(default_factory=dict)
    sub_paths: set[str] = field(default_factory=set)
    whole: bool = False

    @property
    def keys(self) -> frozenset[str] | None:
        """The keys that are mounted one by one; None if the volume is mounted whole, or not."""
        return None if self.whole or not self.sub_paths else frozenset(self.sub_paths)


def uses_of(namespace: str, pod_spec: Any) -> tuple[SourceUse, ...]:
    """Return what pods of this spec consume in their namespace, one use per source."""
    merged: dict[SourceRef, SourceUse] = {}
    for found in _found(pod_spec):
        ref = SourceRef(found.kind, namespace, found.name)
        use = SourceUse(ref, found.keys, _ONLY[found.path], found.containers, found.optional)
        known = merged.get(ref)
        merged[ref] = use if known is None else _both(known, use)
    return tuple(merged.values())


def _both(one: SourceUse, other: SourceUse) -> SourceUse:
    whole = one.keys is None or other.keys is None
    return SourceUse(
        one.ref,
        None if whole else (one.keys or frozenset()) | (other.keys or frozenset()),
        one.paths | other.paths,
        tuple(dict.fromkeys((*one.containers, *other.containers))),
        one.optional and other.optional,
    )


def _found(pod_spec: Any) -> Iterator[_Found]:
    mounts = _mounts(pod_spec)
    for volume in maps(at(pod_spec, "volumes")):
        mounted = mounts.get(text(volume.get("name")), _Mounts())
        for kind, name, items, optional in _volume_sources(volume):
            keys, path = items, UsePath.VOLUME
            if mounted.keys is not None:
                path = UsePath.SUB_PATH
                keys = _mounted_keys(volume, mounted.keys) if items is None else items
            yield _Found(kind, name, keys, path, tuple(mounted.containers), optional)
    for container in containers(pod_spec):
        yield from _environment(container, (text(container.get("name")),))


def _volume_sources(
    volume: JsonObject,
) -> Iterator[tuple[SourceKind, str, frozenset[str] | None, bool]]:
    """Yield what a volume is made of: kind, name, keys, and whether it may be missing."""
    yield from _members(volume, "secretName")
    if "projected" in volume:
        for source in maps(at(volume, "projected", "sources")):
            yield from _members(source, "name")
    if at(volume, "csi", "driver") == CSI_DRIVER and (
        name := text(at(volume, "csi", "volumeAttributes", "secretProviderClass"))
    ):
        yield SourceKind.PROVIDER_CLASS, name, None, False


def _members(
    source: JsonObject, secret_name: str
) -> Iterator[tuple[SourceKind, str, frozenset[str] | None, bool]]:
    for kind, member, name_field in (
        (SourceKind.SECRET, "secret", secret_name),
        (SourceKind.CONFIG_MAP, "configMap", "name"),
    ):
        found = source.get(member)
        if isinstance(found, dict) and (name := text(found.get(name_field))):
            items = frozenset(
                key for item in maps(found.get("items")) if (key := text(item.get("key")))
            )
            yield kind, name, items or None, found.get("optional") is True


def _mounted_keys(volume: JsonObject, sub_paths: frozenset[str]) -> frozenset[str] | None:
    """Return the keys of a volume without items at these paths.

    Of a projected volume any source may hold any of them, so all keys count; and the objects of a
    SecretProviderClass are not named like the files they become.
    """
    return None if "projected" in volume or "csi" in volume else sub_paths


def _mounts(pod_spec: Any) -> dict[str, _Mounts]:
    """Return by volume how the containers mount it."""
    found: dict[str, _Mounts] = {}
    for container in containers(pod_spec):
        for mount in maps(container.get("volumeMounts")):
            mounts = found.setdefault(text(mount.get("name")), _Mounts())
            mounts.containers[text(container.get("name"))] = None
            first = text(mount.get("subPath")).partition("/")[0]
            if first and not text(mount.get("subPathExpr")):
                mounts.sub_paths.add(first)
            else:
                mounts.whole = True
    return found


def _environment(container: JsonObject, names: tuple[str, ...]) -> Iterator[_Found]:
    path = UsePath.ENVIRONMENT
    for source in maps(container.get("envFrom")):
        for kind, member in (
            (SourceKind.SECRET, "secretRef"),
            (SourceKind.CONFIG_MAP, "configMapRef"),
        ):
            if name := text(at(source, member, "name")):
                yield _Found(kind, name, None, path, names, at(source, member, "optional") is True)
    for variable in maps(container.get("env")):
        for kind, member in (
            (SourceKind.SECRET, "secretKeyRef"),
            (SourceKind.CONFIG_MAP, "configMapKeyRef"),
        ):
            reference = at(variable, "valueFrom", member)
            name, key = text(at(reference, "name")), text(at(reference, "key"))
            if name and key:
                optional = at(reference, "optional") is True
                yield _Found(kind, name, frozenset({key}), path, names, optional)


# Values of other people's objects, which may be anything


def containers(pod_spec: Any) -> Iterator[JsonObject]:
    """Yield the containers of a pod, init containers and sidecars last."""
    for member in CONTAINER_LISTS:
        yield from maps(at(pod_spec, member))


def at(value: Any, *path: str) -> Any:
    """Return what is at a path of members; None if there is nothing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def maps(value: Any) -> Iterator[JsonObject]:
    """Yield the objects of a list."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def text(value: Any) -> str:
    """Return a string as it is, and anything else as an empty one."""
    return value if isinstance(value, str) else ""
