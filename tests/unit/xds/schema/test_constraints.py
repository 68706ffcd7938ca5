"""The rules in the options of Envoy's messages, broken one at a time."""

import pytest
from tests.support.envoy.resources import cluster, listener, rds, routes, upstream_tls
from tests.support.envoy.smallschema import small_schema

from certwright.kube import JsonObject
from certwright.xds.schema.errors import ResourceRefused
from certwright.xds.schema.references import CLUSTER, EXTENSION, LISTENER, ROUTES


def broken(name: str, value: JsonObject) -> dict[str, str]:
    with pytest.raises(ResourceRefused) as refused:
        small_schema().make(name, value)
    return {problem.path: problem.problem for problem in refused.value.problems}


@pytest.mark.parametrize(
    ("change", "path", "problem"),
    [
        ({"name": ""}, "name", "must not be empty"),
        ({"connect_timeout": "0s"}, "connect_timeout", "must be greater than 0s"),
        ({"connect_timeout": "-1s"}, "connect_timeout", "must be greater than 0s"),
        ({"lb_policy": 77}, "lb_policy", f"must be a value of {CLUSTER}.LbPolicy"),
        ({"transport_socket": {}}, "transport_socket.name", "must not be empty"),
        ({"load_assignment": {}}, "load_assignment.cluster_name", "must not be empty"),
        (
            {"eds_cluster_config": {"eds_config": {}}},
            "eds_cluster_config.eds_config.config_source_specifier",
            "one of its fields must be set",
        ),
    ],
)
def test_a_broken_rule_names_its_field(change: JsonObject, path: str, problem: str) -> None:
    assert broken(CLUSTER, cluster("x") | change) == {path: problem}


def test_rules_hold_inside_a_typed_config() -> None:
    socket = upstream_tls("s")
    socket["typed_config"]["sni"] = "é" * 128
    context = "transport_socket.typed_config"
    assert broken(CLUSTER, cluster("x", transport_socket=socket)) == {
        f"{context}.sni": "must not be longer than 255 bytes"
    }
    http = "filter_chains[0].filters[0].typed_config"
    assert broken(LISTENER, listener("l", 70_000, rds=rds("r"), stat_prefix="")) == {
        "address.socket_address.port_value": "must be at most 65535",
        f"{http}.stat_prefix": "must not be empty",
    }
    assert broken(LISTENER, listener("l", 80)) == {
        f"{http}.route_specifier": "one of its fields must be set"
    }


def test_lists_and_their_entries_have_rules() -> None:
    table = routes("r", "a")
    table["virtual_hosts"][0]["domains"] = []
    assert broken(ROUTES, table) == {"virtual_hosts[0].domains": "must have at least 1 entry"}
    table["virtual_hosts"][0]["domains"] = ["a", "b\n"]
    assert broken(ROUTES, table) == {
        "virtual_hosts[0].domains[1]": "must be a valid value of an HTTP header"
    }


def test_what_is_required_must_be_there() -> None:
    table = routes("r", "a")
    del table["virtual_hosts"][0]["routes"][0]["match"]
    assert broken(ROUTES, table) == {"virtual_hosts[0].routes[0].match": "is required"}
    assert broken(EXTENSION, {"name": "e"}) == {"typed_config": "is required"}


def test_a_number_has_two_limits() -> None:
    for status, problem in ((199, "must be at least 200"), (600, "must be less than 600")):
        table = routes("r", "a")
        table["virtual_hosts"][0]["routes"][0] = {
            "match": {"prefix": "/"},
            "direct_response": {"status": status},
        }
        path = "virtual_hosts[0].routes[0].direct_response.status"
        assert broken(ROUTES, table) == {path: problem}


def test_what_is_not_set_in_a_oneof_needs_nothing() -> None:
    small_schema().make(ROUTES, routes("r", "a", "b"))
    small_schema().make(LISTENER, listener("l", 80, route_config=routes("r", "a")))
