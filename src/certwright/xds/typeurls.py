"""The types of resources that Envoy asks for, and the order in which changes are sent."""

from typing import Final

_PREFIX: Final = "type.googleapis.com/envoy."

CLUSTER: Final = _PREFIX + "config.cluster.v3.Cluster"
ENDPOINTS: Final = _PREFIX + "config.endpoint.v3.ClusterLoadAssignment"
LISTENER: Final = _PREFIX + "config.listener.v3.Listener"
SCOPED_ROUTES: Final = _PREFIX + "config.route.v3.ScopedRouteConfiguration"
ROUTES: Final = _PREFIX + "config.route.v3.RouteConfiguration"
SECRET: Final = _PREFIX + "extensions.transport_sockets.tls.v3.Secret"
RUNTIME: Final = _PREFIX + "service.runtime.v3.Runtime"
EXTENSION: Final = _PREFIX + "config.core.v3.TypedExtensionConfig"

PUSH_ORDER: Final = (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    SCOPED_ROUTES,
    ROUTES,
    SECRET,
    RUNTIME,
    EXTENSION,
)
"""What is referred to comes before what refers to it, so that no listener waits for a cluster."""

FULL_STATE: Final = frozenset({CLUSTER, LISTENER})
"""Types of which a state-of-the-world response is the whole truth: what is not in it is removed."""

RANK: Final = {type_url: rank for rank, type_url in enumerate(PUSH_ORDER)}


def rank(type_url: str) -> int:
    """Return the place of a type in the order of pushes; types that are not known come last."""
    return RANK.get(type_url, len(RANK))
