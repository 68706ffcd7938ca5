"""Pod templates: their hash, and the pods made from them."""

from typing import Any, Final
from zlib import crc32

import orjson

from certwright.kube import JsonObject

HASH_LABEL: Final = "pod-template-hash"
LONGEST_NAME: Final = 253
_SAFE: Final = "bcdfghjklmnpqrstvwxz2456789"


def safe_digest(value: Any, collisions: int | None = None) -> str:
    """Return a short digest of a JSON value, in letters and digits that spell no words."""
    text = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    number = crc32(text if collisions is None else text + str(collisions).encode())
    return "".join(_SAFE[ord(digit) % len(_SAFE)] for digit in str(number))


def same_template(one: JsonObject, other: JsonObject) -> bool:
    """Return whether two templates make the same pods; the hash label does not count."""
    return _without_hash(one) == _without_hash(other)


def _without_hash(template: JsonObject) -> JsonObject:
    metadata = template.get("metadata") or {}
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != HASH_LABEL}
    kept = {k: v for k, v in metadata.items() if v and k != "labels"}
    return {**template, "metadata": {**kept, **({"labels": labels} if labels else {})}}


def pod_from(template: JsonObject, owner: JsonObject) -> JsonObject:
    """Return the pod of a template, named by the server after its owner."""
    metadata = template.get("metadata") or {}
    names = ("labels", "annotations", "finalizers")
    kept = {name: metadata[name] for name in names if metadata.get(name)}
    prefix = f"{owner['metadata']['name']}-"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**kept, "generateName": prefix, "namespace": owner["metadata"]["namespace"]},
        "spec": template.get("spec") or {},
    }


def child_name(owner: str, suffix: str) -> str:
    """Return the name of an owner's child: cut so that it is not longer than names may be."""
    return f"{owner[: LONGEST_NAME - len(suffix) - 1]}-{suffix}"
