"""Names of versions and revisions."""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, TypeAlias

import msgspec

from certwright.api.envoyconfigs import EnvoyConfigRevisionSpec, EnvoyConfigSpec
from certwright.kube import hashed_name
from certwright.kube.names import dns_subdomain_problems, label_value_problems

API: Final = "v3"
NODE_ID_LABEL: Final = "marin3r.3scale.net/node-id"
VERSION_LABEL: Final = "marin3r.3scale.net/config-version"
API_LABEL: Final = "marin3r.3scale.net/envoy-api"
_DIGITS: Final = 10
_LONGEST_NAME: Final = 253

ConfigSpec: TypeAlias = EnvoyConfigSpec | EnvoyConfigRevisionSpec
_CONTENT: Final = ("serialization", "envoyResources", "resources")


def version_of(spec: ConfigSpec) -> str:
    """Return the version of what a spec says: the beginning of a digest of its resources.

    Equal content has the same version, in whichever order its keys are written; the default
    serialization is the same as none.
    """
    whole = msgspec.to_builtins(spec)
    content = {name: whole[name] for name in _CONTENT if name in whole}
    if content.get("serialization") == "json" or "envoyResources" not in content:
        content.pop("serialization", None)
    text = msgspec.json.encode(content, order="deterministic")
    return sha256(text).hexdigest()[:_DIGITS]


def revision_name(node_id: str, version: str) -> str:
    """Return the name of a revision: readable if the node-id can be part of a name."""
    name = f"{node_id}-{API}-{version}"
    if dns_subdomain_problems(name) or len(name) > _LONGEST_NAME:
        return f"{hashed_name(node_id, limit=40)}-{API}-{version}"
    return name


def revision_labels(node_id: str, version: str) -> Mapping[str, str]:
    """Return the labels of a revision; they are for people, nothing is found by them."""
    labels = {VERSION_LABEL: version, API_LABEL: API}
    value = node_id if not label_value_problems(node_id) else hashed_name(node_id)
    return {NODE_ID_LABEL: value, **labels}


def same_content(revision: EnvoyConfigRevisionSpec) -> bool:
    """Return whether a revision still holds what its version stands for.

    Versions that others gave cannot be compared: those of upstream hash Go structures.
    """
    is_ours = re.fullmatch(rf"[0-9a-f]{{{_DIGITS}}}", revision.version)
    return is_ours is None or version_of(revision) == revision.version


def content_of(spec: EnvoyConfigSpec) -> dict[str, Any]:
    """Return the fields of a spec that its revision copies, as JSON."""
    whole: dict[str, Any] = msgspec.to_builtins(spec)
    return {name: value for name, value in whole.items() if name in {*_CONTENT, "nodeID"}}
