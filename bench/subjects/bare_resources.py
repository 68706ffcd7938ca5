"""The least anybody can do for ManagedResources: the same writes, and nothing else.

No watch, no cache, no comparison: names and bodies are known beforehand. It stands for what
the API server and an asyncio HTTP client allow. It applies, waits for a line on its standard
input, and deletes.
"""

import asyncio
import base64
import ssl
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import uvloop
import yaml

from bench import meter
from bench.managedworkload import manifests, names

WORKERS = 20
FINALIZER = "resources.gardener.cloud/gardener-resource-manager"
MERGE = {"content-type": "application/merge-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}
JSON = {"content-type": "application/json"}
PLURALS = {"ConfigMap": "configmaps", "Secret": "secrets", "ServiceAccount": "serviceaccounts"}
TIME = "2026-01-01T00:00:00Z"

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
        held = {"metadata": {"finalizers": [FINALIZER]}}
        await self._write("PATCH", self._unit(name), held, MERGE)
        refs = []
        for obj in yaml.load_all(manifests(self._namespace, name), yaml.CSafeLoader):
            path = self._object(obj["kind"], name)
            await self._write("PATCH", f"{path}?fieldManager=bare&force=true", obj, APPLY)
            ref = {"apiVersion": "v1", "kind": obj["kind"], "name": name}
            refs.append({**ref, "namespace": self._namespace})
        status = {"status": {"observedGeneration": 1, "resources": refs, "conditions": CONDITIONS}}
        await self._write("PATCH", f"{self._unit(name)}/status", status, MERGE)

    async def delete(self, name: str) -> None:
        """Three objects, finalizer."""
        for kind in PLURALS:
            await self._write("DELETE", self._object(kind, name), {}, JSON)
        await self._write("PATCH", self._unit(name), {"metadata": {"finalizers": None}}, MERGE)


CONDITIONS = [
    {
        "type": kind,
        "status": status,
        "reason": "Done",
        "message": "All resources are as they should be.",
        "lastTransitionTime": TIME,
        "lastUpdateTime": TIME,
    }
    for kind, status in (
        ("ResourcesApplied", "True"),
        ("ResourcesHealthy", "True"),
        ("ResourcesProgressing", "False"),
    )
]


async def each(names_: list[str], work: Callable[[str], Awaitable[None]]) -> None:
    rest = iter(names_)

    async def worker() -> None:
        for name in rest:
            await work(name)

    async with asyncio.TaskGroup() as group:
        for _ in range(WORKERS):
            group.create_task(worker())


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
        await each(names(task.objects), bare.apply)
        meter.mark("applied")
        await asyncio.to_thread(sys.stdin.readline)
        meter.mark("deleting")
        await each(names(task.objects), bare.delete)
        meter.mark("done")


if __name__ == "__main__":
    uvloop.run(main(meter.task()))
