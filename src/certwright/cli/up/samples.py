"""Manifests that ``certwright up`` applies at the start."""

import sys
from collections.abc import Iterable

from certwright.client import Client, TransportError
from certwright.kube import ApiError, GroupVersionKind, JsonObject


async def apply_samples(client: Client, manifests: Iterable[JsonObject]) -> None:
    """Apply manifests; report those that the server refuses, and apply the others."""
    for manifest in manifests:
        try:
            await _apply(client, manifest)
        except (ApiError, TransportError, ValueError) as error:
            what = f"{manifest['kind']} {manifest['metadata']['name']}"
            print(f"warning: sample {what} was refused: {error}", file=sys.stderr, flush=True)


async def _apply(client: Client, manifest: JsonObject) -> None:
    gvk = GroupVersionKind.parse(manifest["apiVersion"], manifest["kind"])
    resource = await client.discovery.resource_for(gvk)
    metadata = dict(manifest["metadata"])
    if resource.namespaced:
        metadata.setdefault("namespace", "default")  # as kubectl would with our kubeconfig
    await client.apply({**manifest, "metadata": metadata}, field_manager="certwright-up")
