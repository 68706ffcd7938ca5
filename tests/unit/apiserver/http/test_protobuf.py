"""Protobuf bodies, made by hand field by field."""

import json

import pytest

from certwright.apiserver.http.protobuf import to_json
from certwright.kube import JsonObject
from certwright.kube.errors import BadRequest


def field(number: int, value: bytes | int | str) -> bytes:
    """Encode a field: integers as varints, bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value % (1 << 64))
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def varint(value: int) -> bytes:
    encoded = b""
    while value > 0x7F:
        encoded += bytes([value & 0x7F | 0x80])
        value >>= 7
    return encoded + bytes([value])


def envelope(api_version: str, kind: str, message: bytes) -> bytes:
    named = field(1, api_version) + field(2, kind)
    return b"k8s\0" + field(1, named) + field(2, message) + field(3, b"") + field(4, b"")


def decoded(api_version: str, kind: str, message: bytes) -> JsonObject:
    value: JsonObject = json.loads(to_json(envelope(api_version, kind, message)))
    return value


METADATA = field(1, field(1, "a") + field(8, b"") + field(11, field(1, "app") + field(2, "web")))


def test_maps_bytes_and_metadata() -> None:
    secret = METADATA + field(2, field(1, "k") + field(2, b"\x00\x01")) + field(3, "Opaque")

    assert decoded("v1", "Secret", secret) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "creationTimestamp": None, "labels": {"app": "web"}},
        "data": {"k": "AAE="},
        "type": "Opaque",
    }


def test_numbers_times_and_choices() -> None:
    """minAvailable is text or a number; both are a message of their own."""
    budget = decoded(
        "policy/v1", "PodDisruptionBudget", field(2, field(1, field(1, 1) + field(3, "50%")))
    )
    assert budget["spec"] == {"minAvailable": "50%"}
    budget = decoded(
        "policy/v1", "PodDisruptionBudget", field(2, field(1, field(1, 0) + field(2, -3)))
    )
    assert budget["spec"] == {"minAvailable": -3}
    time = field(1, field(8, field(1, 1_893_456_000)))
    assert decoded("v1", "ConfigMap", time)["metadata"] == {
        "creationTimestamp": "2030-01-01T00:00:00Z"
    }
    lease = field(2, field(3, field(1, 1_893_456_000) + field(2, 5000)))
    assert decoded("coordination.k8s.io/v1", "Lease", lease)["spec"] == {
        "acquireTime": "2030-01-01T00:00:00.000005Z"
    }


def test_embedded_messages_are_part_of_the_outer_one() -> None:
    volume = field(1, "v") + field(2, field(19, field(1, field(1, "cm"))))

    pod = decoded("v1", "Pod", field(2, field(1, volume)))

    assert pod["spec"] == {"volumes": [{"name": "v", "configMap": {"name": "cm"}}]}


def test_quantities_and_lists_in_maps() -> None:
    quota = decoded(
        "v1", "ResourceQuota", field(2, field(1, field(1, "cpu") + field(2, field(1, "500m"))))
    )
    assert quota["spec"] == {"hard": {"cpu": "500m"}}
    extra = field(5, field(1, "scopes") + field(2, field(1, "x") + field(1, "y")))
    review = decoded("authorization.k8s.io/v1", "SubjectAccessReview", field(2, extra))
    assert review["spec"] == {"extra": {"scopes": ["x", "y"]}}


def test_unknown_fields_are_skipped() -> None:
    assert decoded("v1", "ConfigMap", field(99, "later")) == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
    }


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"k8s\0",
        b"k8s\0\xff",
        b"k8s\0" + b"\xff" * 20,
        envelope("v1", "ConfigMap", b"\x0a\x7f"),
        envelope("v1", "ConfigMap", b"\x0b"),
        envelope("example.com/v1", "Widget", b""),
        envelope("v1", "Secret", field(2, field(1, b"\xff\xfe"))),
    ],
)
def test_malformed_bodies_are_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        to_json(body)
