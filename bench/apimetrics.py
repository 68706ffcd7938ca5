"""What a real API server says about its own work, by its metrics."""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from certwright.client import Client, Request

_SAMPLE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')
_WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE")


@dataclass(frozen=True)
class Usage:
    """Requests for one resource by verb, and processor seconds, since the server started."""

    calls: Counter[str]
    cpu: float

    def since(self, before: "Usage") -> "Usage":
        """Return what was added in between."""
        return Usage(self.calls - before.calls, self.cpu - before.cpu)

    @property
    def writes(self) -> int:
        """How many requests could change something."""
        return sum(self.calls[verb] for verb in _WRITES)

    @property
    def reads(self) -> int:
        """How many requests read objects; watches, which also list, are not among them."""
        return self.calls["GET"] + self.calls["LIST"]

    def text(self) -> str:
        """Return the calls in a cell of a table."""
        return ", ".join(f"{verb} {count:,}" for verb, count in sorted(self.calls.items()))


async def usage(client: Client, resource: str = "", *, but: Collection[str] = ()) -> Usage:
    """Ask the server about one resource, or about all *but* some. Itself it does not count."""
    answer = await client.send(Request("get", "GET", "/metrics"))
    calls: Counter[str] = Counter()
    cpu = 0.0
    for name, labels, value in _SAMPLE.findall(answer.body.decode()):
        if name == "process_cpu_seconds_total":
            cpu = float(value)
        elif name == "apiserver_request_total":
            found = dict(_LABEL.findall(labels))
            asked = found.get("resource", "")
            if asked and (asked == resource if resource else asked not in but):
                calls[found["verb"]] += int(float(value))
    return Usage(calls, cpu)
