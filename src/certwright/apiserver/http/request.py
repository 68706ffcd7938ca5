"""A request, understood: which kind, which object, which verb, for whom."""

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from certwright.apiserver.access.rbac import Attributes
from certwright.apiserver.access.users import UserInfo
from certwright.apiserver.admission.webhooks import StoredWebhooks
from certwright.apiserver.http import protobuf
from certwright.apiserver.http.bodies import check_size, parse_object
from certwright.apiserver.http.media import Form, accepted_form
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.kinds.subresources import subresource_kinds
from certwright.apiserver.refusals import KindNotServed, PathNotServed, method_not_allowed
from certwright.apiserver.storage.registry import Registry
from certwright.client.transport import Request
from certwright.clock import Clock
from certwright.kube.errors import BadRequest
from certwright.kube.objects import JsonObject

_OBJECT_VERBS: Final = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_COLLECTION_VERBS: Final = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_ACCESS_VERBS: Final = {**_OBJECT_VERBS, "HEAD": "get", "POST": "create"}
TRUE: Final = {"1", "true", "True", "TRUE", "t", "T"}
_NAMESPACE_SUBRESOURCES: Final = {"status", "finalize"}


@dataclass(frozen=True, slots=True)
class ResourcePath:
    """What a resource path names."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@lru_cache(maxsize=1024)
def parse_path(path: str) -> ResourcePath | None:
    """Read the path of a resource; None for discovery, health and other paths."""
    parts = path.strip("/").split("/")
    if "%" in path:
        parts = [unquote(part) for part in parts]
    if parts[0] == "api" and len(parts) >= 3:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) >= 4:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
        namespace, rest = rest[1], rest[2:]
    plural, name = [*rest, ""][:2]
    subresource = "/".join(rest[2:])
    return ResourcePath(group, version, plural, namespace, name, subresource)


@dataclass(slots=True)
class Call:
    """A request to a served kind. *warnings* collects what the answer's headers will say."""

    request: Request
    user: UserInfo
    kind: ServedKind
    address: ResourcePath
    verb: str
    query: dict[str, str]
    headers: dict[str, str]
    clock: Clock
    warnings: list[str] = field(default_factory=list)
    webhooks: StoredWebhooks | None = None
    """The webhooks that may be concerned; None if there are none at all."""

    @property
    def namespace(self) -> str:
        """The namespace in the path; empty for cluster scope and for all namespaces."""
        return self.address.namespace

    @property
    def name(self) -> str:
        """The object's name in the path."""
        return self.address.name

    @property
    def subresource(self) -> str:
        """The part of the object concerned; empty for all of it."""
        return self.address.subresource

    def check_acceptable(self) -> None:
        """Raise `NotAcceptable`, before anything is done, if the client takes no answer we have."""
        _ = self.form

    @property
    def form(self) -> Form:
        """The shape in which the client wants objects."""
        streams = self.verb in {"list", "watch"}
        return accepted_form(self.headers.get("accept", ""), streams=streams)

    @property
    def attributes(self) -> Attributes:
        """What the call asks for, as access rules see it."""
        return attributes_of(self.request, self.address)

    def document(self, kind: str = "") -> JsonObject:
        """Read the body, which must hold one object; *kind* says in refusals what was expected."""
        return parse_object(self.request.body, self.headers.get("content-type", ""), kind)

    def flag(self, name: str) -> bool:
        """Read a boolean query parameter."""
        return self.query.get(name, "") in TRUE

    def integer(self, name: str) -> int:
        """Read a numeric query parameter; 0 when absent."""
        text = self.query.get(name, "")
        try:
            return int(text or 0)
        except ValueError:
            raise BadRequest(f'strconv.ParseInt: parsing "{text}": invalid syntax') from None


def attributes_of(request: Request, address: ResourcePath) -> Attributes:
    """Return what a request asks for, as access rules see it, whether it is served or not."""
    verb, name, namespace = _ACCESS_VERBS.get(request.method, ""), address.name, address.namespace
    if not name and verb == "get":
        query = query_of(request)
        verb = "watch" if query.get("watch", "") in TRUE else "list"
        name = _selected_name(query.get("fieldSelector", ""))
    elif not name and verb == "delete":
        verb = "deletecollection"
    if (address.group, address.plural) == ("", "namespaces"):
        namespace = name  # what is granted in a namespace counts for the namespace itself
    return Attributes(verb, address.group, address.plural, address.subresource, namespace, name)


def _selected_name(selector: str) -> str:
    """Return the one name a field selector asks for: rules may be limited to names."""
    for term in selector.split(","):
        field, _, value = term.replace("==", "=").partition("=")
        if field == "metadata.name":
            return value
    return ""


def lower_headers(request: Request) -> dict[str, str]:
    """Return the request's headers by lower-case name; the last of a name wins."""
    return {name.lower(): value for name, value in request.headers}


def query_of(request: Request) -> dict[str, str]:
    """Return the query by name; the first of a name wins, as in Go."""
    return dict(reversed(request.query)) if request.query else {}


def parse_call(
    request: Request, user: UserInfo, registry: Registry, address: ResourcePath, clock: Clock
) -> Call:
    """Understand a request to a resource path.

    Raises:
        PathNotServed: no such group and version.
        KindNotServed: no such kind, or not at this scope.
        MethodNotAllowed: the kind does not support the verb.
    """
    kind = registry.find(address.group, address.version, address.plural)
    if kind is None and not registry.has_built_in_group(address.group):
        raise PathNotServed("404 page not found")
    if kind is None or not _is_at(kind, address):
        raise KindNotServed
    query, headers = query_of(request), lower_headers(request)
    if request.body and headers.get("content-type", "").startswith(protobuf.MEDIA_TYPE):
        check_size(request.body)
        request = replace(request, body=protobuf.to_json(request.body))
        headers["content-type"] = "application/json"
    verb = _verb(request.method, address, query)
    is_everywhere = kind.resource.namespaced and not address.namespace
    if is_everywhere and verb in {"create", "deletecollection"}:
        raise method_not_allowed()
    parts = subresource_kinds(kind) if address.subresource else ()
    if verb not in next((p.verbs for p in parts if p.name == address.subresource), kind.verbs):
        raise method_not_allowed()
    warnings = [kind.deprecation] if kind.deprecation else []
    return Call(request, user, kind, address, verb, query, headers, clock, warnings)


def _is_at(kind: ServedKind, address: ResourcePath) -> bool:
    """Return whether objects of a kind are found at addresses of this shape."""
    if address.subresource and address.subresource not in kind.subresources:
        return False
    if address.name and "get" not in kind.verbs and not address.subresource:
        return False  # reviews are answered, not kept
    if kind.resource.namespaced:
        return bool(address.namespace) or not address.name
    return not address.namespace


def _verb(method: str, address: ResourcePath, query: dict[str, str]) -> str:
    if address.name and not (address.subresource and method == "POST"):
        verb = _OBJECT_VERBS.get(method)
    else:
        verb = "create" if address.name else _COLLECTION_VERBS.get(method)
    if verb is None:
        raise method_not_allowed()
    if verb == "list" and query.get("watch", "") in TRUE:
        return "watch"
    return verb
