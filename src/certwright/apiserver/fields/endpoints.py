"""What field ownership needs to know about the endpoints of a kind."""

import orjson

from certwright.apiserver.fields.fieldset import FieldSet, field_set
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube.objects import JsonObject

_SPEC = field_set("spec")
_STATUS = field_set("status")
_SPEC_AND_METADATA = field_set("spec", "metadata")

_MAIN = {"CertificateSigningRequest": field_set("spec", "status")}
_STATUS_OF = {
    "APIService": _SPEC_AND_METADATA,
    "CertificateSigningRequest": field_set("spec", "status.conditions"),
    "Deployment": field_set("spec", "metadata.labels"),
    "Pod": field_set("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
}


def ignored_fields(kind: ServedKind, subresource: str) -> FieldSet:
    """Return the fields an endpoint ignores in requests: they change no owner."""
    if not subresource:
        if kind.custom or kind.resource.kind not in _MAIN:
            return _STATUS if "status" in kind.subresources else {}
        return _MAIN[kind.resource.kind]
    if subresource == "status":
        return _SPEC_AND_METADATA if kind.custom else _STATUS_OF.get(kind.resource.kind, _SPEC)
    return field_set("spec", "status.certificate") if subresource == "approval" else {}


def blank(kind: ServedKind) -> JsonObject:
    """Return the object a create starts from.

    Built-in kinds begin with the structs and fields their Go types always print: what was
    there before does not count as added. Custom resources begin with nothing.
    """
    resource = kind.resource
    start: JsonObject = {"apiVersion": resource.api_version, "kind": resource.kind}
    if kind.custom:
        return start
    structs = ("metadata", "spec", "status")
    start |= {name: {} for name in structs if name in kind.schema.properties}
    always_printed: JsonObject = orjson.loads(kind.always_printed)
    return start | always_printed
