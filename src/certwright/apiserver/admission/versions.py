"""Objects of a request in another version than the request's own. Pure."""

import orjson

from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.storage.eventversions import from_core, to_core
from certwright.kube.objects import JsonObject


def in_version(obj: JsonObject, kind: ServedKind, target: ServedKind) -> JsonObject:
    """Return an object of one kind as another version of it."""
    copied: JsonObject = orjson.loads(orjson.dumps(obj))
    if kind.resource.group != target.resource.group:
        return to_core(copied) if target.resource.group == "" else from_core(copied)
    converted = {**copied, "apiVersion": target.resource.api_version}
    if target.custom:
        target.decode(converted)
    return converted
