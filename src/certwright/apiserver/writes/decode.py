"""From what a client sent to an object of the kind: decoded, checked for strays, defaulted."""

from certwright.apiserver.causes import invalid_value
from certwright.apiserver.http.bodies import unrecognized
from certwright.apiserver.http.options import WriteParameters
from certwright.apiserver.http.strictness import stray_fields
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.refusals import invalid
from certwright.apiserver.schema.nulls import drop_nulls
from certwright.kube.errors import BadRequest
from certwright.kube.kinds import BUILT_IN
from certwright.kube.objects import GroupVersionKind, JsonObject, Resource


def check_type(obj: JsonObject, kind: ServedKind, body: bytes | None = None) -> None:
    """Refuse an object of another kind; name it when the client did not."""
    resource = kind.resource
    if kind.custom and not obj.get("kind"):
        shown = (body or b"").decode(errors="replace")
        raise unrecognized(resource.kind, f"Object 'Kind' is missing in '{shown}'", body or b"")
    api_version = obj.get("apiVersion") or ("" if kind.custom else resource.api_version)
    if str(api_version).count("/") > 1:
        why = f"unexpected GroupVersion string: {api_version}"
        raise unrecognized(resource.kind, why, body or b"")
    named = obj.get("kind") or resource.kind
    if (api_version, named) == (resource.api_version, resource.kind):
        obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind
    elif kind.custom:
        _refuse_custom(obj, str(api_version), str(named), resource, patched=body is None)
    else:
        _refuse_built_in(str(api_version), str(named), resource)


def _refuse_custom(
    obj: JsonObject, api_version: str, named: str, resource: Resource, *, patched: bool
) -> None:
    name = (obj.get("metadata") or {}).get("name", "")
    if api_version != resource.api_version and patched:
        group = api_version.rpartition("/")[0]
        cause = invalid_value("apiVersion", api_version, f"must be {resource.api_version}")
        raise invalid(named, group, name, [cause])
    if api_version != resource.api_version:
        raise BadRequest(
            f"the API version in the data ({api_version}) does not match the expected API "
            f"version ({resource.api_version})"
        )
    cause = invalid_value("kind", named, f"must be {resource.kind}")
    raise invalid(named, resource.group, name, [cause])


def _refuse_built_in(api_version: str, named: str, resource: Resource) -> None:
    group, _, version = api_version.rpartition("/")
    if any(known.gvk == GroupVersionKind(group, version, named) for known in BUILT_IN):
        internal = resource.group.partition(".")[0] or "core"
        why = f"converting ({version}.{named}) to ({internal}.{resource.kind}): unknown conversion"
    else:
        why = (
            f'no kind "{named}" is registered for version "{api_version}" in scheme '
            '"pkg/runtime/scheme.go:111"'
        )
    raise BadRequest(
        f'{named} in version "{version}" cannot be handled as a {resource.kind}: {why}'
    )


def decode(
    obj: JsonObject, kind: ServedKind, body: bytes | None, options: WriteParameters
) -> list[str]:
    """Bring an object into shape, in place; return warnings, or, if strict, raise `BadRequest`."""
    if obj.get("metadata") is None:
        obj["metadata"] = {}
    unknown = kind.decode(obj)
    obj.setdefault("metadata", {})
    if kind.custom:
        drop_nulls(obj, kind.schema)
    if options.validation == "Ignore":
        return []
    strays = stray_fields(body or b"", unknown, custom=kind.custom)
    if strays and options.validation == "Strict":
        resource = kind.resource
        raise BadRequest(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a '
            f"{resource.kind}: strict decoding error: {', '.join(strays)}"
        )
    return strays
