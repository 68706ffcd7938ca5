"""Workloads that consume two Secrets each, and the renewal of all Secrets at once."""

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial

from certwright.client import Client, Selection
from certwright.kube import JsonObject, Key
from certwright.kube.kinds import Deployment, Secret
from certwright.operators.rollout.dialects.certwright import RESTART
from certwright.operators.rollout.policy import DIGEST
from certwright.runtime import Cache, Entry

WORKLOADS = 1_000
SECRETS_EACH = 2
WINDOW_SECONDS = 5.0
NAMESPACE = "default"
AT_ONCE = 50
USERS = "kubectl"
"""Who writes workloads and Secrets: not the client of the operator, which keeps its own fields."""
MARKS = ("bench.certwright.dev/digest", DIGEST)
"""Annotations of a template that show a restart, of the bare loop and of ours."""


def workload_name(number: int) -> str:
    return f"web-{number:04d}"


def secret_name(number: int, which: int) -> str:
    return f"web-{number:04d}-{which}"


def secret(number: int, which: int, value: str) -> JsonObject:
    """Return one of the Secrets of a workload."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": NAMESPACE, "name": secret_name(number, which)},
        "data": contents(number, which, value),
    }


def contents(number: int, which: int, value: str) -> dict[str, str]:
    """Return data as large as a certificate and its key."""
    text = f"{number} {which} {value} ".ljust(1500, "x")
    return {"a.crt": b64encode(text.encode()).decode(), "a.key": b64encode(text.encode()).decode()}


def deployment(number: int) -> JsonObject:
    """Return a workload that mounts its Secrets."""
    name, app = workload_name(number), {"app": workload_name(number)}
    names = [secret_name(number, which) for which in range(SECRETS_EACH)]
    volumes = [{"name": one, "secret": {"secretName": one}} for one in names]
    mounts = [{"name": one, "mountPath": f"/etc/{one}"} for one in names]
    container = {"name": "main", "image": "app", "volumeMounts": mounts}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": NAMESPACE, "name": name, "annotations": {RESTART: "true"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": app},
            "template": {
                "metadata": {"labels": app},
                "spec": {"containers": [container], "volumes": volumes},
            },
        },
    }


async def all_of(calls: Iterable[Callable[[], Awaitable[object]]]) -> None:
    """Make calls, some of them at a time."""
    waiting = list(calls)

    async def work() -> None:
        while waiting:
            await waiting.pop(0)()

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())


async def create(client: Client, numbers: range = range(WORKLOADS)) -> None:
    """Create workloads, all by default, and their Secrets."""
    each = [(number, which) for number in numbers for which in range(SECRETS_EACH)]
    for made in ([secret(*one, "first") for one in each], [deployment(n) for n in numbers]):
        await all_of(partial(client.create, obj, field_manager=USERS) for obj in made)


async def renew(client: Client, value: str, renewed: dict[str, float]) -> None:
    """Renew all Secrets; note when the last one of each workload was written."""
    clock = asyncio.get_running_loop().time

    async def one(number: int, which: int) -> None:
        key = Key(NAMESPACE, secret_name(number, which))
        change = {"data": contents(number, which, value)}
        await client.patch(Secret, key, change, field_manager=USERS)
        renewed[workload_name(number)] = clock()

    each = [(number, which) for number in range(WORKLOADS) for which in range(SECRETS_EACH)]
    await all_of(partial(one, *pair) for pair in each)


async def delete(client: Client) -> None:
    """Delete all workloads and Secrets, so that the next subject finds them new."""
    await client.delete_collection(Deployment, Selection(NAMESPACE))
    await client.delete_collection(Secret, Selection(NAMESPACE))


@dataclass
class RestartWitness:
    """Sees restarts by a watch of its own."""

    seen: dict[str, list[float]] = field(default_factory=dict)
    recorded: set[str] = field(default_factory=set)
    _marks: dict[str, str] = field(default_factory=dict)

    def on_change(self, _: Entry | None, new: Entry | None) -> None:
        """Note a workload whose template has another mark than before."""
        if new is None:
            return
        obj = new.obj()
        annotations = obj["spec"]["template"]["metadata"].get("annotations") or {}
        mark = next((annotations[name] for name in MARKS if name in annotations), "")
        if mark and self._marks.get(new.key.name) != mark:
            self._marks[new.key.name] = mark
            moment = asyncio.get_running_loop().time()
            self.seen.setdefault(new.key.name, []).append(moment)
        if any("consumed" in name for name in new.annotations):
            self.recorded.add(new.key.name)

    async def sees(self, number: int) -> None:
        """Return when so many workloads have been restarted."""
        while len(self.seen) < number:
            await asyncio.sleep(0.01)


async def watch(client: Client, witness: RestartWitness) -> Cache:
    """Return a cache, to be run, that shows Deployments to a witness."""
    cache = Cache(client)
    cache.store(Deployment, namespace=NAMESPACE).listen(witness.on_change)
    return cache
