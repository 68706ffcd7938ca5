"""ManagedResources for decisions about them."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from certwright.api.managedresources import ManagedResource

Make = Callable[..., ManagedResource]


@pytest.fixture
def make() -> Make:
    """Return a function that makes a ManagedResource from metadata and parts of it."""

    def build(
        *, spec: Any = None, status: Any = None, class_: str | None = None, **metadata: Any
    ) -> ManagedResource:
        wanted = {"secretRefs": [], **(spec or {})}
        if class_ is not None:
            wanted["class"] = class_
        place = {"namespace": "garden", "name": "mr", "generation": 1, **metadata}
        obj = {"metadata": place, "spec": wanted, "status": status or {}}
        return msgspec.convert(obj, ManagedResource)

    return build
