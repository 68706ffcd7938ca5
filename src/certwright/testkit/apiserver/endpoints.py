"""What field ownership needs to know about the endpoints of a kind."""

from typing import Any

from certwright.kube.objects import JsonObject
from certwright.testkit.apiserver.fieldset import FieldSet, field_set
from certwright.testkit.apiserver.kinds import ServedKind
from certwright.testkit.apiserver.schema import Schema

_SPEC = field_set("spec")
_STATUS = field_set("status")
_SPEC_AND_METADATA = field_set("spec", "metadata")

_MAIN = {
    "CertificateSigningRequest": field_set("spec", "status"),
}
_STATUS_OF = {
    "APIService": _SPEC_AND_METADATA,
    "CertificateSigningRequest": field_set("spec", "status.conditions"),
    "Deployment": field_set("spec", "metadata.labels"),
    "FlowSchema": _SPEC_AND_METADATA,
    "Pod": field_set("spec", "metadata.deletionTimestamp", "metadata.ownerReferences"),
    "PriorityLevelConfiguration": _SPEC_AND_METADATA,
    "ResourceClaim": _SPEC_AND_METADATA,
    "ServiceCIDR": _SPEC_AND_METADATA,
    "ValidatingAdmissionPolicy": _SPEC_AND_METADATA,
    "VolumeAttachment": _SPEC_AND_METADATA,
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

    Built-in kinds begin with their structs in place and what they always print; fields that
    were there before do not count as added. Custom resources begin with nothing.
    """
    start: JsonObject = {} if kind.custom else _zero(kind.schema)
    start["apiVersion"], start["kind"] = kind.resource.api_version, kind.resource.kind
    return start


def _zero(schema: Schema) -> JsonObject:
    """Return what a struct of the server prints when nothing in it is set."""
    out: JsonObject = {}
    for name, inner in schema.properties.items():
        if inner.default == {} and inner.type == "object":
            out[name] = _zero(inner)
        elif name in schema.required:
            out[name] = _zero_value(inner)
    return out


def _zero_value(schema: Schema) -> Any:
    if schema.optional or schema.type == "array" or schema.additional is not None:
        return None
    match schema.type:
        case "object":
            return _zero(schema)
        case "integer" | "number":
            return 0
        case "boolean":
            return False
    return 0 if schema.int_or_string else ""
