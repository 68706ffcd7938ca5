"""The built-in kinds, and what happens to an object on its way in."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from certwright.apiserver.builtins import served_kinds
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.schema.structural import default
from certwright.kube.errors import Cause

Json = dict[str, Any]


@pytest.fixture(scope="session")
def kinds() -> dict[str, ServedKind]:
    """Every built-in kind by its qualified name, such as deployments.apps."""
    return {kind.resource.qualified: kind for kind in served_kinds()}


@pytest.fixture
def admit(kinds: dict[str, ServedKind]) -> Callable[..., tuple[Json, list[Cause]]]:
    """Take an object through decoding, defaults, preparation and validation."""

    def run(resource: str, old: Json | None = None, **content: Any) -> tuple[Json, list[Cause]]:
        kind = kinds[resource]
        metadata = {"name": "x", "namespace": "n"} | content.pop("metadata", {})
        obj = copy.deepcopy({"metadata": metadata, **content})
        kind.decode(obj)
        default(obj, kind.schema)
        kind.complete(obj)
        obj["metadata"] |= {"uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
        kind.prepare(obj, old)
        return obj, kind.validate(obj, old)

    return run
