"""The health of the objects of a kept set, from what the stores hold.

Objects that do not carry our label are not in the stores: those created once and left alone,
and those another program put into the inventory. They are read from the server, at most once
per period. So are the pods of Deployments whose template does not carry it.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson
from msgspec.structs import replace

from certwright.apply import Live, ObjectRef
from certwright.apply.engine.blockers import lasting_events_text
from certwright.apply.health import Health, Verdict, check_health, check_progress, missing
from certwright.apply.health.verdicts import check_failed
from certwright.client import Selection, TransportError, request
from certwright.client.responses import to_page
from certwright.clock import Clock
from certwright.keep.cluster import Access
from certwright.keep.stores import TargetStores
from certwright.kube import ApiError, JsonObject, Key, LabelSelector, NotFound, Resource
from certwright.kube.kinds import CoreEvent, Deployment, Pod
from certwright.kube.rawjson import is_deep, shallow
from certwright.runtime import BadObject, Entry

MOST_SERVICES: Final = 5
"""For how many Services events are asked for."""
MOST_EVENTS: Final = 100
"""How many events about one of them are looked at."""
OBJECTS_PER_TURN: Final = 50
"""How many objects are judged before the rest of the event loop has a turn."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """How all objects of a set are, in the order of its inventory."""

    health: tuple[Verdict, ...] = ()
    progress: tuple[Verdict, ...] = ()

    def counts(self) -> Counter[Health]:
        """Return how many objects are in which state; the worse of two verdicts counts."""
        return Counter(
            progress.health if health else health.health
            for health, progress in zip(self.health, self.progress, strict=True)
        )

    @property
    def failed(self) -> bool:
        """Whether an object could not be judged, so that another attempt may tell more."""
        return any(verdict.health is Health.ERROR for verdict in self.health)

    def missing(self) -> list[ObjectRef]:
        """Return the objects that are not there."""
        return [verdict.ref for verdict in self.health if verdict.health is Health.MISSING]


@dataclass(slots=True)
class Unwatched:
    """What was last read that no watch tells about."""

    read_at: float
    lives: dict[ObjectRef, JsonObject | None] = field(default_factory=dict)
    warnings: dict[ObjectRef, str] = field(default_factory=dict)
    """Events about Services that are not as they should be."""
    pods: dict[ObjectRef, list[JsonObject]] = field(default_factory=dict)
    """The pods that Deployments select, where these do not carry our label."""


class HealthChecks:
    """Judges objects of the target cluster, by what *access* lets see."""

    def __init__(
        self, stores: TargetStores, clock: Clock, period_seconds: float, access: Access
    ) -> None:
        self._stores = stores
        self._access = access
        self._clock = clock
        self._period = period_seconds

    async def judge(
        self,
        refs: Sequence[ObjectRef],
        unwatched: Unwatched | None,
        known: Mapping[ObjectRef, Live] | None = None,
    ) -> tuple[Judgement, Unwatched | None]:
        """Judge objects; *known* are states that were just seen and are in no store.

        Returns besides what was read that is not watched, for the next time.
        """
        now = self._clock.monotonic()
        if unwatched is None or now - unwatched.read_at >= self._period:
            unwatched = Unwatched(now)
        unwatched.lives |= {ref: live.obj for ref, live in (known or {}).items()}
        health: list[Verdict] = []
        progress: list[Verdict] = []
        for number, ref in enumerate(refs, start=1):
            verdicts = await self._judge(ref, unwatched)
            health.append(verdicts[0])
            progress.append(verdicts[1])
            if not number % OBJECTS_PER_TURN:
                await asyncio.sleep(0)
        if unwatched.lives:
            judged = set(refs)
            unwatched.lives = {ref: o for ref, o in unwatched.lives.items() if ref in judged}
        await self._add_warnings(health, unwatched)
        kept = unwatched.lives or unwatched.warnings or unwatched.pods
        return Judgement(tuple(health), tuple(progress)), unwatched if kept else None

    async def _add_warnings(self, health: list[Verdict], unwatched: Unwatched) -> None:
        """Append to what is said about Services what others say about them."""
        ill = [n for n, verdict in enumerate(health) if _is_ill_service(verdict)][:MOST_SERVICES]
        read, unwatched.warnings = unwatched.warnings, {}
        for number in ill:
            verdict = health[number]
            told = read[verdict.ref] if verdict.ref in read else await self._warnings(verdict.ref)
            unwatched.warnings[verdict.ref] = told
            health[number] = replace(verdict, message=verdict.message + told)

    async def _warnings(self, ref: ObjectRef) -> str:
        """Return the latest warnings about an object as a block to append to a message."""
        about = f"involvedObject.kind={ref.kind},involvedObject.name={ref.name},type=Warning"
        where = Selection(ref.namespace, fields=about)
        asked = request.list_page(CoreEvent, where, limit=MOST_EVENTS)
        try:
            answer = await self._access.client.send(asked)
        except (ApiError, TransportError):
            return ""  # they may not be read, or not now
        items = [shallow(bytes(item)) for item in to_page(asked, answer.body).items]
        events = [orjson.loads(item) for item in items if not is_deep(item)]
        text = lasting_events_text(events)
        return f"\n\n{text}" if text else ""

    async def _judge(self, ref: ObjectRef, unwatched: Unwatched) -> tuple[Verdict, Verdict]:
        """Return how an object is and whether it has arrived; what is missing moves nowhere."""
        done = Verdict(ref, Health.HEALTHY)
        try:
            resource = await self._stores.resource(ref.gvk)
            obj = await self._find(resource, ref, unwatched)
        except (NotFound, ValueError) as error:
            return missing(ref, str(error)), done
        except (ApiError, TransportError, BadObject) as error:
            return check_failed(ref, str(error)), done
        if obj is None:
            return missing(ref), done
        try:
            pods = await self._pods(ref, obj, unwatched) if resource == Deployment else None
            return _of(ref, check_health(obj)), _of(ref, check_progress(obj, pods))
        except (ApiError, TransportError, ValueError, RecursionError) as error:
            return check_failed(ref, str(error)), done

    async def _find(
        self, resource: Resource, ref: ObjectRef, unwatched: Unwatched
    ) -> JsonObject | None:
        if self._access.guarded:
            await self._access.check(resource, ref.key)
        store = await self._stores.open(resource, ref.namespace)
        entry = store.get(ref.key)
        if entry is not None:
            return entry.obj()
        if ref not in unwatched.lives:
            unwatched.lives[ref] = await self._read(resource, ref)
        return unwatched.lives[ref]

    async def _read(self, resource: Resource, ref: ObjectRef) -> JsonObject | None:
        try:
            answer = await self._access.client.send(request.get(resource, ref.key))
        except NotFound:
            return None
        return Live.of(orjson.loads(answer.body)).obj

    async def _pods(
        self, ref: ObjectRef, deployment: JsonObject, unwatched: Unwatched
    ) -> list[JsonObject]:
        """Return the pods a Deployment selects: from the store if they are to carry our label."""
        spec: JsonObject = deployment.get("spec") or {}
        selector = LabelSelector.from_spec(spec.get("selector"))
        await self._access.check(Pod, Key(ref.namespace, ""), "list")
        if self._stores.selects(_template_labels(spec)):
            pods = await self._stores.pods(ref.namespace)
            return _objects(pod for pod in pods if selector.matches(pod.meta.labels))
        if ref not in unwatched.pods:
            unwatched.pods[ref] = await self._list_pods(Selection(ref.namespace, str(selector)))
        return unwatched.pods[ref]

    async def _list_pods(self, which: Selection) -> list[JsonObject]:
        found: list[JsonObject] = []
        async for page in self._access.client.pages(Pod, which):
            found += (_pod_state(orjson.loads(memoryview(item))) for item in page.items)
        return found


def _template_labels(spec: JsonObject) -> JsonObject:
    metadata = (spec.get("template") or {}).get("metadata") or {}
    return metadata.get("labels") or {}


def _pod_state(pod: JsonObject) -> JsonObject:
    """Return the parts of a pod that decide whether it counts."""
    metadata = {name: pod["metadata"].get(name) for name in ("namespace", "labels")}
    status: JsonObject = pod.get("status") or {}
    told = {name: status.get(name) for name in ("phase", "reason", "conditions")}
    return {"metadata": metadata, "status": told}


def _is_ill_service(verdict: Verdict) -> bool:
    place = (verdict.ref.api_version, verdict.ref.kind)
    return verdict.health is Health.UNHEALTHY and place == ("v1", "Service")


def _objects(entries: Iterable[Entry]) -> list[JsonObject]:
    return [entry.obj() for entry in entries]


def _of(ref: ObjectRef, verdict: Verdict) -> Verdict:
    """Return a verdict about the object as the inventory names it."""
    return Verdict(ref, verdict.health, verdict.reason, verdict.message)
