from hashlib import sha256

import pytest
from msgspec import convert

from certwright.api.envoyconfigs import EnvoyConfigRevisionSpec, EnvoyConfigSpec
from certwright.kube import JsonObject
from certwright.kube.names import dns_subdomain_problems, label_value_problems
from certwright.operators.discoveryservice.config.versions import (
    NODE_ID_LABEL,
    content_of,
    revision_labels,
    revision_name,
    same_content,
    version_of,
)


def spec(**more: object) -> EnvoyConfigSpec:
    return convert({"nodeID": "n", **more}, EnvoyConfigSpec)


def value(**more: object) -> list[JsonObject]:
    return [{"type": "cluster", "value": more}]


def test_a_version_is_ten_digits_of_a_digest() -> None:
    version = version_of(spec(resources=value(name="a")))
    canonical = b'{"resources":[{"type":"cluster","value":{"name":"a"}}]}'
    assert version == sha256(canonical).hexdigest()[:10]


def test_equal_content_has_one_version() -> None:
    one = version_of(spec(resources=value(a=1, b=2)))
    assert one == version_of(spec(resources=value(b=2, a=1)))
    assert one == version_of(spec(resources=value(a=1, b=2), envoyAPI="v3", serialization="yaml"))
    assert one != version_of(spec(resources=value(a=1, b=3)))


def test_serialization_counts_where_texts_are_read() -> None:
    lists = {"clusters": [{"value": "{}"}]}
    plain = version_of(spec(envoyResources=lists))
    assert plain == version_of(spec(envoyResources=lists, serialization="json"))
    assert plain != version_of(spec(envoyResources=lists, serialization="yaml"))


def test_a_revision_is_recognised_by_its_content() -> None:
    config = spec(resources=value(name="a"))
    copied = {**content_of(config), "version": version_of(config)}
    assert same_content(convert(copied, EnvoyConfigRevisionSpec))
    edited = {**copied, "resources": value(name="b")}
    assert not same_content(convert(edited, EnvoyConfigRevisionSpec))
    upstream = {**edited, "version": "8574f8d8c5f7"}
    assert same_content(convert(upstream, EnvoyConfigRevisionSpec))


@pytest.mark.parametrize("node_id", ["gateway", "a/b", "X" * 250, "ümlaut", "-"])
def test_names_and_labels_are_valid_for_any_node_id(node_id: str) -> None:
    name = revision_name(node_id, "0123456789")
    assert not dns_subdomain_problems(name)
    assert name.endswith("-v3-0123456789")
    assert not label_value_problems(revision_labels(node_id, "0123456789")[NODE_ID_LABEL])


def test_a_plain_node_id_can_be_read_in_the_name() -> None:
    assert revision_name("gateway", "0123456789") == "gateway-v3-0123456789"
    assert revision_name("a.b", "0") != revision_name("a/b", "0")
    assert revision_labels("gateway", "0")[NODE_ID_LABEL] == "gateway"
