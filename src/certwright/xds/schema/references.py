"""Which resources a resource names, and whether they are there.

Only names that Envoy asks the discovery service for are looked at: a secret from a file, or a
cluster that a request header names, is not among them. The clusters of a route may be missing if
the routes say ``validate_clusters: false``, as for Envoy itself.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from certwright.xds.schema.errors import FieldProblem, join
from certwright.xds.schema.schema import MessageSchema
from certwright.xds.schema.walk import Message

CLUSTER: Final = "envoy.config.cluster.v3.Cluster"
ENDPOINTS: Final = "envoy.config.endpoint.v3.ClusterLoadAssignment"
LISTENER: Final = "envoy.config.listener.v3.Listener"
ROUTES: Final = "envoy.config.route.v3.RouteConfiguration"
SCOPED_ROUTES: Final = "envoy.config.route.v3.ScopedRouteConfiguration"
SECRET: Final = "envoy.extensions.transport_sockets.tls.v3.Secret"  # noqa: S105 - a type
RUNTIME: Final = "envoy.service.runtime.v3.Runtime"
EXTENSION: Final = "envoy.config.core.v3.TypedExtensionConfig"

WORDS: Final = {
    CLUSTER: "cluster",
    ENDPOINTS: "endpoint",
    LISTENER: "listener",
    ROUTES: "route",
    SCOPED_ROUTES: "scopedRoute",
    SECRET: "secret",
    RUNTIME: "runtime",
    EXTENSION: "extensionConfig",
}
"""What the types are called in an EnvoyConfig."""

_HCM: Final = "envoy.extensions.filters.network.http_connection_manager.v3"
_TCP: Final = "envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy"


@dataclass(frozen=True, slots=True)
class ResourceReference:
    """A field that names a resource."""

    path: str
    target: str
    """The type of what it names."""
    name: str


def references(schema: MessageSchema, message: Message) -> Iterator[ResourceReference]:
    """Yield what a resource names, at any depth."""
    unchecked: list[str] = []
    for path, part in schema.walk(message):
        name = part.DESCRIPTOR.full_name
        if name == ROUTES and part.HasField("validate_clusters"):
            unchecked += [] if part.validate_clusters.value else [path]
        for field, target, named in _READERS.get(name, _none)(part):
            if target != CLUSTER or not any(_is_below(path, one) for one in unchecked):
                yield ResourceReference(join(path, field), target, named)


def dangling(
    schema: MessageSchema,
    message: Message,
    present: Mapping[str, Collection[str]],
) -> Iterator[FieldProblem]:
    """Yield the fields that name a resource which is not *present*, by type and name."""
    for one in references(schema, message):
        if one.name not in present.get(one.target, ()):
            yield FieldProblem(one.path, f"there is no {WORDS[one.target]} {one.name!r}")


def _is_below(path: str, place: str) -> bool:
    return path == place or not place or path.startswith((f"{place}.", f"{place}["))


_Names = Iterator[tuple[str, str, str]]
"""Field, type of what it names, and the name."""


def _none(_: Any) -> _Names:
    return iter(())


def _asks_the_server(source: Any) -> bool:
    return source.WhichOneof("config_source_specifier") in {"ads", "self"}


def _names(field: str, target: str = CLUSTER) -> Callable[[Any], _Names]:
    """Return the reader of a field that always names a resource, if it is set."""

    def read(message: Any) -> _Names:
        if named := getattr(message, field):
            yield field, target, named

    return read


def _routes(message: Any) -> _Names:
    if message.route_config_name and _asks_the_server(message.config_source):
        yield "route_config_name", ROUTES, message.route_config_name


def _endpoints(message: Any) -> _Names:
    eds = message.eds_cluster_config
    if message.WhichOneof("cluster_discovery_type") != "type" or not _asks_the_server(
        eds.eds_config
    ):
        return
    kinds = message.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_number
    if kinds[message.type].name != "EDS":
        return
    if eds.service_name:
        yield "eds_cluster_config.service_name", ENDPOINTS, eds.service_name
    else:
        yield "name", ENDPOINTS, message.name


def _secret(message: Any) -> _Names:
    if message.HasField("sds_config") and _asks_the_server(message.sds_config):
        yield "name", SECRET, message.name


def _extension(message: Any) -> _Names:
    if message.HasField("config_discovery") and _asks_the_server(
        message.config_discovery.config_source
    ):
        yield "name", EXTENSION, message.name


_READERS: Final[Mapping[str, Callable[[Any], _Names]]] = {
    CLUSTER: _endpoints,
    SCOPED_ROUTES: _names("route_configuration_name", ROUTES),
    "envoy.config.route.v3.RouteAction": _names("cluster"),
    "envoy.config.route.v3.WeightedCluster.ClusterWeight": _names("name"),
    "envoy.config.route.v3.RouteAction.RequestMirrorPolicy": _names("cluster"),
    "envoy.config.core.v3.GrpcService.EnvoyGrpc": _names("cluster_name"),
    "envoy.config.core.v3.HttpUri": _names("cluster"),
    "envoy.config.listener.v3.Filter": _extension,
    "envoy.config.listener.v3.ListenerFilter": _extension,
    "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig": _secret,
    f"{_HCM}.Rds": _routes,
    f"{_HCM}.HttpFilter": _extension,
    _TCP: _names("cluster"),
    f"{_TCP}.WeightedCluster.ClusterWeight": _names("name"),
}
