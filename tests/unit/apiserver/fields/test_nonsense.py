"""Whatever a client sends is refused or carried out, never a crash."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certwright.apiserver.fields import manager as fieldmanager
from certwright.apiserver.kinds.kind import ServedKind
from certwright.apiserver.patch.strategic import strategic_merge
from certwright.apiserver.schema.schema import Schema
from certwright.kube.errors import ApiError

NOW = "2026-01-01T00:00:00Z"
FIELDS = ["replicas", "title", "labels", "selector", "nested", "items", "ports", "tags", "free"]
DIRECTIVES = ["$patch", "$retainKeys", "$setElementOrder/items", "$deleteFromPrimitiveList/tags"]
scalars = st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-1, 1) | st.text(max_size=2)


def documents(keys: list[str]) -> st.SearchStrategy[Any]:
    names = st.sampled_from([*keys, "name", "port", "x", "a"])
    return st.recursive(
        scalars | st.sampled_from(["delete", "replace", "merge"]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
        max_leaves=12,
    )


class Things:
    """A thing that is there; the plain class keeps hypothesis from printing its schema."""

    def __init__(self, kind: ServedKind) -> None:
        self.kind = kind
        spec = {
            "labels": {"a": "1"},
            "nested": {"x": 1},
            "items": [{"name": "a"}, {"name": "b"}],
            "tags": ["a"],
            "free": {"a": {"b": 1}},
        }
        config = {"apiVersion": "example.dev/v1", "kind": "Thing", "spec": spec}
        self.live = fieldmanager.apply(
            None, config, kind=kind, manager="one", force=False, time=NOW
        )


@pytest.fixture
def things(thing: ServedKind) -> Things:
    return Things(thing)


anything = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@anything
@given(
    fields=st.dictionaries(
        st.sampled_from(["apiVersion", "kind", "metadata", "spec", "status"]), documents(FIELDS)
    )
)
def test_applying(things: Things, fields: dict[str, Any]) -> None:
    for config in (fields, {**fields, "apiVersion": "example.dev/v1", "kind": "Thing"}):
        with suppress(ApiError):
            fieldmanager.apply(
                things.live, config, kind=things.kind, manager="two", force=True, time=NOW
            )


@anything
@given(
    spec=documents(FIELDS),
    entries=documents([])
    | st.lists(
        st.fixed_dictionaries(
            {
                "operation": st.sampled_from(["Apply", "Update"]) | documents([]),
                "apiVersion": st.just("example.dev/v1") | documents([]),
                "fieldsType": st.just("FieldsV1"),
            },
            optional={
                "manager": documents([]),
                "time": st.just("2026-01-01") | documents([]),
                "subresource": documents([]),
                "fieldsV1": documents(["f:spec", "f:tags", "v:1", "v:{", "k:{}", "k:1", "."]),
            },
        )
    ),
)
def test_updating(things: Things, spec: Any, entries: Any) -> None:
    new = {**things.live, "metadata": {"managedFields": entries}, "spec": spec}

    updated = fieldmanager.update(things.live, new, kind=things.kind, manager="two", time=NOW)

    assert updated["spec"] == spec


@given(live=documents(FIELDS), patch=documents(FIELDS + DIRECTIVES))
def test_patching_strategically(live: Any, patch: Any) -> None:
    schema = Schema(
        "object",
        properties={
            "items": Schema("array", patch_merge_key="name"),
            "tags": Schema("array", patch_merge=True),
        },
    )
    if not isinstance(live, dict) or not isinstance(patch, dict):
        return
    with suppress(ApiError):
        assert isinstance(strategic_merge(live, patch, schema), dict)
