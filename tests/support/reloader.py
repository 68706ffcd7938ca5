"""Stakater Reloader in other words: when it reloads, and what it leaves behind, on plain objects."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from certwright.kube import JsonObject

DOMAIN = "reloader.stakater.com"
_WORDS = {"Secret": "secret", "ConfigMap": "configmap"}


def reloads(workload: JsonObject, source: JsonObject, *, everything: bool = False) -> bool:
    """Return whether a change of the data of a source reloads a workload."""
    word = _WORDS[source["kind"]]
    name = source["metadata"]["name"]
    marks = source["metadata"].get("annotations") or {}
    own = workload["metadata"].get("annotations") or {}
    pods = template_of(workload).get("metadata", {}).get("annotations") or {}
    if marks.get(f"{DOMAIN}/ignore") == "true":
        return False
    if name in own.get(f"{word}s.exclude.{DOMAIN}/reload", "").split(","):
        return False
    auto, search = f"{DOMAIN}/auto", f"{DOMAIN}/search"
    typed, named = f"{word}.{DOMAIN}/auto", f"{word}.{DOMAIN}/reload"
    place = own if {auto, search, typed, named} & own.keys() else pods
    if name in place.get(named, "").split(","):
        return True
    if not is_consumed(workload, source["kind"], name):
        return False
    if "true" in (place.get(auto), place.get(typed)):
        return True
    if everything and auto not in place and typed not in place:
        return True
    return bool(place.get(search) == "true" and marks.get(f"{DOMAIN}/match") == "true")


def is_consumed(workload: JsonObject, kind: str, name: str) -> bool:
    """Return whether a container mounts a source or has variables of it."""
    pod = template_of(workload)["spec"]
    volumes = {
        volume["name"] for volume in pod.get("volumes") or () if name in _names(volume, kind)
    }
    for container in (*pod["containers"], *(pod.get("initContainers") or ())):
        if volumes & {mount["name"] for mount in container.get("volumeMounts") or ()}:
            return True
        if name in _variables(container, kind):
            return True
    return False


def template_of(workload: JsonObject) -> JsonObject:
    """Return the pod template of a workload."""
    spec: JsonObject = workload["spec"]
    template: JsonObject = (
        spec["jobTemplate"]["spec"]["template"] if "jobTemplate" in spec else spec["template"]
    )
    return template


def hash_of(data: Mapping[str, str]) -> str:
    """Return its hash of the contents of a Secret: plain, so that it can be guessed."""
    joined = ";".join(sorted(f"{key}={value}" for key, value in data.items()))
    return hashlib.sha1(joined.encode()).hexdigest()  # noqa: S324 - what it does


def _names(volume: JsonObject, kind: str) -> Iterator[str]:
    member, field = ("secret", "secretName") if kind == "Secret" else ("configMap", "name")
    yield str((volume.get(member) or {}).get(field))
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield str((source.get(member) or {}).get("name"))


def _variables(container: JsonObject, kind: str) -> Iterator[str]:
    whole, one = (
        ("secretRef", "secretKeyRef") if kind == "Secret" else ("configMapRef", "configMapKeyRef")
    )
    for source in container.get("envFrom") or ():
        yield str((source.get(whole) or {}).get("name"))
    for variable in container.get("env") or ():
        found: Any = (variable.get("valueFrom") or {}).get(one) or {}
        yield str(found.get("name"))
