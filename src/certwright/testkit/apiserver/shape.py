"""From what a client sent to an object of the kind: decoded, checked for strays, defaulted."""

from certwright.kube.errors import BadRequest
from certwright.kube.identity import GroupVersionKind, Resource
from certwright.kube.kinds import BUILT_IN
from certwright.kube.objects import JsonObject
from certwright.testkit.apiserver.causes import invalid_value
from certwright.testkit.apiserver.kinds import ServedKind
from certwright.testkit.apiserver.nulls import drop_nulls
from certwright.testkit.apiserver.options import WriteOptions
from certwright.testkit.apiserver.refusals import invalid
from certwright.testkit.apiserver.strictness import stray_fields
from certwright.testkit.apiserver.structural import default


def check_type(obj: JsonObject, kind: ServedKind, body: bytes | None = None) -> None:
    """Refuse an object of another kind; name it when the client did not."""
    resource = kind.resource
    if kind.custom and not obj.get("kind"):
        shown = (body or b"").decode(errors="replace")
        raise BadRequest(
            f"the object provided is unrecognized (must be of type {resource.kind}): Object "
            f"'Kind' is missing in '{shown}' ({shown[:30]} ...)"
        )
    api_version = obj.get("apiVersion") or resource.api_version
    named = obj.get("kind") or resource.kind
    if (api_version, named) == (resource.api_version, resource.kind):
        obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind
    elif kind.custom:
        _refuse_custom(obj, str(api_version), str(named), resource)
    else:
        _refuse_built_in(str(api_version), str(named), resource)


def _refuse_custom(obj: JsonObject, api_version: str, named: str, resource: Resource) -> None:
    if api_version != resource.api_version:
        raise BadRequest(
            f"the API version in the data ({api_version}) does not match the expected API "
            f"version ({resource.api_version})"
        )
    name = (obj.get("metadata") or {}).get("name", "")
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
    obj: JsonObject, kind: ServedKind, body: bytes | None, options: WriteOptions
) -> list[str]:
    """Bring an object into the shape of its kind, in place; returns warnings.

    Raises:
        BadRequest: the client wants strict validation, and there are stray fields.
    """
    unknown = kind.decode(obj)
    if kind.custom:
        drop_nulls(obj, kind.schema)
    if options.validation == "Ignore":
        return []
    strays = stray_fields(body or b"", obj, unknown, custom=kind.custom)
    if strays and options.validation == "Strict":
        resource = kind.resource
        raise BadRequest(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a '
            f"{resource.kind}: strict decoding error: {', '.join(strays)}"
        )
    return strays


def fill_defaults(obj: JsonObject, kind: ServedKind) -> None:
    """Add the defaults of the kind, in place: those of its schema, then those that depend."""
    default(obj, kind.schema)
    kind.complete(obj)
