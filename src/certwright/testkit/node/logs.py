"""Logs of containers, as ``kubectl logs`` asks for them."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Final

from certwright.apiserver.verbs.logs import LogOptions
from certwright.kube import BadRequest, JsonObject, NotFound
from certwright.testkit.node.pod.facts import all_containers
from certwright.testkit.node.worker import PodWorker

_FOLLOW_SECONDS: Final = 0.1


class NodeLogs:
    """Finds and reads the logs of the pods of a node."""

    def __init__(self, workers: Mapping[str, PodWorker]) -> None:
        self._workers = workers

    def read(self, pod: JsonObject, container: str, options: LogOptions) -> bytes:
        """Return the log of a container; `BadRequest` if it has none yet, `NotFound` if never."""
        return options.cut(self._file(pod, container, options).read_bytes())

    async def follow(
        self, pod: JsonObject, container: str, options: LogOptions
    ) -> AsyncIterator[bytes]:
        """Yield the log of a container as it grows, until its run ends."""
        path = self._file(pod, container, options)
        worker = self._workers[pod["metadata"]["uid"]]
        runs = _runs(worker, container)
        number = worker.facts.containers[container].starts
        content = path.read_bytes()
        position = len(content)
        yield options.cut(content)
        while runs() and worker.facts.containers[container].starts == number:
            await asyncio.sleep(_FOLLOW_SECONDS)
            if more := _from(path, position):
                position += len(more)
                yield more
        if more := _from(path, position):
            yield more

    def _file(self, pod: JsonObject, container: str, options: LogOptions) -> Path:
        name = pod["metadata"]["name"]
        worker = self._workers.get(pod["metadata"]["uid"])
        if worker is None:
            raise NotFound(f'pod "{name}" does not run on this node any more')
        if all(one["name"] != container for one in all_containers(pod)):
            raise NotFound(f'container "{container}" not found in pod "{name}"')
        path = worker.log(container, previous=options.previous)
        if path is not None and path.exists():
            return path
        if options.previous:
            why = f'previous terminated container "{container}" in pod "{name}" not found'
            raise BadRequest(why)
        waiting = worker.facts.containers[container].waiting
        reason = waiting.reason if waiting else "ContainerCreating"
        raise BadRequest(f'container "{container}" in pod "{name}" is waiting to start: {reason}')


def _runs(worker: PodWorker, container: str) -> Callable[[], bool]:
    return lambda: worker.facts.containers[container].running is not None


def _from(path: Path, position: int) -> bytes:
    try:
        with path.open("rb") as log:
            log.seek(position)
            return log.read()
    except FileNotFoundError:  # the pod is gone
        return b""
