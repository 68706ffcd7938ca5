"""Who depends on a ManagedResource: they are looked at whenever it changes."""

from collections.abc import Callable, Iterable
from typing import Final

import msgspec
from msgspec import Struct

from certwright.kube import Key
from certwright.runtime import Entry, Store

DEPENDENCIES: Final = "dependencies"
"""The index that finds ManagedResources by what they depend on."""


class _Dependency(Struct):
    name: str = ""


class _Spec(Struct, rename="camel"):
    depends_on: list[_Dependency] = []


class _Depending(Struct):
    spec: _Spec


_DECODER: Final = msgspec.json.Decoder(_Depending)


def dependencies_of(entry: Entry) -> Iterable[Key]:
    """Return the ManagedResources that one waits for."""
    namespace = entry.key.namespace
    found = _DECODER.decode(entry.raw).spec.depends_on
    return {Key(namespace, dependency.name): None for dependency in found}


def wake_dependants(store: Store, wake: Callable[[Key], None]) -> None:
    """Wake those who depend on a ManagedResource whenever it appears, changes or goes."""

    def on_change(old: Entry | None, new: Entry | None) -> None:
        changed = new or old
        if changed is None or not store.synced:
            return
        for dependant in store.by_index(DEPENDENCIES, changed.key):
            wake(dependant.key)

    store.listen(on_change)
