"""What is sent for a wanted object, before the live one is looked at."""

import binascii
from base64 import b64decode, b64encode
from typing import Any, Final

from certwright.apply.engine.wanted import Owner, Wanted
from certwright.apply.redaction import is_secret
from certwright.kube import JsonObject

_SERVER_METADATA: Final = frozenset(
    {
        "managedFields", "resourceVersion", "uid", "generation", "selfLink",
        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds",
    }
)  # fmt: skip
"""What manifests written by ``kubectl get -o yaml`` carry and nobody can want."""


def desired_of(wanted: Wanted, owner: Owner | None) -> JsonObject:
    """Return the object to apply, marked as ours.

    What is only ever created goes as it was written. In Secrets ``stringData`` becomes
    ``data``, as the server would do it: only then does a key that is no longer wanted go.

    Raises:
        ValueError: the metadata have no shape anybody could write to.
    """
    if wanted.rules.create_only:
        return wanted.obj
    obj = {**wanted.obj, "metadata": _metadata(wanted.obj.get("metadata") or {}, owner)}
    if is_secret(obj):
        _encode(obj)
    elif isinstance(obj.get("binaryData"), dict) and obj.get("kind") == "ConfigMap":
        obj["binaryData"] = _canonical(obj["binaryData"])
    return obj


def _metadata(metadata: Any, owner: Owner | None) -> JsonObject:
    if not isinstance(metadata, dict) or not isinstance(metadata.get("annotations") or {}, dict):
        raise ValueError("metadata and its annotations must be maps")  # noqa: TRY004 - bad data
    kept: dict[str, Any] = {
        name: value for name, value in metadata.items() if name not in _SERVER_METADATA
    }
    if owner is not None:
        kept["annotations"] = {**(kept.get("annotations") or {}), owner.annotation: owner.value}
    return kept


def _encode(secret: JsonObject) -> None:
    """Move texts to data; leave what is not of the right shape for the server to refuse."""
    data, texts = secret.get("data") or {}, secret.get("stringData") or {}
    if not isinstance(data, dict) or not isinstance(texts, dict):
        return
    if not all(isinstance(text, str) for text in texts.values()):
        return
    encoded = {name: b64encode(text.encode()).decode() for name, text in texts.items()}
    secret.pop("stringData", None)
    if data or encoded:
        secret["data"] = {**_canonical(data), **encoded}


def _canonical(data: JsonObject) -> JsonObject:
    """Return base64 as the server writes it: manifests break long lines."""
    return {name: _in_one_line(value) for name, value in data.items()}


def _in_one_line(value: Any) -> Any:
    if not isinstance(value, str) or not ("\n" in value or "\r" in value):
        return value
    joined = value.replace("\n", "").replace("\r", "")
    try:
        b64decode(joined, validate=True)
    except (binascii.Error, ValueError):
        return value
    return joined
