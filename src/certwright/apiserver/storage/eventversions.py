"""Events in their two groups: ``v1`` as stored, and ``events.k8s.io/v1``."""

from certwright.kube.objects import JsonObject

_NAMES = {
    # events.k8s.io/v1 → v1
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedSource": "source",
}
_CORE_NAMES = {core: name for name, core in _NAMES.items()}

_ALWAYS: JsonObject = {
    "source": {}, "firstTimestamp": None, "lastTimestamp": None, "eventTime": None,
}  # fmt: skip
"""Fields of a v1 Event that are written even when empty."""


def to_core(obj: JsonObject) -> JsonObject:
    """Rename the fields of an ``events.k8s.io/v1`` Event."""
    renamed = {_NAMES.get(field, field): value for field, value in obj.items()}
    renamed["apiVersion"] = "v1"
    for field, value in _ALWAYS.items():
        renamed.setdefault(field, value)
    renamed.setdefault("reportingComponent", "")
    renamed.setdefault("reportingInstance", "")
    return renamed


def from_core(obj: JsonObject) -> JsonObject:
    """Rename the fields of a stored Event for readers of ``events.k8s.io/v1``."""
    renamed = {_CORE_NAMES.get(field, field): value for field, value in obj.items()}
    renamed["apiVersion"] = "events.k8s.io/v1"
    return renamed
