"""What counts as applied is what another apply would not change: the server is the judge."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from certwright.apiserver.fields import manager as fieldmanager
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube.comparison import is_applied, own_fields

NAMES = st.sampled_from("abc")
TEXTS = st.sampled_from(["", "x", "y", "1", "1000m"])
LABELS = st.dictionaries(NAMES, TEXTS, max_size=2)


def item(**fields: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


def unique(items: st.SearchStrategy[Any], key: str) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=3, unique_by=lambda one: one[key])


SPECS = item(
    replicas=st.sampled_from([0, 1, 2]),
    title=TEXTS,
    paused=st.booleans(),
    labels=LABELS,
    selector=LABELS,
    nested=item(x=st.integers(0, 2), y=item(z=TEXTS)),
    items=unique(
        st.fixed_dictionaries(
            {"name": NAMES}, optional={"image": TEXTS, "args": st.lists(TEXTS, max_size=2)}
        ),
        "name",
    ),
    ports=unique(
        st.fixed_dictionaries(
            {"port": st.integers(1, 3), "protocol": st.just("TCP")}, optional={"note": TEXTS}
        ),
        "port",
    ),
    tags=st.lists(NAMES, max_size=3, unique=True),
    args=st.lists(TEXTS, max_size=2),
    free=item(a=st.none() | st.integers(0, 1) | st.booleans(), b=LABELS),
)


def thing_with(spec: Any) -> dict[str, Any]:
    head = {"apiVersion": "example.dev/v1", "kind": "Thing"}
    return {**head, "metadata": {"name": "t", "namespace": "ns"}, "spec": spec}


Apply = Callable[..., Any]
relaxed = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)


@pytest.fixture
def apply(thing: ServedKind) -> Apply:
    """Apply a spec by force, as a server does."""

    def act(live: Any, spec: Any, manager: str = "me") -> Any:
        options: Any = {"manager": manager, "force": True, "time": "2026-01-01T00:00:00Z"}
        return fieldmanager.apply(live, thing_with(spec), kind=thing, **options)

    return act


@relaxed
@given(st.data())
def test_what_is_taken_for_applied_would_not_be_changed(apply: Apply, data: Any) -> None:
    live = apply(None, data.draw(SPECS))
    for manager in data.draw(st.lists(st.sampled_from(["me", "other"]), max_size=2)):
        live = apply(live, data.draw(SPECS), manager)
    desired = data.draw(SPECS)
    mine = own_fields(live["metadata"].get("managedFields", []), "me")
    if mine is not None and is_applied(live, mine, thing_with(desired)):
        after = apply(live, desired)
        assert _significant(after) == _significant(live)


@relaxed
@given(SPECS)
def test_what_was_just_applied_is_applied(apply: Apply, spec: Any) -> None:
    live = apply(None, spec)
    mine = own_fields(live["metadata"].get("managedFields", []), "me")
    assert mine is None or is_applied(live, mine, thing_with(spec))


def _significant(value: Any) -> Any:
    """Return a value without what means nothing: nulls, and what is empty."""
    if isinstance(value, dict):
        parts = {name: _significant(part) for name, part in value.items()}
        present = {name: part for name, part in parts.items() if part not in (None, {}, [])}
        present.pop("managedFields", None)
        return present
    if isinstance(value, list):
        return [_significant(part) for part in value]
    return value
