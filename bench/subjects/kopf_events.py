"""kopf with one handler for raw events, which does nothing or keeps the object."""

import itertools
from typing import Any

import kopf

from bench import meter
from bench.subjects import kopf_operator

TASK = meter.task()
COUNT = itertools.count(1)
objects: dict[tuple[str, str], Any] = {}


@kopf.on.login()
def login(**_: Any) -> kopf.ConnectionInfo:
    return kopf.ConnectionInfo(server=TASK.server)


@kopf.on.event("apps", "v1", "deployments")
async def on_event(event: Any, namespace: str, name: str, **_: Any) -> None:
    if TASK.keep:
        objects[namespace, name] = event["object"]
    handled = next(COUNT)
    if handled == TASK.objects + TASK.events:
        meter.mark("done", tidy=True, gc_ms=meter.full_collection_ms(), count=len(objects))
    elif handled == TASK.objects:
        meter.mark("listed", release=TASK.objects, tidy=True)
    elif handled % TASK.objects == 0:
        meter.mark("round", release=TASK.objects)


if __name__ == "__main__":
    meter.start()
    kopf_operator.run()
