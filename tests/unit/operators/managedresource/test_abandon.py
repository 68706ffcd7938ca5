"""What a ManagedResource that is gone leaves behind."""

from types import SimpleNamespace
from typing import Any

from certwright.keep.state import SetStates
from certwright.kube import Key
from certwright.operators.managedresource.configuration import Controllers
from certwright.operators.managedresource.deletion import ResourceDeletion
from certwright.operators.managedresource.state import ResourceState
from certwright.runtime import Backoff

WEB = Key("default", "web")


class Shards:
    """Releases shards; while the first one is released, another is deleted."""

    def __init__(self, states: SetStates[ResourceState]) -> None:
        self.released: list[str] = []
        self._states = states

    async def release(self, key: Key) -> None:
        if not self.released:
            self._states.of(WEB).touched.add("second")
        self.released.append(key.name)

    def forget(self, key: Key) -> None:
        raise AssertionError(f"{key} is not remembered")


async def test_shards_that_are_deleted_meanwhile_go_as_well() -> None:
    states = SetStates(ResourceState)
    shards: Any = Shards(states)
    kept: Any = SimpleNamespace(states=states)
    metrics: Any = SimpleNamespace(forget=lambda _key: None)
    owners: Any = None
    deletion = ResourceDeletion(Controllers(), kept, shards, owners, metrics, Backoff())
    states.of(WEB).touched.add("first")
    await deletion.abandon(WEB)
    assert shards.released == ["first", "second"]
    assert states.known(WEB) is None
