"""Who asked a real API server for what, by its audit log: where others work beside the subject."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_READS = frozenset({"get", "list"})
_ANSWERED = {"watch": "ResponseStarted"}
"""The stage that counts: a watch is answered when it begins."""


@dataclass(frozen=True)
class AuditedCalls:
    """What one user asked for."""

    stored: Counter[str]
    """Writes by verb and resource."""
    events: int
    dry_runs: int
    reads: Counter[str]
    watches: int
    discovery: int

    @property
    def writes(self) -> int:
        """How many requests changed something, events aside."""
        return sum(self.stored.values())

    def text(self) -> str:
        """Return all calls in a cell of a table."""
        counts = {
            "writes": self.writes,
            "dry runs": self.dry_runs,
            "events": self.events,
            "reads": sum(self.reads.values()),
            "watches": self.watches,
            "discovery": self.discovery,
        }
        return ", ".join(f"{name} {count}" for name, count in counts.items() if count)


class AuditLog:
    """The audit log of a server that was started with `flags`."""

    def __init__(self, folder: Path, users: Iterable[str]) -> None:
        self._path, self._policy = folder / "audit.log", folder / "policy.json"
        self._read = 0
        watched = [{"level": "Metadata", "users": list(users)}, {"level": "None"}]
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": watched,
        }
        self._policy.write_text(json.dumps(policy), "utf-8")

    @property
    def flags(self) -> list[str]:
        """What the API server has to be told."""
        return [f"--audit-policy-file={self._policy}", f"--audit-log-path={self._path}"]

    def skip(self) -> None:
        """Count from here."""
        self._read = self._path.stat().st_size if self._path.exists() else 0

    def calls(self, user: str, *, lease: str = "") -> AuditedCalls:
        """Return what a user asked for since then, but for the *lease* of an election."""
        with self._path.open("rb") as file:
            file.seek(self._read)
            lines = file.read().splitlines()
        found = [json.loads(line) for line in lines]
        return count(
            one for one in found if one["user"]["username"] == user and not _is(one, lease)
        )


def _is(event: dict[str, Any], lease: str) -> bool:
    about = event.get("objectRef") or {}
    return bool(lease) and (about.get("resource"), about.get("name")) == ("leases", lease)


def count(events: Iterable[dict[str, Any]]) -> AuditedCalls:
    """Count the entries of an audit log."""
    stored, reads, other = Counter[str](), Counter[str](), Counter[str]()
    for event in _answered(events):
        about, verb = event.get("objectRef"), event["verb"]
        if about is None:
            other["discovery"] += 1
            continue
        where = "/".join(filter(None, (about["resource"], about.get("subresource", ""))))
        if verb in _WRITES and "dryRun" in parse_qs(urlsplit(event["requestURI"]).query):
            other["dry runs"] += 1
        elif verb in _WRITES and about["resource"] == "events":
            other["events"] += 1
        elif verb in _WRITES:
            stored[f"{verb} {where}"] += 1
        elif verb in _READS:
            reads[f"{verb} {where}"] += 1
        else:
            other[verb] += 1
    return AuditedCalls(
        stored, other["events"], other["dry runs"], reads, other["watch"], other["discovery"]
    )


def _answered(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for event in events:
        if event["stage"] == _ANSWERED.get(event["verb"], "ResponseComplete"):
            yield event
