"""Objects go with their owners."""

import pytest


@pytest.fixture
def owned(api, maps, config_map):
    """A way to create an object owned by others."""

    def create(name, *owners, block=False, **metadata):
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
        return api.create(maps, config_map(name, ownerReferences=references, **metadata)).body

    return create


def test_dependents_follow_their_owner_at_every_depth(api, maps, config_map, owned):
    api.create(maps, config_map("owner"))
    owned("child", "owner")
    owned("grandchild", "child")

    api.delete(f"{maps}/owner")

    assert api.names(maps) == []


def test_an_object_with_another_owner_stays_and_forgets_the_first(api, maps, config_map, owned):
    api.create(maps, config_map("one"))
    api.create(maps, config_map("two"))
    owned("child", "one", "two")

    api.delete(f"{maps}/one")

    owners = api.get(f"{maps}/child").body["metadata"]["ownerReferences"]
    assert [owner["name"] for owner in owners] == ["two"]


def test_an_owner_is_known_by_its_uid(api, maps, config_map):
    api.create(maps, config_map("owner"))
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "owner",
        "uid": "of-an-earlier-one",
    }

    api.create(maps, config_map("child", ownerReferences=[reference]))

    assert api.names(maps) == ["owner"]


def test_owners_are_looked_for_in_the_same_namespace(api, maps, config_map):
    uid = api.create(maps, config_map("owner")).body["metadata"]["uid"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}
    elsewhere = "/api/v1/namespaces/kube-system/configmaps"

    api.create(elsewhere, config_map("child", ownerReferences=[reference]))

    assert api.names(elsewhere) == []


def test_nothing_is_collected_for_owners_of_unknown_kinds(api, maps, config_map):
    reference = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "u"}

    api.create(maps, config_map("child", ownerReferences=[reference]))

    assert api.names(maps) == ["child"]


def test_orphans_lose_their_owner_and_stay(api, maps, config_map, owned):
    api.create(maps, config_map("owner"))
    owned("child", "owner")

    api.delete(f"{maps}/owner", {"propagationPolicy": "Orphan"})

    assert api.names(maps) == ["child"]
    assert "ownerReferences" not in api.get(f"{maps}/child").body["metadata"]


def test_in_foreground_an_owner_waits_for_those_that_block_it(api, maps, config_map, owned):
    api.create(maps, config_map("owner"))
    owned("child", "owner", block=True, finalizers=["x.io/slow"])

    begun = api.delete(f"{maps}/owner", {"propagationPolicy": "Foreground"}).body["metadata"]
    assert begun["finalizers"] == ["foregroundDeletion"]
    assert api.names(maps) == ["child", "owner"]
    assert api.get(f"{maps}/child").body["metadata"]["deletionTimestamp"]
    api.merge(f"{maps}/child", {"metadata": {"finalizers": None}})

    assert api.names(maps) == []


def test_in_foreground_an_owner_does_not_wait_for_others(api, maps, config_map, owned):
    api.create(maps, config_map("owner"))
    owned("child", "owner", finalizers=["x.io/slow"])

    api.delete(f"{maps}/owner", {"propagationPolicy": "Foreground"})

    assert api.names(maps) == ["child"]


def test_the_time_in_between_can_be_shown(api, maps, config_map, owned):
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
