"""Which images run: a registry, a name and a tag, unless the environment names another."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

REGISTRY: Final = "quay.io"
_DIGEST: Final = "sha256:"


class Image(StrEnum):
    """One of the five images, by its name in a registry."""

    CONTROLLER = "icp-cert-manager-controller"
    WEBHOOK = "icp-cert-manager-webhook"
    CAINJECTOR = "icp-cert-manager-cainjector"
    ACMESOLVER = "icp-cert-manager-acmesolver"
    WATCHER = "icp-configmap-watcher"


@dataclass(frozen=True, slots=True)
class _Source:
    tag: str
    tag_variable: str
    """An environment variable with another tag, or a digest."""
    reference_variable: str
    """An environment variable with the whole reference."""


_SOURCES: Final = {
    Image.CONTROLLER: _Source(
        "0.10.0", "CONTROLLER_IMAGE_TAG_OR_SHA", "ICP_CERT_MANAGER_CONTROLLER_IMAGE"
    ),
    Image.WEBHOOK: _Source("0.10.1", "WEBHOOK_IMAGE_TAG_OR_SHA", "ICP_CERT_MANAGER_WEBHOOK_IMAGE"),
    Image.CAINJECTOR: _Source(
        "0.10.0", "CAINJECTOR_IMAGE_TAG_OR_SHA", "ICP_CERT_MANAGER_CAINJECTOR_IMAGE"
    ),
    Image.ACMESOLVER: _Source(
        "0.10.0", "ACMESOLVER_IMAGE_TAG_OR_SHA", "ICP_CERT_MANAGER_ACMESOLVER_IMAGE"
    ),
    Image.WATCHER: _Source(
        "3.3.0", "CONFIGMAP_WATCHER_IMAGE_TAG_OR_SHA", "ICP_CONFIGMAP_WATCHER_IMAGE"
    ),
}


def resolve(
    image: Image,
    registry: str = "",
    postfix: str = "",
    environment: Mapping[str, str] | None = None,
) -> str:
    """Return the reference of an image.

    A reference in the environment counts as it is. Else the registry stands before the name, and
    the postfix after the tag, but never after a digest.
    """
    source, environment = _SOURCES[image], environment or {}
    if reference := environment.get(source.reference_variable, ""):
        return reference
    name = f"{registry.rstrip('/') or REGISTRY}/{image}"
    tag = environment.get(source.tag_variable, "") or source.tag
    return f"{name}@{tag}" if tag.startswith(_DIGEST) else f"{name}:{tag}{postfix}"
