"""What the store costs without a network: 10,000 Deployments listed, 20,000 events.

    python bench/store_micro.py [--objects N] [--events N]

Compares, each in a process of its own, the store (streaming list and pages) with a loop that
keeps the dicts orjson decodes. Prints CPU seconds, memory per object and the longest full
collection, as a table and as one JSON line. The bars: CPU at most that of the dict loop, memory
at most a third, 3.2 kB per object, pauses of at most 10 ms.
"""

import argparse
import asyncio
import gc
import json
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from certwright.client import Client, Request, Response
from certwright.kube.identity import Key
from certwright.kube.kinds import Deployment
from certwright.runtime.cache import Cache
from certwright.runtime.memory import settle_memory
from certwright.runtime.queue import Queue

CHUNK = 128 * 1024
PAGE = 500


def deployment(number: int, version: int) -> dict[str, Any]:
    """Return a Deployment as a cluster serves it: 3.4 kB of JSON, two managers."""
    name = f"web-{number:05d}"
    labels = {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": "shop", "tier": "front"}
    probe = {
        "httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"},
        "periodSeconds": 10,
        "timeoutSeconds": 1,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    container = {
        "name": "web",
        "image": f"registry.example.com/shop/web:1.{version % 40}.0",
        "args": ["--listen=:8080", f"--shard={number}", "--log-format=json"],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [
            {"name": "SHOP_REGION", "value": "eu-central-1"},
            {"name": "SHOP_CURRENCY", "value": "EUR"},
            {
                "name": "DB_PASSWORD",
                "valueFrom": {"secretKeyRef": {"name": "shop-db", "key": "password"}},
            },
        ],
        "resources": {
            "limits": {"cpu": "500m", "memory": "256Mi"},
            "requests": {"cpu": "100m", "memory": "128Mi"},
        },
        "volumeMounts": [{"name": "tls", "mountPath": "/etc/tls", "readOnly": True}],
        "livenessProbe": probe,
        "readinessProbe": probe,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        "securityContext": {"runAsNonRoot": True, "allowPrivilegeEscalation": False},
    }
    condition = {
        "lastUpdateTime": "2026-11-02T10:11:12Z",
        "lastTransitionTime": "2026-11-02T10:11:12Z",
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": name,
            "namespace": f"team-{number % 20}",
            "uid": f"6f1c2d3e-0000-4000-8000-{number:012d}",
            "resourceVersion": str(version),
            "generation": 3,
            "creationTimestamp": "2026-11-01T09:08:07Z",
            "labels": labels,
            "annotations": {"deployment.kubernetes.io/revision": "3"},
            "managedFields": [
                {
                    "manager": "kubectl-client-side-apply",
                    "operation": "Update",
                    "apiVersion": "apps/v1",
                    "time": "2026-11-01T09:08:07Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:metadata": {"f:labels": {".": {}, "f:app.kubernetes.io/name": {}}},
                        "f:spec": {
                            "f:replicas": {},
                            "f:selector": {},
                            "f:template": {
                                "f:spec": {
                                    "f:containers": {
                                        'k:{"name":"web"}': {
                                            ".": {}, "f:args": {}, "f:env": {}, "f:image": {},
                                            "f:livenessProbe": {}, "f:name": {}, "f:ports": {},
                                            "f:readinessProbe": {}, "f:volumeMounts": {},
                                        }
                                    }
                                }
                            },
                        },
                    },
                },
                {
                    "manager": "kube-controller-manager",
                    "operation": "Update",
                    "apiVersion": "apps/v1",
                    "time": "2026-11-02T10:11:12Z",
                    "fieldsType": "FieldsV1",
                    "fieldsV1": {
                        "f:metadata": {
                            "f:annotations": {".": {}, "f:deployment.kubernetes.io/revision": {}}
                        },
                        "f:status": {
                            "f:availableReplicas": {}, "f:observedGeneration": {}, "f:replicas": {},
                            "f:conditions": {".": {}, 'k:{"type":"Available"}': {".": {}}},
                        },
                    },
                    "subresource": "status",
                },
            ],
        },
        "spec": {
            "replicas": 3,
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
            "selector": {"matchLabels": {"app.kubernetes.io/name": name}},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
            },
            "template": {
                "metadata": {"labels": labels, "creationTimestamp": None},
                "spec": {
                    "containers": [container],
                    "volumes": [
                        {"name": "tls", "secret": {"secretName": f"{name}-tls", "defaultMode": 420}}
                    ],
                    "serviceAccountName": "web",
                    "restartPolicy": "Always",
                    "terminationGracePeriodSeconds": 30,
                    "dnsPolicy": "ClusterFirst",
                    "schedulerName": "default-scheduler",
                    "securityContext": {},
                },
            },
        },
        "status": {
            "observedGeneration": 3,
            "replicas": 3,
            "updatedReplicas": 3,
            "readyReplicas": 3,
            "availableReplicas": 3,
            "conditions": [
                {"type": "Available", "reason": "MinimumReplicasAvailable", **condition},
                {"type": "Progressing", "reason": "NewReplicaSetAvailable", **condition},
            ],
        },
    }  # fmt: skip


def event(kind: str, obj: dict[str, Any]) -> bytes:
    return orjson.dumps({"type": kind, "object": obj}) + b"\n"


def bookmark(version: int, *, end_of_list: bool) -> bytes:
    metadata: dict[str, Any] = {"resourceVersion": str(version)}
    if end_of_list:
        metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
    return event("BOOKMARK", {"kind": "Deployment", "apiVersion": "apps/v1", "metadata": metadata})


def record(folder: Path, objects: int, events: int) -> None:
    """Write what a server would send into files, so that no run pays for making it up."""
    with (folder / "list").open("wb") as file:
        for n in range(objects):
            file.write(event("ADDED", deployment(n, 1000 + n)))
        file.write(bookmark(1000 + objects, end_of_list=True))
    with (folder / "events").open("wb") as file:
        for n in range(events):
            file.write(event("MODIFIED", deployment(n % objects, 1001 + objects + n)))
        file.write(bookmark(1001 + objects + events, end_of_list=False))
    for first in range(0, objects, PAGE):
        last = min(first + PAGE, objects)
        metadata = {"resourceVersion": str(1000 + objects)}
        if last < objects:
            metadata["continue"] = str(last)
        items = [deployment(n, 1000 + n) for n in range(first, last)]
        for item in items:
            del item["kind"], item["apiVersion"]
        page = {"kind": "DeploymentList", "apiVersion": "apps/v1", "metadata": metadata}
        (folder / f"page-{first}").write_bytes(orjson.dumps({**page, "items": items}))


def chunks(file: Path) -> Iterator[bytes]:
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            yield chunk


class Recorded:
    """A transport that plays the recording; as its own stream it needs no second class."""

    headers: dict[str, str] = {}  # noqa: RUF012

    def __init__(self, folder: Path, *, paged: bool) -> None:
        self.folder = folder
        self.paged = paged
        self.status = 200
        self.cpu: list[float] = []
        self.finished = asyncio.Event()

    async def send(self, request: Request) -> Response:
        first = dict(request.query).get("continue", "0")
        return Response(200, {}, (self.folder / f"page-{first}").read_bytes())

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator["Recorded"]:
        self.listing = ("sendInitialEvents", "true") in request.query
        self.status = 400 if self.paged and self.listing else 200
        yield self

    async def chunks(self) -> AsyncIterator[bytes]:
        if self.status == 400:
            yield b'{"kind":"Status","code":400,"reason":"BadRequest","message":"no"}'
            return
        if self.listing:
            for chunk in chunks(self.folder / "list"):
                yield chunk
        self.cpu.append(time.process_time())
        for chunk in chunks(self.folder / "events"):
            yield chunk
            await asyncio.sleep(0)  # a socket would make the reader wait, too
        self.cpu.append(time.process_time())
        self.finished.set()
        await asyncio.Event().wait()

    async def close(self) -> None:
        pass


def resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * 4096


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def full_collection() -> float:
    """Return the longest of a few full collections, in milliseconds."""
    pauses = []
    for _ in range(5):
        started = time.perf_counter()
        gc.collect()
        pauses.append(time.perf_counter() - started)
    return max(pauses) * 1000


class Stall:
    """The longest time the event loop did not come round."""

    longest_ms = 0.0

    async def watch(self) -> None:
        while True:
            before = time.perf_counter()
            await asyncio.sleep(0)
            self.longest_ms = max(self.longest_ms, (time.perf_counter() - before) * 1000)


def measure_dicts(folder: Path) -> dict[str, float]:
    """Keep the dicts orjson decodes: what a bare loop would do."""
    objects: dict[tuple[str, str], Any] = {}
    cpu = [time.process_time()]
    before = resident()
    for name in ("list", "events"):
        held = b""
        for chunk in chunks(folder / name):
            *lines, held = (held + chunk).split(b"\n")
            for line in lines:
                obj = orjson.loads(line)["object"]
                meta = obj["metadata"]
                if "name" in meta:
                    objects[meta["namespace"], meta["name"]] = obj
        cpu.append(time.process_time())
    return {
        "list_s": cpu[1] - cpu[0],
        "watch_s": cpu[2] - cpu[1],
        "bytes_per_object": (resident() - before) / len(objects),
        "peak_mb": peak() / 2**20,
        "gc_ms": full_collection(),
    }


async def measure_store(folder: Path, *, paged: bool, queued: bool) -> dict[str, float]:
    """Fill a store; when *queued* with two indexes, a queue and a worker that does nothing."""
    transport = Recorded(folder, paged=paged)
    cache = Cache(Client(transport))
    handle = cache.store(Deployment)
    stall = Stall()
    before = resident()
    start = time.process_time()
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(cache.run()), group.create_task(stall.watch())]
        if queued:
            queue: Queue[Key] = Queue()
            handle.store.by_namespace("")
            handle.store.by_label("app.kubernetes.io/name", "")
            handle.listen(lambda old, new: queue.add((new or old).key))  # type: ignore[union-attr]
            tasks.append(group.create_task(work(queue)))
        await transport.finished.wait()
        for task in tasks:
            task.cancel()
    count = len(handle.store)
    figures = {
        "list_s": transport.cpu[0] - start,
        "watch_s": transport.cpu[1] - transport.cpu[0],
        "bytes_per_object": (resident() - before) / count,
        "peak_mb": peak() / 2**20,
        "stall_ms": stall.longest_ms,
        "gc_ms": full_collection(),
    }
    settle_memory()
    figures["settled_bytes_per_object"] = (resident() - before) / count
    figures["settled_gc_ms"] = full_collection()
    return figures


async def work(queue: Queue[Key]) -> None:
    while True:
        queue.done(await queue.get())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    match options.run:
        case "dicts":
            print(json.dumps(measure_dicts(options.folder)))
        case "stream" | "pages" | "queued":
            paged, queued = options.run == "pages", options.run == "queued"
            run = measure_store(options.folder, paged=paged, queued=queued)
            print(json.dumps(asyncio.run(run)))
        case _:
            compare(options.objects, options.events)


def compare(objects: int, events: int) -> None:
    size = len(orjson.dumps(deployment(1, 1001)))
    python = platform.python_version()
    print(f"{objects} Deployments of {size} bytes, {events} events, Python {python}")
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        record(Path(folder), objects, events)
        for run in ("dicts", "stream", "pages", "queued"):
            command = [sys.executable, __file__, "--run", run, "--folder", folder]
            done = subprocess.run(command, capture_output=True, check=True)
            results[run] = json.loads(done.stdout.splitlines()[-1])
    names = list(results["queued"])
    print(f"{'':26}" + "".join(f"{run:>10}" for run in results))
    for name in names:
        row = (results[run].get(name) for run in results)
        print(f"{name:26}" + "".join(f"{'-' if v is None else f'{v:.3f}':>10}" for v in row))
    print(json.dumps({"objects": objects, "events": events, "bytes": size, **results}))


if __name__ == "__main__":
    main()
