"""``certwright cert-manager explain``: the status of an installation in words."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from msgspec import to_builtins

from certwright.apply.engine.blockers import human_duration
from certwright.cli.certmanager.advice import ADVICE
from certwright.cli.certmanager.inputs import read_cluster
from certwright.cli.connection import connected
from certwright.cli.options import Output, Target
from certwright.cli.terminal.output import document, table
from certwright.clock import SYSTEM
from certwright.kube import JsonObject, parse_time

_BAD_IF_TRUE: Final = frozenset({"Degraded", "Rejected", "Progressing"})
"""Types of conditions that are fine while they are False."""
_NOT_SEEN: Final = (
    "no operator has looked at it; run one: certwright manager --operators certmanager"
)
_NOTHING: Final = (
    "create one; how a cert-manager is that was installed otherwise, shows: certwright cert-manager"
    " check"
)
_CHECK: Final = "certwright cert-manager check follows the chain to an issued certificate"


async def explain(target: Target, output: Output) -> int:
    """Print how the installation of a cluster is; 1 if certificates cannot be issued."""
    async with connected(target) as session:
        asked = await read_cluster(session.client, _NOTHING)
    obj: JsonObject = to_builtins(asked.resource)
    if output is Output.TABLE:
        print(explanation(asked.name, obj, SYSTEM.now()))
    else:
        print(document(obj, output))
    return 0 if is_available(obj.get("status") or {}) else 1


def is_available(status: JsonObject) -> bool:
    """Return whether a status says that certificates can be issued."""
    conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    return conditions.get("Available", conditions.get("Ready")) == "True"


def explanation(name: str, obj: JsonObject, now: datetime) -> str:
    """Return what is installed, what is under way, what it waits for, and what to do."""
    status: JsonObject = obj.get("status") or {}
    lines = [f"{name}: {_summary(obj, status, now)}", *_versions(obj, status)]
    troubles = list(_troubles(status))
    for trouble in troubles:
        lines += ["", f"{trouble['type']} is {trouble['status']} ({trouble.get('reason')})"]
        if message := trouble.get("message"):
            lines.append(f"  {message}")
        if advice := ADVICE.get(str(trouble.get("reason"))):
            lines.append(f"  what to do: {advice}")
    if components := status.get("components"):
        lines += ["", _components(components)]
    if troubles:
        lines += ["", _CHECK]
    return "\n".join(lines)


def _summary(obj: JsonObject, status: JsonObject, now: datetime) -> str:
    if not status.get("conditions"):
        return _NOT_SEEN
    if obj["metadata"].get("deletionTimestamp"):
        return "it is being removed"
    if int(status.get("observedGeneration") or 0) < int(obj["metadata"].get("generation") or 0):
        return "the spec has changed, and the operator has not acted on it yet"
    if step := status.get("step"):
        since = f" for {human_duration(now - parse_time(step['since']))}" if "since" in step else ""
        return f"step {step.get('name')} towards {step.get('targetVersion')} is under way{since}"
    return "certificates can be issued" if is_available(status) else "it does not work"


def _versions(obj: JsonObject, status: JsonObject) -> Iterator[str]:
    asked = (obj.get("spec") or {}).get("version")
    wanted = asked or status.get("version") or ""
    default = "" if asked or not wanted else " (the operator's default)"
    yield f"  wanted:     {wanted or 'not known yet'}{default}"
    yield f"  installed:  {status.get('installedVersion') or 'nothing yet'}"


def _troubles(status: JsonObject) -> Iterator[JsonObject]:
    """Yield the conditions that are not as they should be, what is broken before what is late."""
    found = [
        one
        for one in status.get("conditions") or ()
        if (one.get("status") != "False" if one.get("type") in _BAD_IF_TRUE else not _is_true(one))
    ]
    yield from sorted(found, key=lambda one: _ORDER.get(str(one.get("type")), len(_ORDER)))


_ORDER: Final = {"Rejected": 0, "Degraded": 1, "Available": 2, "Upgradeable": 3, "Progressing": 4}


def _is_true(condition: JsonObject) -> bool:
    return condition.get("status") == "True"


def _components(components: list[JsonObject]) -> str:
    rows = [
        (
            str(one.get("name")),
            f"{one.get('availableReplicas', 0)} of {one.get('desiredReplicas', 0)} available",
            str(one.get("version") or "being rolled out"),
            str(one.get("image") or ""),
        )
        for one in components
    ]
    return table(("COMPONENT", "PODS", "VERSION", "IMAGE"), rows)
