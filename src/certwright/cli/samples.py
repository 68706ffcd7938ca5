"""Manifests from files, for samples: small, local, written by the user."""

from pathlib import Path

import yaml

from certwright.cli.errors import UsageError
from certwright.kube import JsonObject

_LIMIT = 4 * 1024 * 1024


def read_manifests(path: Path) -> list[JsonObject]:
    """Return the objects of a YAML file.

    Raises:
        UsageError: the file is missing, too large, not YAML, or holds something else.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    if len(text) > _LIMIT:
        raise UsageError(f"{path} is larger than {_LIMIT // 1024 // 1024} MiB")
    try:
        documents = [document for document in yaml.safe_load_all(text) if document is not None]
    except yaml.YAMLError as error:
        raise UsageError(f"{path} is not YAML: {error}") from error
    for number, document in enumerate(documents, 1):
        if not isinstance(document, dict) or not document.get("kind"):
            raise UsageError(f"{path}: document {number} is not a manifest: it has no kind")
    return documents
