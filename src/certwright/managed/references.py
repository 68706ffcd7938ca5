"""Annotations that name the ConfigMaps and Secrets an object uses.

The key holds the kind and the beginning of a hash of the name, the value is the name::

    reference.resources.gardener.cloud/configmap-4ed34879: test-5678

`annotate` writes them, Gardener's resource manager and ours read them: what they name is not
collected. The hash only keeps the keys apart; readers do not verify it.
"""

import hashlib
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, Final

from certwright.api.managedresources import GROUP
from certwright.kube import JsonObject
from certwright.managed.usage import CONFIG_MAP, SECRET, Reference, is_pod_owner, uses_of

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
    removed, other annotations stay.

    Raises:
        ValueError: it is of another kind, whose annotations are not read.
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
