"""Manifests from files, for samples: small, local, written by the user."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from certwright.cli.errors import UsageError
from certwright.client import Client, TransportError
from certwright.kube import ApiError, GroupVersionKind, JsonObject

_LIMIT = 4 * 1024 * 1024


def read_manifests(path: Path) -> list[JsonObject]:
    """Return the objects of a YAML or JSON file, those of a ``List`` one by one.

    Raises:
        UsageError: the file is missing, too large, not YAML, or holds something else.
    """
    try:
        if path.stat().st_size > _LIMIT:
            raise UsageError(f"{path} is larger than {_LIMIT // 1024 // 1024} MiB")
        documents = list(yaml.safe_load_all(path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" in line {where.line + 1}" if where else ""
        problem = getattr(error, "problem", None) or error
        raise UsageError(f"{path} is not valid YAML{line}: {problem}") from error
    return list(_objects(path, documents))


def _objects(path: Path, documents: Iterable[Any]) -> Iterator[JsonObject]:
    for number, document in enumerate(documents, 1):
        if document is None:
            continue
        items = [document]
        if isinstance(document, dict) and document.get("kind") == "List":
            items = document.get("items") or []
        for item in items:
            if missing := _missing(item):
                raise UsageError(f"{path}: document {number} is not a manifest: no {missing}")
            yield item


def _missing(document: Any) -> str:
    """Name the first thing every object has and this one has not."""
    if not isinstance(document, dict):
        return "apiVersion, kind and metadata"
    for field in ("apiVersion", "kind"):
        if not isinstance(document.get(field), str):
            return field
    metadata = document.get("metadata")
    return "" if isinstance(metadata, dict) and metadata.get("name") else "metadata.name"


async def apply_samples(client: Client, manifests: Iterable[JsonObject]) -> None:
    """Apply manifests; one that is refused is the user's to mend and stops no other."""
    for manifest in manifests:
        try:
            await _apply(client, manifest)
        except (ApiError, TransportError, ValueError) as error:
            what = f"{manifest['kind']} {manifest['metadata']['name']}"
            print(f"sample {what} was refused: {error}", file=sys.stderr, flush=True)


async def _apply(client: Client, manifest: JsonObject) -> None:
    gvk = GroupVersionKind.parse(manifest["apiVersion"], manifest["kind"])
    resource = await client.discovery.resource_for(gvk)
    metadata = dict(manifest["metadata"])
    if resource.namespaced:
        metadata.setdefault("namespace", "default")  # as kubectl would with our kubeconfig
    await client.apply({**manifest, "metadata": metadata}, field_manager="certwright-up")
