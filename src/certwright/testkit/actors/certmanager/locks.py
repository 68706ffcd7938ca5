"""Where the record of a leader election is kept: a Lease, or the annotation of a ConfigMap.

cert-manager has used Leases since 1.4; earlier versions have rights to ConfigMaps only.
"""

from typing import Final

import orjson

from certwright.client import Client
from certwright.kube import JsonObject, Key, NotFound, Resource
from certwright.kube.kinds import ConfigMap, Lease

_ANNOTATION: Final = "control-plane.alpha.kubernetes.io/leader"
_FIRST_WITH_LEASES: Final = (1, 4)


class ElectionLock:
    """Reads and writes the record of an election as one user."""

    def __init__(self, kind: Resource, key: Key) -> None:
        self.kind = kind
        self.key = key

    @classmethod
    def of_version(cls, minor: tuple[int, int], key: Key) -> "ElectionLock":
        """Return the lock that a version of cert-manager uses."""
        return cls(Lease if minor >= _FIRST_WITH_LEASES else ConfigMap, key)

    def record(self, found: JsonObject | None) -> JsonObject:
        """Return the record in an object, with the names of Leases; empty if there is none."""
        if found is None:
            return {}
        if self.kind == Lease:
            return found.get("spec") or {}
        text = (found["metadata"].get("annotations") or {}).get(_ANNOTATION)
        record: JsonObject = orjson.loads(text) if text else {}
        if "leaderTransitions" in record:
            record["leaseTransitions"] = record.pop("leaderTransitions")
        return record

    async def read(self, client: Client) -> JsonObject | None:
        """Return the object; None if there is none."""
        try:
            return await client.get(self.kind, self.key)
        except NotFound:
            return None

    async def write(self, client: Client, found: JsonObject | None, record: JsonObject) -> None:
        """Write a record, into an object that was read or a new one."""
        place = {"name": self.key.name, "namespace": self.key.namespace}
        kind = {"apiVersion": self.kind.api_version, "kind": self.kind.kind}
        obj = self._with(found or {**kind, "metadata": place}, record)
        await (client.update(obj) if found else client.create(obj))

    def _with(self, obj: JsonObject, record: JsonObject) -> JsonObject:
        if self.kind == Lease:
            return {**obj, "spec": record}
        named = {k: v for k, v in record.items() if k != "leaseTransitions"}
        text = orjson.dumps({**named, "leaderTransitions": record.get("leaseTransitions", 0)})
        metadata = obj["metadata"]
        annotations = {**(metadata.get("annotations") or {}), _ANNOTATION: text.decode()}
        return {**obj, "metadata": {**metadata, "annotations": annotations}}
