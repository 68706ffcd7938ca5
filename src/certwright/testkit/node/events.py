"""Events of pods, as kubelet and the scheduler write them: one object per message, with a count."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import uuid4

from certwright.client import Client, TransportError
from certwright.clock import Clock
from certwright.kube import ApiError, JsonObject, Key, NotFound, format_time
from certwright.kube.kinds import CoreEvent

_MOST_REMEMBERED: Final = 4096
_LONGEST_MESSAGE: Final = 1024


@dataclass(frozen=True, slots=True)
class PodEvent:
    """Something that happened to a pod, or to one of its containers."""

    type: str
    reason: str
    message: str
    field_path: str = ""
    """Such as ``spec.containers{main}``."""
    component: str = "kubelet"


def event_object(
    pod: JsonObject, event: PodEvent, node: str, name: str, now: datetime
) -> JsonObject:
    """Return the object of a new event."""
    metadata = pod["metadata"]
    involved: JsonObject = {
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "resourceVersion": metadata.get("resourceVersion", ""),
    }
    if event.field_path:
        involved["fieldPath"] = event.field_path
    source = {"component": event.component}
    if event.component == "kubelet":
        source["host"] = node
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": metadata["namespace"], "name": name},
        "involvedObject": involved,
        "type": event.type,
        "reason": event.reason,
        "message": event.message[:_LONGEST_MESSAGE],
        "source": source,
        "reportingComponent": event.component,
        "reportingInstance": node if event.component == "kubelet" else "",
        "firstTimestamp": format_time(now),
        "lastTimestamp": format_time(now),
        "count": 1,
    }


@dataclass(slots=True)
class _Written:
    key: Key
    count: int


class PodEvents:
    """Writes events one after the other; what cannot be written is dropped."""

    def __init__(self, client: Client, node: str, clock: Clock) -> None:
        self._client = client
        self._node = node
        self._clock = clock
        self._queue: asyncio.Queue[tuple[JsonObject, PodEvent, datetime]] = asyncio.Queue()
        self._written: dict[tuple[str, PodEvent], _Written] = {}

    def record(self, pod: JsonObject, event: PodEvent) -> None:
        """Note an event; it is written soon."""
        self._queue.put_nowait((pod, event, self._clock.now()))

    async def run(self) -> None:
        """Write events until cancelled."""
        while True:
            pod, event, now = await self._queue.get()
            try:
                await self._write(pod, event, now)
            except (ApiError, TransportError):
                continue  # its namespace may be gone; an event is not worth a retry
            finally:
                self._queue.task_done()

    async def flush(self) -> None:
        """Return when all events so far are written."""
        await self._queue.join()

    async def _write(self, pod: JsonObject, event: PodEvent, now: datetime) -> None:
        topic = (pod["metadata"]["uid"], event)
        written = self._written.get(topic)
        if written is not None:
            written.count += 1
            patch: Mapping[str, object] = {
                "count": written.count,
                "lastTimestamp": format_time(now),
            }
            try:
                await self._client.patch(CoreEvent, written.key, dict(patch))
            except NotFound:
                del self._written[topic]
            else:
                return
        if len(self._written) >= _MOST_REMEMBERED:
            self._written.clear()
        metadata = pod["metadata"]
        name = f"{metadata['name'][:200]}.{uuid4().hex[:16]}"
        await self._client.create(event_object(pod, event, self._node, name, now))
        self._written[topic] = _Written(Key(metadata["namespace"], name), 1)
