"""The schema that a real Envoy carries."""

import pytest
from tests.support.envoy.filexds import real_schema, require_envoy
from tests.support.envoy.resources import cluster, listener, rds
from tests.support.envoy.smallschema import small_schema

from certwright.xds.schema import references
from certwright.xds.schema.descriptors import descriptors_in_binary

pytestmark = pytest.mark.real


def test_an_envoy_carries_hundreds_of_files() -> None:
    files = {file.name for file in descriptors_in_binary(require_envoy()).file}
    assert len(files) >= 500
    assert "validate/validate.proto" in files
    assert not any(name.startswith("envoy/api/v2") for name in files)


def test_everything_that_is_looked_up_by_name_exists() -> None:
    schema = real_schema()
    names = [*references.WORDS, *references._READERS]
    assert [name for name in names if not schema.has(name)] == []


def test_rules_are_found_on_more_than_a_thousand_fields() -> None:
    schema = real_schema()
    constraints = schema._constraints
    for file in descriptors_in_binary(require_envoy()).file:
        if file.name.startswith("envoy/"):
            for message in file.message_type:
                found = schema.pool.FindMessageTypeByName(f"{file.package}.{message.name}")
                read(constraints, found)
    assert constraints.count() > 1200


def read(constraints: object, descriptor: object) -> None:
    constraints._read(descriptor)  # type: ignore[attr-defined]
    for nested in descriptor.nested_types:  # type: ignore[attr-defined]
        if not nested.GetOptions().map_entry:
            read(constraints, nested)


def test_the_small_schema_of_the_tests_is_a_part_of_it() -> None:
    small, real = small_schema(), real_schema()
    for name in SMALL:
        ours, theirs = (one.pool.FindMessageTypeByName(name) for one in (small, real))
        for field in ours.fields:
            other = theirs.fields_by_name[field.name]
            assert (field.number, field.type) == (other.number, other.type), field.full_name
    for kind, value in (
        (references.CLUSTER, cluster("a")),
        (references.LISTENER, listener("l", 80, rds=rds("r"))),
    ):
        encoded = [
            one.make(kind, value).SerializeToString(deterministic=True) for one in (small, real)
        ]
        assert encoded[0] == encoded[1]


SMALL = (
    "envoy.config.cluster.v3.Cluster",
    "envoy.config.core.v3.ConfigSource",
    "envoy.config.core.v3.DataSource",
    "envoy.config.endpoint.v3.ClusterLoadAssignment",
    "envoy.config.listener.v3.Listener",
    "envoy.config.route.v3.RouteAction",
    "envoy.config.route.v3.RouteConfiguration",
    "envoy.config.route.v3.ScopedRouteConfiguration",
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
    "envoy.extensions.transport_sockets.tls.v3.Secret",
    "envoy.extensions.transport_sockets.tls.v3.SdsSecretConfig",
    "envoy.service.runtime.v3.Runtime",
)
