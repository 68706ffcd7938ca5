"""The server's refusals, worded as kube-apiserver words them."""

from collections.abc import Iterable, Sequence
from typing import Any

from certwright.kube.errors import (
    AlreadyExists,
    ApiError,
    Cause,
    Conflict,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotAcceptable,
    NotFound,
    ServerTimeout,
    UnsupportedMediaType,
)
from certwright.kube.objects import Resource

OPTIMISTIC_LOCK = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def details_of(resource: Resource, name: str) -> dict[str, Any]:
    """Return how a ``Status`` names an object: by the plural, though the field is called kind."""
    details = {"name": name, "group": resource.group, "kind": resource.plural}
    return {key: value for key, value in details.items() if value}


def not_found(resource: Resource, name: str) -> NotFound:
    """Return the error for an object that does not exist."""
    return NotFound(f'{resource.qualified} "{name}" not found', details=details_of(resource, name))


def already_exists(resource: Resource, name: str) -> AlreadyExists:
    """Return the error for a name that is taken."""
    return AlreadyExists(
        f'{resource.qualified} "{name}" already exists', details=details_of(resource, name)
    )


def conflict(resource: Resource, name: str, why: str = OPTIMISTIC_LOCK) -> Conflict:
    """Return the error for a write that rests on an outdated state."""
    return Conflict(
        f'Operation cannot be fulfilled on {resource.qualified} "{name}": {why}',
        details=details_of(resource, name),
    )


def forbidden(resource: Resource, name: str, why: str) -> Forbidden:
    """Return the error for a request that is not allowed."""
    subject = f'{resource.qualified} "{name}"' if name else resource.qualified
    return Forbidden(f"{subject} is forbidden: {why}", details=details_of(resource, name))


def invalid(kind: str, group: str, name: str, causes: Sequence[Cause]) -> Invalid:
    """Return the error for an invalid object, with each cause once."""
    qualified = f"{kind}.{group}" if group else kind
    details = {"name": name, "group": group, "kind": kind}
    lines = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    text = lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"
    return Invalid(
        f'{qualified} "{name}" is invalid: {text}',
        causes=causes,
        details={key: value for key, value in details.items() if value},
    )


def invalid_object(resource: Resource, name: str, causes: Iterable[Cause]) -> Invalid:
    """Refuse an object of a kind."""
    return invalid(resource.kind, resource.group, name, list(causes))


def method_not_allowed() -> MethodNotAllowed:
    """Return the error for a method that the resource does not have."""
    return MethodNotAllowed("the server does not allow this method on the requested resource")


def too_large_resource_version(asked: int, current: int) -> ServerTimeout:
    """Return the error for a resource version that lies in the future."""
    return ServerTimeout(
        f"Timeout: Too large resource version: {asked}, current: {current}",
        causes=[Cause("ResourceVersionTooLarge", "Too large resource version")],
        retry_after=1,
    )


class PathNotServed(ApiError):
    """Nothing is served under the path; answered without a ``Status``, as Go's mux does."""

    code, reason = 404, "NotFound"


class KindNotServed(NotFound):
    """The group and version are served, but have no such resource or subresource."""

    def __init__(self) -> None:
        super().__init__("the server could not find the requested resource")


class Rejected(Invalid):
    """A JSON patch that cannot be applied; the server does not say why."""

    def __init__(self) -> None:
        super().__init__("the server rejected our request due to an error in our request")


class PathForbidden(Forbidden):
    """The user may not ask for a path that is no resource."""


class UnknownPatch(UnsupportedMediaType):
    """A PATCH in no dialect the resource understands."""

    def __init__(self) -> None:
        super().__init__("415: Unsupported Media Type")


class NothingAcceptable(NotAcceptable):
    """The client accepts no media type the server can write."""

    def __init__(self, *, streams: bool) -> None:
        found = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
        if streams:
            found += ", application/json;stream=watch"
            found += ", application/vnd.kubernetes.protobuf;stream=watch"
        super().__init__(f"406: Not Acceptable\n\nAvailable representations: {found}")


class Failed(ApiError):
    """A failure of the server that it does not explain with a reason."""

    code, reason = 500, ""
