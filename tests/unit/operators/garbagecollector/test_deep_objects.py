"""Objects that are too deep to be read keep what they might use."""

from certwright.api.managedresources import ManagedResource
from certwright.kube.kinds import ControllerRevision
from certwright.operators.garbagecollector.decision import ObjectKey
from certwright.operators.garbagecollector.snapshot import note_unreadable

KEYS = {ObjectKey("Secret", "shop", "a"), ObjectKey("ConfigMap", "lab", "b")}
DEEP = b'{"metadata":{"name":"r","namespace":"shop"},"data":%b}' % (b"[" * 5_000 + b"]" * 5_000)


def test_everything_in_their_namespace() -> None:
    users: dict[ObjectKey, str] = {}
    note_unreadable(users, KEYS, ControllerRevision, DEEP)
    assert users == {
        ObjectKey("Secret", "shop", "a"): (
            "ControllerRevision shop/r, which is too deep to be read"
        )
    }


def test_managed_resources_reach_further() -> None:
    users: dict[ObjectKey, str] = {}
    note_unreadable(users, KEYS, ManagedResource.resource, DEEP)
    assert users.keys() == KEYS
