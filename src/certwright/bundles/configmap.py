"""Bundles in ConfigMaps, so that an operator without network finds them in its cluster."""

import base64
import binascii
from typing import Any, Final

from certwright.bundles.bundle import MOST_BYTES, decode_header
from certwright.bundles.errors import BundleCorrupt, BundleTooLarge
from certwright.bundles.sources import PackedBundle
from certwright.kube import JsonObject

LABEL: Final = "bundles.certwright.dev/version"
"""The label by which operators find them; its value is the version."""
KEY: Final = "bundle"
"""Of ``binaryData``."""
_DIGITS: Final = 10
"""Of the digest, in the name: other contents have another name, for these cannot change."""
_MOST_ENCODED: Final = (MOST_BYTES + 2) // 3 * 4


def to_config_map(data: bytes, namespace: str, source: str = "the bundle") -> JsonObject:
    """Return the immutable ConfigMap for the content of a file; `BundleError` if it is none."""
    header = decode_header(data, source)
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": f"cert-manager-{header.version.lower()}-{header.digest[:_DIGITS]}",
            "namespace": namespace,
            "labels": {LABEL: header.version},
        },
        "immutable": True,
        "binaryData": {KEY: base64.b64encode(data).decode()},
    }


def from_config_map(obj: JsonObject) -> PackedBundle:
    """Return the bundle that a ConfigMap holds, not unpacked yet.

    Raises:
        BundleCorrupt: it holds none, or another version than its label says.
        BundleTooLarge: it is larger than any bundle.
    """
    metadata = _mapping(obj.get("metadata"))
    source = f"ConfigMap {metadata.get('namespace')}/{metadata.get('name')}"
    label = _mapping(metadata.get("labels")).get(LABEL)
    version = label if isinstance(label, str) else ""
    encoded = _mapping(obj.get("binaryData")).get(KEY)
    if not isinstance(encoded, str):
        raise BundleCorrupt(source, f"it has no binaryData.{KEY}", version)
    if len(encoded) > _MOST_ENCODED:
        problem = f"{len(encoded)} characters of base64, a bundle has at most {_MOST_ENCODED}"
        raise BundleTooLarge(source, problem, version)
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise BundleCorrupt(source, f"binaryData.{KEY} is not base64", version) from None
    packed = PackedBundle.read(data, source, version)
    if version and packed.version != version:
        problem = f"it holds {packed.version}, its label says {version[:50]}"
        raise BundleCorrupt(source, problem, version)
    return packed


def _mapping(value: Any) -> JsonObject:
    return value if isinstance(value, dict) else {}
