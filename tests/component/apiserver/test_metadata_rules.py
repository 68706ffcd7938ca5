"""What metadata may hold, for every kind."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api

from certwright.kube import JsonObject


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (
            {"labels": {"a b": "c"}},
            'metadata.labels: Invalid value: "a b": name part must consist of',
        ),
        (
            {"labels": {"a": "c d"}},
            'metadata.labels: Invalid value: "c d": a valid label must be an empty string or',
        ),
        (
            {"annotations": {"a b": "c"}},
            'metadata.annotations: Invalid value: "a b": name part must',
        ),
        (
            {"annotations": {"a": "x" * 262144}},
            "metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
        (
            {"finalizers": ["a b"]},
            'metadata.finalizers: Invalid value: "a b": name part must consist of',
        ),
        (
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p"}]},
            'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
        ),
        (
            {"finalizers": ["orphan", "foregroundDeletion"]},
            "finalizer orphan and foregroundDeletion cannot be both set",
        ),
    ],
)
def test_metadata_that_breaks_a_rule_is_refused(
    api: Api, maps: str, config_map: Callable[..., Any], metadata: JsonObject, message: str
) -> None:
    refusal = api.create(maps, config_map("a", **metadata))

    assert refusal.status == 422
    assert refusal.body["reason"] == "Invalid"
    assert refusal.message.startswith('ConfigMap "a" is invalid: ')
    assert message in refusal.message
    assert refusal.body["details"]["kind"] == "ConfigMap"


def test_only_one_owner_is_the_controller(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    owners = [
        {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True}
        for name in ("p", "q")
    ]

    refusal = api.create(maps, config_map("a", ownerReferences=owners))

    assert refusal.status == 422
    assert (
        'Only one reference can have Controller set to true. Found "true" in references for Pod/p and Pod/q'
        in refusal.message
    )


def test_repeated_owners_are_kept_once_and_warned_about(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}
    api.server.background.paused = True  # the owner does not exist

    created = api.create(maps, config_map("a", ownerReferences=[owner, owner]))

    assert created.body["metadata"]["ownerReferences"] == [owner]
    assert "duplicate UID(s) observed: u" in created.headers["warning"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"creationTimestamp": "2000-01-01T00:00:00Z"},
        {"generation": 77},
        {"selfLink": "/nonsense"},
    ],
)
def test_some_fields_are_silently_kept(
    api: Api, maps: str, config_map: Callable[..., Any], metadata: JsonObject
) -> None:
    before = api.create(maps, config_map("a")).body["metadata"]

    after = api.merge(f"{maps}/a", {"metadata": metadata}).body["metadata"]

    for field in metadata:
        assert after.get(field) == before.get(field)


def test_the_size_of_a_body_is_bounded(api: Api, maps: str) -> None:
    refusal = api.create(maps, b'{"data":"' + b"x" * (3 * 1024 * 1024) + b'"}')

    assert refusal.status == 413
    assert refusal.body["reason"] == "RequestEntityTooLarge"


def test_the_depth_of_a_body_is_bounded(api: Api, maps: str) -> None:
    assert api.create(maps, b'{"a":' * 5000 + b"1" + b"}" * 5000).status == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"'])
def test_bodies_that_are_no_object_are_refused(api: Api, maps: str, body: bytes) -> None:
    assert api.create(maps, body).status == 400


def test_null_is_an_object_without_anything(api: Api, maps: str) -> None:
    refusal = api.create(maps, b"null")

    assert refusal.status == 422
    assert "metadata.name: Required value: name or generateName is required" in refusal.message
