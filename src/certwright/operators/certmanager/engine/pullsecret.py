"""The Secret with which images are pulled: what is copied, used, missing, and what is told.

It is copied from the namespace that the custom resource names to the one in which cert-manager
runs. A copy that works is never overwritten by what could not be read, or is empty.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from typing import Final

import orjson

from certwright.kube import JsonObject
from certwright.operators.certmanager.request import PullSecret

_DOMAIN: Final = "pull-secret.certwright.dev"
SOURCE: Final = f"{_DOMAIN}/source"
"""The annotation of a copy that names its source, as namespace and name."""
SOURCE_VERSION: Final = f"{_DOMAIN}/source-version"
"""The annotation with the resourceVersion of the source whose content a copy has."""
CONTENT: Final = f"{_DOMAIN}/content"
"""The annotation with a hash of what was copied."""


class Availability(StrEnum):
    """What is known of a Secret."""

    PRESENT = "Present"
    ABSENT = "Absent"
    UNREADABLE = "Unreadable"


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """A Secret as it was found, or why it was not."""

    availability: Availability
    obj: JsonObject = field(default_factory=dict, repr=False)
    problem: str = ""
    """Why it could not be read."""


ABSENT: Final = FoundSecret(Availability.ABSENT)


class PullSecretState(StrEnum):
    """What became of the Secret; also the reason of its condition."""

    NOT_WANTED = "NotConfigured"
    EXISTS = "Exists"
    COPIED = "Copied"
    MISSING = "PullSecretMissing"
    SOURCE_MISSING = "PullSecretSourceMissing"
    UNREADABLE = "PullSecretUnreadable"


@dataclass(frozen=True, slots=True)
class PullSecretDecision:
    """What to do about the Secret."""

    state: PullSecretState
    name: str = ""
    """What pods name as the Secret to pull images with; empty if none."""
    copy: JsonObject | None = field(default=None, repr=False)
    """The copy as it should be; None if there is none of ours."""
    blocks: bool = False
    """Whether nothing may be installed without it."""
    problem: str = ""
    """What could not be read."""


def decide(
    rule: PullSecret, namespace: str, here: FoundSecret, source: FoundSecret
) -> PullSecretDecision:
    """Return what to do about the Secret of the namespace *here*, given its *source*.

    One that is not required is used if it is there, unless it is a copy from before.
    """
    name = rule.name
    if not rule.required:
        used = here.availability is Availability.PRESENT and not is_copy(here.obj)
        state = PullSecretState.EXISTS if used else PullSecretState.NOT_WANTED
        return PullSecretDecision(state, name if used else "")
    if here.availability is Availability.UNREADABLE:
        state = PullSecretState.UNREADABLE
        return PullSecretDecision(state, name, blocks=True, problem=here.problem)
    if not is_copied(rule, namespace):
        source = ABSENT
    elif source.availability is Availability.PRESENT and not source.obj.get("data"):
        source = FoundSecret(Availability.UNREADABLE, problem=f"{source_name(rule)} is empty")
    if source.availability is Availability.PRESENT:
        copy = _copy_of(source.obj, name, namespace, here)
        return PullSecretDecision(PullSecretState.COPIED, name, copy)
    if here.availability is Availability.ABSENT:
        missing = source.availability is Availability.ABSENT
        state = PullSecretState.MISSING if missing else PullSecretState.UNREADABLE
        return PullSecretDecision(state, name, blocks=True, problem=source.problem)
    kept = _as_it_is(here.obj) if is_copy(here.obj) else None
    if source.availability is Availability.UNREADABLE:
        state = PullSecretState.UNREADABLE
        return PullSecretDecision(state, name, kept, problem=source.problem)
    if kept is not None and is_copied(rule, namespace):
        return PullSecretDecision(PullSecretState.SOURCE_MISSING, name, kept)
    return PullSecretDecision(PullSecretState.EXISTS, name)


def is_copied(rule: PullSecret, namespace: str) -> bool:
    """Return whether there is a source to copy from: another namespace than the one it goes to."""
    return rule.source_namespace not in {"", namespace}


def source_name(rule: PullSecret) -> str:
    """Return how the source of a copy is called in messages."""
    return f"the Secret {rule.source_namespace}/{rule.name}"


def is_copy(obj: JsonObject) -> bool:
    """Return whether a Secret is one that we keep as the copy of another."""
    return SOURCE in (obj["metadata"].get("annotations") or {})


def content_hash(secret: JsonObject) -> str:
    """Return a hash of what is copied: data and type."""
    content = [secret.get("type") or "Opaque", secret.get("data") or {}]
    return sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).hexdigest()


def _copy_of(source: JsonObject, name: str, namespace: str, here: FoundSecret) -> JsonObject:
    """Return the copy of a Secret; one whose content is the same stays as it is."""
    found, content = source["metadata"], content_hash(source)
    noted = (here.obj.get("metadata") or {}).get("annotations") or {}
    version = found.get("resourceVersion", "")
    if noted.get(CONTENT) == content and noted.get(SOURCE_VERSION):
        version = noted[SOURCE_VERSION]  # others changed the metadata of the source only
    annotations = {
        SOURCE: f"{found['namespace']}/{found['name']}",
        SOURCE_VERSION: version,
        CONTENT: content,
    }
    return _secret(name, namespace, source, annotations)


def _as_it_is(copy: JsonObject) -> JsonObject:
    """Return a copy with what it has, so that it is neither changed nor deleted."""
    metadata = copy["metadata"]
    annotations = metadata.get("annotations") or {}
    noted = {
        name: annotations[name] for name in (SOURCE, SOURCE_VERSION, CONTENT) if name in annotations
    }
    return _secret(metadata["name"], metadata["namespace"], copy, noted)


def _secret(name: str, namespace: str, content: JsonObject, annotations: JsonObject) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "type": content.get("type") or "Opaque",
        "data": content.get("data") or {},
    }
