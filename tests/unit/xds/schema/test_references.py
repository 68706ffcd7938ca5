"""Names of other resources, found wherever they stand."""

from tests.support.envoy.resources import (
    cluster,
    eds_cluster,
    listener,
    rds,
    routes,
    upstream_tls,
)
from tests.support.envoy.smallschema import small_schema

from certwright.kube import JsonObject
from certwright.xds.schema.references import (
    CLUSTER,
    ENDPOINTS,
    LISTENER,
    ROUTES,
    SCOPED_ROUTES,
    SECRET,
    dangling,
    references,
)

SCHEMA = small_schema()


def named(kind: str, value: JsonObject) -> set[tuple[str, str]]:
    return {(one.target, one.name) for one in references(SCHEMA, SCHEMA.make(kind, value))}


def test_a_listener_names_its_routes() -> None:
    assert named(LISTENER, listener("l", 80, rds=rds("table"))) == {(ROUTES, "table")}
    inline = listener("l", 80, route_config=routes("r", "a", "b"))
    assert named(LISTENER, inline) == {(CLUSTER, "a"), (CLUSTER, "b")}


def test_routes_name_clusters_also_weighted_ones() -> None:
    table = routes("r", "a")
    weighted = {"weighted_clusters": {"clusters": [{"name": "b", "weight": 1}]}}
    table["virtual_hosts"][0]["routes"].append({"match": {"prefix": "/w"}, "route": weighted})
    by_header = {"match": {"prefix": "/h"}, "route": {"cluster_header": "x-cluster"}}
    table["virtual_hosts"][0]["routes"].append(by_header)
    assert named(ROUTES, table) == {(CLUSTER, "a"), (CLUSTER, "b")}
    assert named(SCOPED_ROUTES, {"name": "s", "route_configuration_name": "r"}) == {(ROUTES, "r")}


def test_a_cluster_names_endpoints_and_secrets_that_come_from_the_server() -> None:
    assert named(CLUSTER, cluster("a")) == set()
    assert named(CLUSTER, eds_cluster("a", transport_socket=upstream_tls("s"))) == {
        (ENDPOINTS, "a"),
        (SECRET, "s"),
    }
    elsewhere = {"path_config_source": {"path": "/f"}}
    by_file = eds_cluster("a", eds_cluster_config={"eds_config": elsewhere})
    assert named(CLUSTER, by_file) == set()
    renamed = eds_cluster("a")
    renamed["eds_cluster_config"]["service_name"] = "other"
    assert named(CLUSTER, renamed) == {(ENDPOINTS, "other")}


def test_what_is_missing_is_named_with_its_path() -> None:
    table = SCHEMA.make(ROUTES, routes("r", "there", "gone"))
    assert [str(one) for one in dangling(SCHEMA, table, {CLUSTER: {"there"}})] == [
        "virtual_hosts[0].routes[1].route.cluster: there is no cluster 'gone'"
    ]


def test_routes_may_say_that_their_clusters_are_not_to_be_checked() -> None:
    table = SCHEMA.make(ROUTES, routes("r", "gone") | {"validate_clusters": False})
    assert not list(dangling(SCHEMA, table, {}))
    table = SCHEMA.make(ROUTES, routes("r", "gone") | {"validate_clusters": True})
    assert list(dangling(SCHEMA, table, {}))
    inline = SCHEMA.make(
        LISTENER,
        listener("l", 80, route_config=routes("r", "gone") | {"validate_clusters": False}),
    )
    assert not list(dangling(SCHEMA, inline, {}))
