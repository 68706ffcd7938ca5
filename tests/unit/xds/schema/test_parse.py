"""JSON becomes messages, and what does not fit is refused with the path of the field."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.envoy.resources import HCM, TYPES, cluster, listener, rds, routes
from tests.support.envoy.smallschema import small_schema

from certwright.kube import JsonObject
from certwright.xds.schema.errors import ResourceRefused, SchemaUnusable
from certwright.xds.schema.references import CLUSTER, LISTENER, ROUTES, SECRET

KEY = "-----BEGIN PRIVATE KEY-----"


def refusals(name: str, value: Any) -> dict[str, str]:
    with pytest.raises(ResourceRefused) as refused:
        small_schema().make(name, value)
    return {problem.path: problem.problem for problem in refused.value.problems}


def test_a_resource_becomes_a_message_and_json_again() -> None:
    made = small_schema().make(CLUSTER, cluster("backend"))
    assert made.name == "backend"
    assert small_schema().as_json(made)["connect_timeout"] == "1s"
    assert small_schema().make(CLUSTER, small_schema().as_json(made)) == made


def test_both_spellings_of_a_field_are_read() -> None:
    camel = {"name": "b", "connectTimeout": "2s", "type": "STATIC"}
    assert small_schema().make(CLUSTER, camel).connect_timeout.seconds == 2


@pytest.mark.parametrize(
    ("change", "path", "problem"),
    [
        ({"nme": "x"}, "nme", f"{CLUSTER} has no such field"),
        ({"lb_policy": "BEST"}, "lb_policy", f"must be a value of {CLUSTER}.LbPolicy"),
        ({"connect_timeout": "soon"}, "connect_timeout", "is not a valid google.protobuf.Duration"),
        ({"name": 7}, "name", "must be a text"),
        ({"load_assignment": [1]}, "load_assignment", "must be an object: envoy.config.endpoint.v3.ClusterLoadAssignment"),
        ({"load_assignment": {"cluster_name": "x", "endpoints": {}}}, "load_assignment.endpoints", "must be a list"),
        (
            {"load_assignment": {"cluster_name": "x", "endpoints": [{}, {"lb_endpoints": [{"endpoint": {"address": {"socket_address": {"port_value": -1}}}}]}]}},
            "load_assignment.endpoints[1].lb_endpoints[0].endpoint.address.socket_address.port_value",
            "must be a whole number of 32 bits, not negative",
        ),
        (
            {"load_assignment": {"cluster_name": "x", "named_endpoints": {"a": {"addres": {}}}}},
            'load_assignment.named_endpoints["a"].addres',
            "envoy.config.endpoint.v3.Endpoint has no such field",
        ),
        ({"transport_socket": {"name": "t", "typed_config": {"@type": TYPES + "no.Such"}}}, "transport_socket.typed_config.@type", "is not a type of this schema"),
        ({"transport_socket": {"name": "t", "typed_config": {"a": 1}}}, "transport_socket.typed_config.@type", "is missing"),
        ({"transport_socket": {"name": "t", "typed_config": 1}}, "transport_socket.typed_config", "must be an object with @type"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(change: JsonObject, path: str, problem: str) -> None:
    assert refusals(CLUSTER, cluster("x") | change) == {path: problem}


def test_fields_inside_a_typed_config_are_found() -> None:
    inner = "filter_chains[0].filters[0].typed_config"
    assert refusals(LISTENER, listener("l", 80, rds=rds("r"), stat_prefx="l")) == {
        f"{inner}.stat_prefx": f"{HCM} has no such field"
    }


def test_of_a_oneof_one_field_can_be_set() -> None:
    table = routes("r", "a")
    table["virtual_hosts"][0]["routes"][0]["match"]["path"] = "/x"
    assert refusals(ROUTES, table) == {
        "virtual_hosts[0].routes[0].match.path": "cannot be set beside prefix"
    }


def test_every_field_that_is_wrong_is_named_up_to_ten() -> None:
    assert refusals(CLUSTER, {"a": 1, "b": 2}).keys() == {"a", "b"}
    assert len(refusals(CLUSTER, {f"x{n}": 1 for n in range(99)})) == 10


def test_values_are_not_shown() -> None:
    """A key in the wrong field must not reach an event or a log."""
    for value in (
        {"name": "s", "tls_certificate": {"private_key": {"inline_string": [KEY]}}},
        {"name": "s", "tls_certificate": {"private_key": KEY}},
        {"name": [KEY]},
        {"name": "s", "tls_certificate": {"private_key": {"inline_bytes": {"key": KEY}}}},
    ):
        with pytest.raises(ResourceRefused) as refused:
            small_schema().make(SECRET, value)
        assert "PRIVATE" not in str(refused.value)
        assert refused.value.__cause__ is None


def test_nesting_is_bounded() -> None:
    deep: JsonObject = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert refusals("envoy.service.runtime.v3.Runtime", {"name": "r", "layer": deep}) == {
        "": "is nested deeper than 80 levels"
    }


def test_an_unknown_type_of_resource_is_a_matter_of_the_schema() -> None:
    with pytest.raises(SchemaUnusable, match=r"no message no\.Such"):
        small_schema().make("no.Such", {})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["@type", "name", "type", "value", "endpoints", "load_assignment", "typed_config",
                 "transport_socket", "connect_timeout", "lb_endpoints", "seconds", "named_endpoints"]
            ),
            inner | st.sampled_from([TYPES + CLUSTER, TYPES + "google.protobuf.Duration", "1s"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.sampled_from(["load_assignment", "transport_socket", "name"]), JSON))
def test_any_json_is_taken_or_refused(value: Any) -> None:
    with suppress(ResourceRefused):
        assert small_schema().make(CLUSTER, value) is not None
