"""What the ConfigMaps of inventories tell about each of them. Pure functions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from certwright.apply import InventoryError, Live
from certwright.apply.changeset import LastWriter
from certwright.apply.engine.blockers import human_duration
from certwright.apply.objectset.inventory import LABEL, shard_of
from certwright.cli.terminal.output import table
from certwright.kube import JsonObject, parse_time


@dataclass(frozen=True, slots=True)
class InventorySummary:
    """One inventory."""

    namespace: str
    name: str
    objects: int
    """How many it lists."""
    created: str
    writer: LastWriter
    """Who wrote it last, as a field manager."""
    problem: str = ""
    """Why it cannot be read; then the number of objects is not known."""

    def to_json(self) -> JsonObject:
        """Return the summary for programs."""
        written: JsonObject = {
            "namespace": self.namespace,
            "name": self.name,
            "created": self.created,
            "lastWriter": {"manager": self.writer.manager, "time": self.writer.time},
        }
        return written | ({"problem": self.problem} if self.problem else {"objects": self.objects})


def summaries(config_maps: Iterable[Live]) -> list[InventorySummary]:
    """Return a summary of each inventory, by namespace and name."""
    together = groupby(sorted(config_maps, key=_place), key=_place)
    return [_summary(namespace, name, [*found]) for (namespace, name), found in together]


def summary_table(found: Sequence[InventorySummary], now: datetime) -> str:
    """Return a line for each inventory."""
    heads = ("NAMESPACE", "NAME", "OBJECTS", "WRITTEN BY", "CHANGED", "AGE")
    return table(heads, (_row(one, now) for one in found))


def _row(one: InventorySummary, now: datetime) -> Sequence[str]:
    objects = "damaged" if one.problem else str(one.objects)
    changed = f"{_age(one.writer.time, now)} ago" if one.writer.time else ""
    age = _age(one.created, now)
    return one.namespace, one.name, objects, one.writer.manager, changed, age


def _age(instant: str, now: datetime) -> str:
    return human_duration(now - parse_time(instant)) if instant else ""


def _place(live: Live) -> tuple[str, str]:
    return str(live.metadata.get("namespace") or ""), live.labels.get(LABEL, "")


def _summary(namespace: str, name: str, shards: Sequence[Live]) -> InventorySummary:
    objects, problem = 0, ""
    try:
        objects = sum(len(shard_of(live).refs) for live in shards)
    except InventoryError as error:
        problem = str(error)
    created = min(str(live.metadata.get("creationTimestamp") or "") for live in shards)
    writers = [writer for live in shards for writer in live.writers()]
    latest = max(writers, key=lambda writer: writer.time, default=LastWriter("", "", ""))
    return InventorySummary(namespace, name, objects, created, latest, problem)
