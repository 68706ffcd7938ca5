"""A real control plane whose node runs releases of cert-manager, and what is done with them there."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest

from certwright.client import Client, until_served
from certwright.kube import InternalError, JsonObject, Key, Resource
from certwright.testkit.certmanager.images import cert_manager_images
from certwright.testkit.controlplane import AssetsMissing
from certwright.testkit.node import NodeSettings
from certwright.testkit.node.plane import PlaneWithNode, control_plane_with_node

Certificate = Resource("cert-manager.io", "v1", "Certificate", "certificates")
SELF_SIGNED: JsonObject = {"selfSigned": {}}
QUICK = NodeSettings(probe_scale=0.05)


@asynccontextmanager
async def plane_with_releases(
    *versions: str, settings: NodeSettings = QUICK
) -> AsyncIterator[PlaneWithNode]:
    """Give a control plane with a node that has the images of versions such as ``1.21.2``."""
    try:
        images = await asyncio.to_thread(cert_manager_images, versions)
    except AssetsMissing as missing:
        pytest.skip(str(missing))
    async with control_plane_with_node(images=images, settings=settings) as made:
        yield made


async def apply_release(client: Client, manifests: Iterable[JsonObject]) -> None:
    """Apply a release: its namespace and definitions, and then the rest."""
    every = list(manifests)
    definitions = [each for each in every if each["kind"] == "CustomResourceDefinition"]
    for manifest in every:
        await client.apply(manifest)
        if manifest is definitions[-1]:
            for definition in definitions:
                await until_served(client, definition)


async def request_certificate(client: Client, name: str) -> None:
    """Create an issuer and a Certificate as soon as the webhook answers and is trusted."""
    await _created(client, "Issuer", "own", SELF_SIGNED)
    await _created(client, "Certificate", name, certificate_spec(name))


def certificate_spec(name: str) -> JsonObject:
    """Return what a Certificate of the issuer ``own`` asks for."""
    key = {"algorithm": "ECDSA", "size": 256}
    names = [f"{name}.example"]
    return {"secretName": name, "dnsNames": names, "issuerRef": {"name": "own"}, "privateKey": key}


def certificate_manifest(name: str, spec: JsonObject) -> JsonObject:
    """Return a Certificate in the namespace ``default``."""
    return _manifest("Certificate", name, spec)


async def until_ready(client: Client, name: str) -> JsonObject:
    """Return a Certificate when it is ready, and its revision is told, which others write."""
    while True:
        found = await client.get(Certificate, Key("default", name))
        status = found.get("status") or {}
        told = {one["type"]: one["status"] for one in status.get("conditions") or ()}
        if told.get("Ready") == "True" and "revision" in status:
            return found
        await asyncio.sleep(0.05)


async def _created(client: Client, kind: str, name: str, spec: JsonObject) -> None:
    while True:
        try:
            await client.apply(_manifest(kind, name, spec))
        except InternalError:
            await asyncio.sleep(0.1)
        else:
            return


def _manifest(kind: str, name: str, spec: JsonObject) -> JsonObject:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": metadata, "spec": spec}
