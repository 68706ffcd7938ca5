"""Each object of an installation edited, added to and deleted in turn, and how long each lasts."""

import asyncio
import copy
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from bench.suite.drift import ObjectPlace, ObjectWatcher, Repairs
from certwright.apply import ObjectRef
from certwright.client import Client
from certwright.kube import JsonObject
from certwright.kube.kinds import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from certwright.operators.certmanager.engine.observed import ca_bundles
from certwright.runtime import Cache, Entry

MOST_SECONDS = 30.0
"""When a repair counts as missing."""
GOING_SECONDS = 60.0
"""When a deletion counts as stuck: a definition goes only after the server has looked for objects
of its kind, and until then nothing can take its place. It has a bar of its own, below this."""
WORD = "disturbed"
REGISTRATIONS = (ValidatingWebhookConfiguration, MutatingWebhookConfiguration)

Change = Callable[[Any], None]


def _nothing(_obj: Any) -> None:
    """Add nothing: all that can be added to a ServiceAccount is left to others."""


def _deployment(obj: Any) -> None:
    obj["spec"]["template"]["spec"]["containers"][0]["image"] = f"{WORD}:0"


def _more_deployment(obj: Any) -> None:
    container = obj["spec"]["template"]["spec"]["containers"][0]
    container["env"] = [*container.get("env", ()), {"name": "MORE", "value": WORD}]


def _rules(obj: Any) -> None:
    obj["rules"][0]["verbs"] = [WORD]


def _more_rules(obj: Any) -> None:
    obj["rules"].append({"apiGroups": [WORD], "resources": [WORD], "verbs": ["get"]})


def _subjects(obj: Any) -> None:
    obj["subjects"][0]["name"] = WORD


def _more_subjects(obj: Any) -> None:
    obj["subjects"].append({"kind": "User", "name": WORD, "apiGroup": "rbac.authorization.k8s.io"})


def _service(obj: Any) -> None:
    obj["spec"]["selector"][min(obj["spec"]["selector"])] = WORD


def _more_service(obj: Any) -> None:
    obj["spec"]["selector"]["more"] = WORD


def _account(obj: Any) -> None:
    obj["metadata"]["labels"]["app"] = WORD


def _registration(obj: Any) -> None:
    obj["webhooks"][0]["clientConfig"]["service"]["path"] = f"/{WORD}"


def _more_registration(obj: Any) -> None:
    obj["webhooks"][0]["objectSelector"] = {"matchLabels": {"more": WORD}}


def _definition(obj: Any) -> None:
    obj["spec"]["versions"][0]["additionalPrinterColumns"][0]["description"] = WORD


def _more_definition(obj: Any) -> None:
    column = {"name": "More", "type": "string", "jsonPath": ".metadata.name", "description": WORD}
    obj["spec"]["versions"][0]["additionalPrinterColumns"].append(column)


DISTURBANCES: dict[str, tuple[Change, Change]] = {
    "Deployment": (_deployment, _more_deployment),
    "Role": (_rules, _more_rules),
    "ClusterRole": (_rules, _more_rules),
    "RoleBinding": (_subjects, _more_subjects),
    "ClusterRoleBinding": (_subjects, _more_subjects),
    "Service": (_service, _more_service),
    "ServiceAccount": (_account, _nothing),
    "ValidatingWebhookConfiguration": (_registration, _more_registration),
    "MutatingWebhookConfiguration": (_registration, _more_registration),
    "CustomResourceDefinition": (_definition, _more_definition),
}
"""How an object of a kind is edited, and what is added to it."""


@dataclass
class InstallRepairs(Repairs):
    """How long repairs took, and what was not as it should be meanwhile."""

    missing: list[str] = field(default_factory=list)
    """What was not repaired."""
    stuck: list[str] = field(default_factory=list)
    """What the server did not delete, so that there was nothing to repair: a bar is missed."""
    longest_going: float = 0.0
    """How many seconds the server took at most to delete an object."""
    slowest: dict[str, float] = field(default_factory=dict)
    """The longest repair, by what was done to which kind."""
    empty: list[str] = field(default_factory=list)
    """Registrations that were seen without a CA."""


async def disturb_installation(
    client: Client, refs: Iterable[ObjectRef], works: Callable[[], Awaitable[None]]
) -> InstallRepairs:
    """Edit, add to and delete each object, one after the other; namespaces are left alone.

    *works* waits until certificates can be issued again: while the webhook does not answer, a
    registration that is gone stays away on purpose, for it would block writes.
    """
    repairs, watcher, cache = InstallRepairs(), ObjectWatcher(), Cache(client)
    chosen = [ref for ref in refs if ref.kind in DISTURBANCES]
    kinds = {ref.gvk: await client.discovery.resource_for(ref.gvk) for ref in chosen}

    def watch_authorities(_old: Entry | None, new: Entry | None) -> None:
        if new is not None and "" in (ca_bundles([new.obj()]) or [""]):
            repairs.empty.append(str(new.key))

    async with asyncio.TaskGroup() as group:
        for kind in kinds.values():
            store = cache.store(kind)
            store.listen(watcher.listener(kind))
            if kind in REGISTRATIONS:
                store.listen(watch_authorities)
        watching = group.create_task(cache.run())
        await cache.wait_synced()
        for number, done in enumerate(("edited", "added to", "deleted")):
            for ref in chosen:
                if number == 1 and DISTURBANCES[ref.kind][1] is _nothing:
                    continue
                await works()
                place = ObjectPlace(kinds[ref.gvk], ref.key)
                if number == 2 and not await _goes(client, watcher, place, repairs):
                    repairs.stuck.append(f"{ref} {done}")
                    continue
                seconds = await _lasts(client, watcher, place, number)
                if seconds is None:
                    repairs.missing.append(f"{ref} {done}")
                    continue
                repairs.seconds.append(seconds)
                about = f"{ref.kind} {done}"
                repairs.slowest[about] = max(seconds, repairs.slowest.get(about, 0.0))
        watching.cancel()
    return repairs


async def _goes(
    client: Client, watcher: ObjectWatcher, place: ObjectPlace, repairs: InstallRepairs
) -> bool:
    """Delete an object; return whether it went in time."""
    clock = asyncio.get_running_loop().time
    began = clock()
    await client.delete(place.resource, place.key)
    try:
        async with asyncio.timeout(GOING_SECONDS):
            await watcher.goes(place, began)
    except TimeoutError:
        repairs.longest_going = GOING_SECONDS
        return False
    repairs.longest_going = max(repairs.longest_going, watcher.gone[place] - began)
    return True


async def _lasts(
    client: Client, watcher: ObjectWatcher, place: ObjectPlace, number: int
) -> float | None:
    """Return how many seconds a disturbance lasts, None if too long; one of an edit begins here."""
    clock = asyncio.get_running_loop().time
    began, version = watcher.gone.get(place, 0.0), "0"
    if number < 2:
        before = await client.get(place.resource, place.key)
        patched = await client.patch(place.resource, place.key, _change(before, number))
        version = str(patched["metadata"]["resourceVersion"])
        began = clock()
    try:
        async with asyncio.timeout(MOST_SECONDS):
            await watcher.differs(place, version)
    except TimeoutError:
        return None
    return clock() - began


def _change(before: JsonObject, number: int) -> JsonObject:
    """Return a merge patch that does to an object what is done to its kind."""
    changed = copy.deepcopy(before)
    DISTURBANCES[str(before["kind"])][number](changed)
    labels = changed["metadata"].get("labels")
    parts = {
        name: part
        for name, part in changed.items()
        if name not in {"metadata", "status", "kind", "apiVersion"}
    }
    return {**parts, "metadata": {"labels": labels}}
