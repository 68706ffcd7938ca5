"""The least anybody can do for ManagedResources: the same writes, and nothing else.

No watch, no cache, no comparison: names and bodies are known beforehand, and as long as those
the operator sends. It stands for what the API server and an asyncio HTTP client allow. It
creates, waits for a line on its standard input, and deletes. If it is to follow, it begins when
it is told how many ManagedResources there are, one line for each number.
"""

import asyncio
import base64
import ssl
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import uvloop
import yaml

from bench import meter
from bench.managedworkload import names

WORKERS = 20
FINALIZER = "resources.gardener.cloud/gardener-resource-manager"
MERGE = {"content-type": "application/merge-patch+json"}
JSON = {"content-type": "application/json"}
PLURALS = {"ConfigMap": "configmaps", "Secret": "secrets", "ServiceAccount": "serviceaccounts"}
TIME = "2026-01-01T00:00:00Z"
UID = "6c84fb90-12c4-11e1-840d-7b25c5ee"
LABELS = {"resources.gardener.cloud/managed-by": "gardener"}
DESCRIPTION = {
    "resources.gardener.cloud/description": "This object is managed by a ManagedResource. "
    "Changes made to it by others are reverted."
}
SETTINGS = "logLevel: info\nendpoints: [one.example.com, two.example.com]\n"
CONTENTS: dict[str, dict[str, Any]] = {
    "ConfigMap": {"data": {"settings.yaml": SETTINGS}},
    "Secret": {"type": "Opaque", "data": {"token": "c2VjcmV0LXRva2Vu"}},
    "ServiceAccount": {"automountServiceAccountToken": False},
}
ALL_WELL = {
    "ResourcesApplied": ("True", "ApplySucceeded"),
    "ResourcesHealthy": ("True", "ResourcesHealthy"),
    "ResourcesProgressing": ("False", "ResourcesRolledOut"),
    "Ready": ("True", "ResourcesHealthy"),
}
BEING_DELETED = {
    "ResourcesApplied": ("Progressing", "DeletionPending"),
    "ResourcesHealthy": ("False", "DeletionPending"),
    "ResourcesProgressing": ("True", "DeletionPending"),
    "Ready": ("False", "DeletionPending"),
}

Json = dict[str, Any]


class Bare:
    """Writes what a ManagedResource needs."""

    def __init__(self, session: aiohttp.ClientSession, namespace: str) -> None:
        self._session = session
        self._namespace = namespace

    async def _write(self, method: str, path: str, body: Json, headers: Json) -> None:
        async with self._session.request(
            method, path, data=orjson.dumps(body), headers=headers
        ) as answer:
            text = await answer.read()
            if answer.status >= 300:
                raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")

    def _unit(self, name: str) -> str:
        group = "/apis/resources.gardener.cloud/v1alpha1"
        return f"{group}/namespaces/{self._namespace}/managedresources/{name}"

    def _object(self, kind: str, name: str) -> str:
        return f"/api/v1/namespaces/{self._namespace}/{PLURALS[kind]}/{name}"

    async def apply(self, name: str) -> None:
        """Finalizer, three objects, status."""
        await self._write("PATCH", self._unit(name), held(self._namespace, name), MERGE)
        for obj in objects(self._namespace, name):
            path = f"/api/v1/namespaces/{self._namespace}/{PLURALS[obj['kind']]}"
            await self._write("POST", path, obj, JSON)
        await self._write(
            "PATCH", f"{self._unit(name)}/status", status(self._namespace, name), MERGE
        )

    async def delete(self, name: str) -> None:
        """Conditions, three objects, finalizer."""
        said = {"status": {"conditions": conditions(BEING_DELETED)}}
        await self._write("PATCH", f"{self._unit(name)}/status", said, MERGE)
        for kind in PLURALS:
            await self._write("DELETE", self._object(kind, name), {}, JSON)
        await self._write("PATCH", self._unit(name), {"metadata": {"finalizers": None}}, MERGE)


def held(namespace: str, name: str) -> Json:
    """Return the patch with which a ManagedResource is taken care of from now on."""
    refs = [f"v1/{kind}/{namespace}/{name}" for kind in PLURALS]
    intent = orjson.dumps([UID, *refs]).decode()
    annotations = {"resources.certwright.dev/intent": intent}
    return {"metadata": {"annotations": annotations, "finalizers": [FINALIZER]}}


def objects(namespace: str, name: str) -> Iterator[Json]:
    """Yield the objects, with what marks them as managed."""
    marks: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "labels": LABELS,
        "annotations": {**DESCRIPTION, "resources.gardener.cloud/origin": f"{namespace}/{name}"},
    }
    for kind, content in CONTENTS.items():
        own = {**marks, "labels": {"app": name, **LABELS}} if kind == "ConfigMap" else marks
        yield {"apiVersion": "v1", "kind": kind, "metadata": own, **content}


def status(namespace: str, name: str) -> Json:
    """Return what is said of a ManagedResource when all is well."""
    refs = [
        {"apiVersion": "v1", "kind": kind, "name": name, "namespace": namespace, "labels": LABELS}
        for kind in PLURALS
    ]
    refs[0]["labels"] = {"app": name, **LABELS}
    said = {
        "observedGeneration": 1,
        "conditions": conditions(ALL_WELL),
        "resources": refs,
        "secretsDataChecksum": UID + UID,
        "summary": {"applied": 3, "healthy": 3, "total": 3},
    }
    return {"status": said}


def conditions(of: dict[str, tuple[str, str]]) -> list[Json]:
    """Return conditions as a status has them."""
    return [
        {
            "type": kind,
            "status": status_,
            "reason": reason,
            "message": "All resources are as they should be.",
            "lastTransitionTime": TIME,
            "lastUpdateTime": TIME,
        }
        for kind, (status_, reason) in of.items()
    ]


async def each(names_: list[str], work: Callable[[str], Awaitable[None]]) -> None:
    rest = iter(names_)

    async def worker() -> None:
        for name in rest:
            await work(name)

    async with asyncio.TaskGroup() as group:
        for _ in range(WORKERS):
            group.create_task(worker())


async def following(names_: list[str], work: Callable[[str], Awaitable[None]]) -> None:
    """Work on what is there; each line on standard input says how many of them are."""
    there, free = 0, asyncio.Semaphore(WORKERS)

    async def one(name: str) -> None:
        async with free:
            await work(name)

    async with asyncio.TaskGroup() as group:
        while there < len(names_):
            now = int(await asyncio.to_thread(sys.stdin.readline))
            for name in names_[there:now]:
                group.create_task(one(name))
            there = now


def trust(kubeconfig: Path) -> tuple[str, ssl.SSLContext]:
    """Return the server of a kubeconfig and how to talk to it."""
    config = yaml.safe_load(kubeconfig.read_text("utf-8"))
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    with tempfile.NamedTemporaryFile() as file:
        for part in ("client-certificate-data", "client-key-data"):
            file.write(base64.b64decode(user[part]))
        file.flush()
        context.load_cert_chain(file.name)
    return cluster["server"], context


async def main(task: meter.Task) -> None:
    server, context = trust(Path(task.kubeconfig))
    connector = aiohttp.TCPConnector(ssl=context, limit=WORKERS)
    async with aiohttp.ClientSession(server, connector=connector) as session:
        bare = Bare(session, task.namespace)
        meter.start()
        await (following if task.keep else each)(names(task.objects), bare.apply)
        meter.mark("applied")
        await asyncio.to_thread(sys.stdin.readline)
        meter.mark("deleting")
        await each(names(task.objects), bare.delete)
        meter.mark("done")


if __name__ == "__main__":
    uvloop.run(main(meter.task()))
