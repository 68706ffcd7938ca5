"""Objects go with their owners."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.component.apiserver.conftest import Api

from certwright.kube import JsonObject


@pytest.fixture
def owned(api: Api, maps: str, config_map: Callable[..., Any]) -> Callable[..., Any]:
    """A way to create an object owned by others."""

    def create(name: str, *owners: str, block: bool = False, **metadata: Any) -> JsonObject:
        references = [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": owner,
                "uid": api.get(f"{maps}/{owner}").body["metadata"]["uid"],
                **({"blockOwnerDeletion": True} if block else {}),
            }
            for owner in owners
        ]
        value: JsonObject = api.create(
            maps, config_map(name, ownerReferences=references, **metadata)
        ).body
        return value

    return create


def test_dependents_follow_their_owner_at_every_depth(
    api: Api, maps: str, config_map: Callable[..., Any], owned: Callable[..., Any]
) -> None:
    api.create(maps, config_map("owner"))
    owned("child", "owner")
    owned("grandchild", "child")

    api.delete(f"{maps}/owner")

    assert api.names(maps) == []


def test_an_object_with_another_owner_stays_and_forgets_the_first(
    api: Api, maps: str, config_map: Callable[..., Any], owned: Callable[..., Any]
) -> None:
    api.create(maps, config_map("one"))
    api.create(maps, config_map("two"))
    owned("child", "one", "two")

    api.delete(f"{maps}/one")

    owners = api.get(f"{maps}/child").body["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in owners] == ["two"]


def test_an_owner_is_known_by_its_uid(api: Api, maps: str, config_map: Callable[..., Any]) -> None:
    api.create(maps, config_map("owner"))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": "of-an-earlier-one",
    }

    api.create(maps, config_map("child", ownerReferences=[reference]))

    assert api.names(maps) == ["owner"]


def test_owners_are_looked_for_in_the_same_namespace(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    uid = api.create(maps, config_map("owner")).body["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    elsewhere = "/api/v1/namespaces/kube-system/configmaps"

    api.create(elsewhere, config_map("child", ownerReferences=[reference]))

    assert api.names(elsewhere) == []


def test_nothing_is_collected_for_owners_of_unknown_kinds(
    api: Api, maps: str, config_map: Callable[..., Any]
) -> None:
    reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "u"}

    api.create(maps, config_map("child", ownerReferences=[reference]))

    assert api.names(maps) == ["child"]


def test_orphans_lose_their_owner_and_stay(
    api: Api, maps: str, config_map: Callable[..., Any], owned: Callable[..., Any]
) -> None:
    api.create(maps, config_map("owner"))
    owned("child", "owner")

    api.delete(f"{maps}/owner", {"propagationPolicy": "Orphan"})

    assert api.names(maps) == ["child"]
    assert "ownerReferences" not in api.get(f"{maps}/child").body["metadata"]


def test_in_foreground_an_owner_waits_for_those_that_block_it(
    api: Api, maps: str, config_map: Callable[..., Any], owned: Callable[..., Any]
) -> None:
    api.create(maps, config_map("owner"))
    owned("child", "owner", block=True, finalizers=["x.io/slow"])

    begun = api.delete(f"{maps}/owner", {"propagationPolicy": "Foreground"}).body["metadata"]
    assert begun["finalizers"] == ["foregroundDeletion"]
    assert api.names(maps) == ["child", "owner"]
    assert api.get(f"{maps}/child").body["metadata"]["deletionTimestamp"]
    api.merge(f"{maps}/child", {"metadata": {"finalizers": None}})

    assert api.names(maps) == []


def test_in_foreground_an_owner_does_not_wait_for_others(
    api: Api, maps: str, config_map: Callable[..., Any], owned: Callable[..., Any]
) -> None:
    api.create(maps, config_map("owner"))
    owned("child", "owner", finalizers=["x.io/slow"])

    api.delete(f"{maps}/owner", {"propagationPolicy": "Foreground"})

    assert api.names(maps) == ["child"]


def test_the_time_in_between_can_be_shown(
    api: Api, maps: str, config_map: Callable[..., Any], owned: Callable[..., Any]
) -> None:
    api.create(maps, config_map("owner"))
    owned("child", "owner")
    api.server.background.paused = True

    api.delete(f"{maps}/owner")
    assert api.names(maps) == ["child"]
    assert not api.server.background.is_idle
    api.server.background.paused = False
    api.server.background.run()

    assert api.names(maps) == []
    assert api.server.background.is_idle
