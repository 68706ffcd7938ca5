"""What pods mount through the Secrets Store CSI driver, by what the driver reports.

The contents are in no object of the cluster. For each pod and each SecretProviderClass it mounts
the driver keeps a SecretProviderClassPodStatus with the version of every object, and changes it
when it has fetched another. Pods get new contents one by one, so of the statuses of a class the one
that was written last tells what its contents are. Statuses come and go with pods: that there is
none, or that the newest is gone, says nothing about contents.
"""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec
import orjson
from msgspec import Struct

from certwright.kube import JsonObject, Resource
from certwright.kube.objects import exact_json
from certwright.operators.rollout.decision.compare import SourceContents
from certwright.operators.rollout.decision.digest import DigestKey
from certwright.operators.rollout.workload import SourceKind, SourceRef
from certwright.runtime import Cache, Entry

POD_STATUS: Final = Resource(
    "secrets-store.csi.x-k8s.io",
    "v1",
    "SecretProviderClassPodStatus",
    "secretproviderclasspodstatuses",
)
BY_CLASS: Final = "class"
_MOST_OBJECTS: Final = 1000
"""Of one status; the rest does not count."""


class _Metadata(Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _MountedObject(Struct):
    id: str = ""
    version: str = ""


class _Status(Struct, rename="camel"):
    secret_provider_class_name: str = ""
    mounted: bool = False
    objects: list[_MountedObject] | None = None


class _Named(Struct):
    metadata: _Metadata


class _PodStatus(Struct):
    metadata: _Metadata
    status: _Status = msgspec.field(default_factory=_Status)


_NAMED: Final = msgspec.json.Decoder(_Named)
_POD_STATUS: Final = msgspec.json.Decoder(_PodStatus)


class DigestedStatus:
    """A transform: keeps of a status its class, and digests of the versions that are mounted.

    It never fails. One that cannot be read, or of a volume that is not mounted, has no class.
    """

    def __init__(self, key: DigestKey) -> None:
        self._key = key

    def __call__(self, raw: bytes) -> bytes:
        """Return a status with digests, as JSON."""
        try:
            metadata = _NAMED.decode(raw).metadata
        except msgspec.DecodeError:
            return b'{"metadata":{}}'
        try:
            status = _POD_STATUS.decode(raw).status
        except msgspec.DecodeError:
            status = _Status()
        name = status.secret_provider_class_name if status.mounted else ""
        ref = SourceRef(SourceKind.PROVIDER_CLASS, metadata.namespace, name)
        digests = {
            one.id: self._key.of_value(ref, one.id, one.version.encode(errors="surrogatepass"))
            for one in (status.objects or [])[:_MOST_OBJECTS]
        }
        place = {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
        }
        return exact_json({"metadata": place, "class": name, "digests": digests if name else {}})


def newest_contents(ref: SourceRef, statuses: Iterable[JsonObject]) -> SourceContents | None:
    """Return the contents of a class by its reduced statuses; None if no pod mounts it."""
    known = [one for one in statuses if one.get("class") == ref.name and one.get("digests")]
    if not known:
        return None
    newest = max(known, key=lambda one: _number(one["metadata"]["resourceVersion"]))
    version = newest["metadata"]["resourceVersion"]
    return SourceContents(ref, version, digests=newest["digests"])


def class_contents(
    ref: SourceRef, statuses: Iterable[JsonObject], key: DigestKey
) -> SourceContents | None:
    """Return the contents of a class by statuses as the API returned them."""
    reduced = DigestedStatus(key)
    return newest_contents(ref, (orjson.loads(reduced(orjson.dumps(one))) for one in statuses))


def class_names(statuses: Iterable[JsonObject]) -> set[str]:
    """Return the classes that pods mount, by statuses as the API returned them."""
    names = (one.get("status", {}).get("secretProviderClassName") for one in statuses)
    return {name for name in names if isinstance(name, str) and name}


def _number(version: str) -> int:
    return int(version) if version.isdecimal() else 0


class ProviderClasses:
    """The contents of classes, watched; *changed* is called when those of one are others."""

    def __init__(
        self,
        cache: Cache,
        namespace: str,
        key: DigestKey,
        changed: Callable[[SourceRef, SourceContents | None], None],
    ) -> None:
        self._changed = changed
        self._told: dict[SourceRef, SourceContents] = {}
        handle = cache.store(
            POD_STATUS,
            namespace=namespace,
            transform=DigestedStatus(key),
            indexes={BY_CLASS: lambda entry: [(entry.key.namespace, _class_of(entry))]},
            required=False,
        )
        self._store = handle.store
        handle.listen(self._on_change)

    def contents(self, ref: SourceRef) -> SourceContents | None:
        """Return the contents of a class; None if no pod mounts it."""
        entries = self._store.by_index(BY_CLASS, (ref.namespace, ref.name))
        return newest_contents(ref, (entry.obj() for entry in entries))

    def names(self, namespace: str) -> set[str]:
        """Return the classes that pods of a namespace mount."""
        return {_class_of(entry) for entry in self._store.by_namespace(namespace)} - {""}

    def _on_change(self, old: Entry | None, new: Entry | None) -> None:
        """Tell of a status that is newer than all before, if it has other contents.

        Only that one is looked at: thousands of pods may mount a class. One that is gone is no news
        of contents.
        """
        if old is not None and (new is None or _class_of(new) != _class_of(old)):
            self._forget_unused(_ref_of(old))
        if new is None or not _class_of(new):
            return
        ref = _ref_of(new)
        contents, told = newest_contents(ref, [new.obj()]), self._told.get(ref)
        if contents is None or (told is not None and _is_newer(told, contents)):
            return
        self._told[ref] = contents
        if told is None or told.digests != contents.digests:
            self._changed(ref, contents)

    def _forget_unused(self, ref: SourceRef) -> None:
        if not self._store.by_index(BY_CLASS, (ref.namespace, ref.name)):
            self._told.pop(ref, None)


def _class_of(entry: Entry) -> str:
    name = entry.obj().get("class")
    return name if isinstance(name, str) else ""


def _ref_of(entry: Entry) -> SourceRef:
    return SourceRef(SourceKind.PROVIDER_CLASS, entry.key.namespace, _class_of(entry))


def _is_newer(one: SourceContents, other: SourceContents) -> bool:
    return _number(one.resource_version) > _number(other.resource_version)
