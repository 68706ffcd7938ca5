"""From what a client sent to an object of the kind: decoded, checked for strays, defaulted."""

from certwright.kube.errors import BadRequest
from certwright.kube.objects import JsonObject
from certwright.testkit.apiserver.bodies import duplicate_fields
from certwright.testkit.apiserver.kinds import ServedKind
from certwright.testkit.apiserver.options import WriteOptions
from certwright.testkit.apiserver.structural import default


def check_type(obj: JsonObject, kind: ServedKind) -> None:
    """Refuse an object of another kind; name it when the client did not."""
    resource = kind.resource
    if kind.custom and not obj.get("kind"):
        raise BadRequest("Object 'Kind' is missing in the body of the request")
    api_version = obj.get("apiVersion") or resource.api_version
    named = obj.get("kind") or resource.kind
    if api_version != resource.api_version:
        raise BadRequest(
            f"the API version in the data ({api_version}) does not match the expected API "
            f"version ({resource.api_version})"
        )
    if named != resource.kind:
        version = resource.version
        raise BadRequest(
            f'{named} in version "{version}" cannot be handled as a {resource.kind}: '
            f'no kind "{named}" is registered for version "{resource.api_version}"'
        )
    obj["apiVersion"], obj["kind"] = resource.api_version, resource.kind


def decode(
    obj: JsonObject, kind: ServedKind, body: bytes | None, options: WriteOptions
) -> list[str]:
    """Bring an object into the shape of its kind, in place; returns warnings.

    Raises:
        BadRequest: the client wants strict validation, and there are stray fields.
    """
    strays = [f'unknown field "{path}"' for path in kind.decode(obj)]
    if options.validation == "Ignore":
        return []
    if body is not None:
        strays = [f'duplicate field "{path}"' for path in duplicate_fields(body)] + strays
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
