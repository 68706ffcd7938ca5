"""Rules of ConfigMaps, Secrets, Namespaces and ServiceAccounts."""

import base64

from certwright.apiserver.builtins.rules.checks import (
    at_most_a_mebibyte,
    data_keys,
    frozen_when_immutable,
    immutable,
)
from certwright.apiserver.causes import invalid_value, required
from certwright.kube.errors import Cause
from certwright.kube.objects import JsonObject

_SERVICE_ACCOUNT = "kubernetes.io/service-account.name"
_NAMESPACE_NAME = "kubernetes.io/metadata.name"

_MUST_HAVE = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}


def validate_config_map(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Keys are file names, in one of the two maps, and everything fits into a mebibyte."""
    text, binary = new.get("data") or {}, new.get("binaryData") or {}
    causes = frozen_when_immutable(new, old, ("data", "binaryData"))
    causes += data_keys(text, "data")
    for key in text.keys() & binary.keys():
        why = "duplicate of key present in binaryData"
        causes.append(invalid_value(f"data[{key}]", key, why))
    causes += data_keys(binary, "binaryData")
    size = sum(len(value.encode()) for value in text.values())
    return causes + at_most_a_mebibyte(size + _decoded_size(binary), "[]")


def complete_secret(obj: JsonObject) -> None:
    """Set the default type, and move ``stringData`` into ``data``."""
    if not obj.get("type"):
        obj["type"] = "Opaque"
    texts = obj.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def validate_secret(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that the type does not change, and the keys it needs."""
    data = new.get("data") or {}
    causes = immutable(new["type"], old["type"], "type") if old else []
    causes += frozen_when_immutable(new, old, ("data",))
    causes += data_keys(data, "data")
    causes += at_most_a_mebibyte(_decoded_size(data), "data")
    type_ = new["type"]
    causes += [required(f"data[{key}]") for key in _MUST_HAVE.get(type_, ()) if key not in data]
    if type_ == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
        causes += [required("data[username]"), required("data[password]")]
    annotations = new["metadata"].get("annotations") or {}
    if type_ == "kubernetes.io/service-account-token" and not annotations.get(_SERVICE_ACCOUNT):
        causes.append(required(f"metadata.annotations[{_SERVICE_ACCOUNT}]"))
    return causes


def complete_namespace(obj: JsonObject) -> None:
    """Label a namespace with its name, and make it active."""
    metadata = obj["metadata"]
    if metadata.get("name"):
        metadata.setdefault("labels", {})[_NAMESPACE_NAME] = metadata["name"]
    obj["status"].setdefault("phase", "Active")


def validate_namespace(new: JsonObject, old: JsonObject | None) -> list[Cause]:
    """Check that the phase is that of a namespace that is, or is not, being deleted."""
    phase = (new.get("status") or {}).get("phase")
    if old is None or new["metadata"].get("deletionTimestamp") or phase in {None, "Active"}:
        return []
    why = "may only be 'Active' if `deletionTimestamp` is empty"
    return [invalid_value("status.Phase", phase, why)]


def prepare_namespace(new: JsonObject, old: JsonObject | None) -> None:
    """Set the finalizer that keeps a namespace until its contents are gone."""
    if old is None:
        finalizers = new["spec"].setdefault("finalizers", [])
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")


def _decoded_size(data: dict[str, str]) -> int:
    return sum(len(value) * 3 // 4 - value.count("=") for value in data.values())
