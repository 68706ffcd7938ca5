"""Which ConfigMaps and Secrets an object uses, and the annotations that name them.

The key holds the kind and the beginning of a hash of the name, the value is the name::

    reference.resources.gardener.cloud/configmap-4ed34879: test-5678

`annotate` writes them, Gardener's resource manager and ours read them: what they name is not
collected. The hash only keeps the keys apart; readers do not verify it.

Built-in kinds are read where the API has such references. Custom resources name them as they
like, so those are searched for anything that looks like a reference: one too many keeps an object
that could be deleted, one too few loses an object that is in use.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from certwright.api.managedresources import GROUP
from certwright.kube import JsonObject

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"  # noqa: S105 - a kind

_POD_TEMPLATE: Final = ("spec", "template", "spec")
_POD_SPECS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "Pod"): ("spec",),
    ("", "PodTemplate"): ("template", "spec"),
    ("", "ReplicationController"): _POD_TEMPLATE,
    ("apps", "Deployment"): _POD_TEMPLATE,
    ("apps", "StatefulSet"): _POD_TEMPLATE,
    ("apps", "DaemonSet"): _POD_TEMPLATE,
    ("apps", "ReplicaSet"): _POD_TEMPLATE,
    ("apps", "ControllerRevision"): ("data", *_POD_TEMPLATE),
    ("extensions", "Deployment"): _POD_TEMPLATE,
    ("extensions", "DaemonSet"): _POD_TEMPLATE,
    ("extensions", "ReplicaSet"): _POD_TEMPLATE,
    ("batch", "Job"): _POD_TEMPLATE,
    ("batch", "CronJob"): ("spec", "jobTemplate", *_POD_TEMPLATE),
}
_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """A ConfigMap or a Secret that something uses, in the namespace of its user."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def uses_of(obj: JsonObject) -> frozenset[Reference]:
    """Return what an object uses by its structure, not by its annotations."""
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    kind = str(obj.get("kind") or "")
    if (path := _POD_SPECS.get((group, kind))) is not None:
        return frozenset(uses_of_pod(_at(obj, *path)))
    if (reader := _OTHERS.get((group, kind))) is not None:
        return frozenset(reader(obj))
    return frozenset(_search(obj.get("spec")))


def is_pod_owner(group: str, kind: str) -> bool:
    """Return whether a kind is a pod or holds the template of one."""
    return (group, kind) in _POD_SPECS


def uses_of_pod(spec: Any) -> Iterator[Reference]:
    """Yield what a pod of this spec uses: environment, volumes, and secrets to pull images."""
    for containers in _CONTAINERS:
        for container in _maps(_at(spec, containers)):
            yield from _environment(container)
    for volume in _maps(_at(spec, "volumes")):
        for source in volume.values():
            yield from _volume_source(source)
        yield from _named(CONFIG_MAP, _at(volume, "configMap"))
        for source in _maps(_at(volume, "projected", "sources")):
            yield from _named(SECRET, source.get("secret"))
            yield from _named(CONFIG_MAP, source.get("configMap"))
    for secret in _maps(_at(spec, "imagePullSecrets")):
        yield from _named(SECRET, secret)


def _environment(container: JsonObject) -> Iterator[Reference]:
    for source in _maps(container.get("envFrom")):
        yield from _named(SECRET, source.get("secretRef"))
        yield from _named(CONFIG_MAP, source.get("configMapRef"))
    for variable in _maps(container.get("env")):
        yield from _named(SECRET, _at(variable, "valueFrom", "secretKeyRef"))
        yield from _named(CONFIG_MAP, _at(variable, "valueFrom", "configMapKeyRef"))


def _volume_source(source: Any) -> Iterator[Reference]:
    """Yield the Secrets of a volume, which most kinds of volume name in one of three ways."""
    yield from _text(SECRET, _at(source, "secretName"))
    yield from _named(SECRET, _at(source, "secretRef"))
    yield from _named(SECRET, _at(source, "nodePublishSecretRef"))


def _of_service_account(obj: JsonObject) -> Iterator[Reference]:
    for field in ("secrets", "imagePullSecrets"):
        for secret in _maps(obj.get(field)):
            yield from _named(SECRET, secret)


def _of_ingress(obj: JsonObject) -> Iterator[Reference]:
    for entry in _maps(_at(obj, "spec", "tls")):
        yield from _text(SECRET, entry.get("secretName"))


def _of_managed_resource(obj: JsonObject) -> Iterator[Reference]:
    for secret in _maps(_at(obj, "spec", "secretRefs")):
        yield from _named(SECRET, secret)


_OTHERS: Final[Mapping[tuple[str, str], Callable[[JsonObject], Iterable[Reference]]]] = {
    ("", "ServiceAccount"): _of_service_account,
    ("extensions", "Ingress"): _of_ingress,
    ("networking.k8s.io", "Ingress"): _of_ingress,
    (GROUP, "ManagedResource"): _of_managed_resource,
}


# Custom resources

_LISTS: Final = {
    "configmaps": CONFIG_MAP,
    "secrets": SECRET,
    "secretrefs": SECRET,
    "imagepullsecrets": SECRET,
    "certificaterefs": SECRET,
}


def _search(spec: Any) -> Iterator[Reference]:
    """Yield everything in a spec that looks like a reference; it may be nested at will."""
    rest: list[tuple[str, Any]] = [("", spec)]
    while rest:
        field, value = rest.pop()
        if isinstance(value, dict):
            if kind := _LISTS.get(field):
                yield from _named(kind, value)
            elif "configmap" in field:
                yield from _named(CONFIG_MAP, value)
            elif "secret" in field or "key" in value:  # a name and a key select from a Secret
                yield from _named(SECRET, value)
            rest += ((str(name).lower(), inner) for name, inner in value.items())
        elif isinstance(value, list):
            rest += ((field, item) for item in value)
        elif field.endswith("secretname") or _LISTS.get(field) == SECRET:
            yield from _text(SECRET, value)
        elif field.endswith("configmapname") or _LISTS.get(field) == CONFIG_MAP:
            yield from _text(CONFIG_MAP, value)


# Values of other people's objects, which may be anything


def _at(value: Any, *path: str) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _maps(value: Any) -> Iterator[JsonObject]:
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def _named(kind: str, value: Any) -> Iterator[Reference]:
    yield from _text(kind, _at(value, "name"))


def _text(kind: str, value: Any) -> Iterator[Reference]:
    if isinstance(value, str) and value:
        yield Reference(kind, value)


# Annotations


PREFIX: Final = f"reference.{GROUP}/"
_KINDS: Final = {"configmap": CONFIG_MAP, "secret": SECRET}

_TEMPLATE: Final = ("spec", "template")
_JOB_TEMPLATE: Final = ("spec", "jobTemplate")
_BEARERS: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    # kind: where besides its own metadata the annotations go
    "Pod": (),
    "Deployment": (_TEMPLATE,),
    "StatefulSet": (_TEMPLATE,),
    "DaemonSet": (_TEMPLATE,),
    "Job": (_TEMPLATE,),
    "CronJob": (_JOB_TEMPLATE, (*_JOB_TEMPLATE, *_TEMPLATE)),
}
_CUSTOM_BEARERS: Final = {(GROUP, "ManagedResource"), ("monitoring.coreos.com", "Prometheus")}


def reference_key(kind: str, name: str) -> str:
    """Return the key of the annotation for an object of a kind, with its hash."""
    return f"{PREFIX}{kind.lower()}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def kind_of_key(key: str) -> str:
    """Return the kind in a key, in lower case; empty if it is not the key of a reference."""
    rest = key.removeprefix(PREFIX)
    parts = rest.split("-")
    return parts[0] if key.startswith(PREFIX) and "/" not in rest and len(parts) == 2 else ""


def references_in(annotations: Mapping[str, Any] | None) -> frozenset[Reference]:
    """Return what annotations refer to. Keys of another form and empty values are ignored."""
    return frozenset(
        Reference(kind, name)
        for key, name in (annotations or {}).items()
        if (kind := _KINDS.get(kind_of_key(key))) and isinstance(name, str) and name
    )


def annotations_for(references: Iterable[Reference]) -> dict[str, str]:
    """Return the annotations that refer to these objects."""
    return {reference_key(used.kind, used.name): used.name for used in sorted(references)}


def annotate(obj: JsonObject, *extra: Reference) -> JsonObject:
    """Return a copy annotated with what the object uses, and with the *extra* references.

    Pods are annotated themselves, workloads also in their templates; of a ManagedResource its
    Secrets are named, of a Prometheus whatever its spec refers to. References from before are
    removed, other annotations stay. Raises `ValueError` if it is of another kind, whose annotations
    are not read.
    """
    places = _places(obj)
    annotated = deepcopy(obj)
    wanted = annotations_for(uses_of(obj) | set(extra))
    for place in ((), *places):
        bearer = annotated
        for name in place:
            bearer[name] = bearer.get(name) or {}
            bearer = bearer[name]
        metadata = bearer["metadata"] = bearer.get("metadata") or {}
        old = metadata.get("annotations") or {}
        new = {key: value for key, value in old.items() if not key.startswith(PREFIX)} | wanted
        if new or old:
            metadata["annotations"] = new
    return annotated


def _places(obj: JsonObject) -> tuple[tuple[str, ...], ...]:
    group = str(obj.get("apiVersion") or "").rpartition("/")[0]
    kind = str(obj.get("kind") or "")
    if is_pod_owner(group, kind) and kind in _BEARERS:
        return _BEARERS[kind]
    if (group, kind) in _CUSTOM_BEARERS:
        return ()
    raise ValueError(
        f"{kind or 'an object without kind'}: references are read from {', '.join(_BEARERS)},"
        " ManagedResource and Prometheus only; annotate what uses it"
    )
