"""What holds for every history of applies and updates."""

import copy
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from certwright.apiserver.fields import manager as fieldmanager
from certwright.apiserver.fields.fieldset import intersection, is_subset, union
from certwright.apiserver.fields.managedfields import read
from certwright.apiserver.fields.merge import merge
from certwright.apiserver.fields.typed import owned
from certwright.apiserver.kinds.kind import ServedKind
from certwright.kube import JsonObject
from certwright.kube.errors import Conflict

NOW = "2026-01-01T00:00:00Z"
words = st.sampled_from(["a", "b", "c"])
numbers = st.integers(1, 3)
items: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {"name": words}, optional={"image": words}
)
specs: st.SearchStrategy[JsonObject] = st.fixed_dictionaries(
    {"replicas": numbers},
    optional={
        "title": words,
        "labels": st.dictionaries(words, words, min_size=1),
        "selector": st.dictionaries(words, words, min_size=1),
        "nested": st.fixed_dictionaries(
            {"x": numbers}, optional={"y": st.fixed_dictionaries({"z": words})}
        ),
        "items": st.lists(items, unique_by=lambda item: item["name"], min_size=1, max_size=3),
        "tags": st.lists(words, unique=True, min_size=1),
        "args": st.lists(words, max_size=2),
        "free": st.dictionaries(
            words,
            st.one_of(words, numbers, st.dictionaries(words, words, min_size=1)),
            min_size=1,
        ),
    },
)
writes = st.lists(
    st.tuples(st.sampled_from(["apply", "force", "update"]), st.sampled_from(["m1", "m2"]), specs),
    max_size=5,
)
# the fixture is a constant description of a kind
anything = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def a_thing(spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.dev/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": spec,
    }


class Things:
    """Things being written; the plain class keeps hypothesis from printing their schema."""

    def __init__(self, kind: ServedKind) -> None:
        self.kind = kind

    def after(self, steps: list[tuple[str, str, Any]]) -> dict[str, Any] | None:
        """Carry out a history; refusals leave the object as it is."""
        live: dict[str, Any] | None = None
        for verb, manager, spec in steps:
            live = self.write(live, verb, manager, spec)
        return live

    def write(
        self, live: dict[str, Any] | None, verb: str, manager: str, spec: Any
    ) -> dict[str, Any] | None:
        obj = a_thing(copy.deepcopy(spec))
        if verb == "update":
            return fieldmanager.update(live, obj, kind=self.kind, manager=manager, time=NOW)
        try:
            applied = fieldmanager.apply(
                live, obj, kind=self.kind, manager=manager, force=verb == "force", time=NOW
            )
        except Conflict:
            return live
        # what empties a container leaves a null, which validation refuses
        return live if b"null" in orjson.dumps(applied["spec"]) else applied


@pytest.fixture
def things(thing: ServedKind) -> Things:
    return Things(thing)


@anything
@given(steps=writes, spec=specs)
def test_applying_twice_is_applying_once(things: Things, steps: Any, spec: Any) -> None:
    live = things.after(steps)
    once = things.write(live, "force", "m1", spec)

    assert things.write(once, "apply", "m1", spec) is once


@anything
@given(steps=writes, spec=specs)
def test_forcing_a_configuration_makes_it_so(things: Things, steps: Any, spec: Any) -> None:
    live = things.after(steps)
    after = things.write(live, "force", "m1", spec)
    assume(after is not live)

    assert after is not None
    config = a_thing(spec)
    assert merge(after, config, things.kind.schema) == after
    mine = {m: e for m, e in read(after).items() if m.name == "m1" and m.operation == "Apply"}
    mentioned = owned({"spec": spec}, things.kind.schema)
    assert [entry.fields for entry in mine.values()] == ([mentioned] if mentioned else [])


@anything
@given(steps=writes, spec=specs)
def test_arguments_are_left_alone(things: Things, steps: Any, spec: Any) -> None:
    live = things.after(steps)
    before = copy.deepcopy(live)
    config = a_thing(spec)
    given_config = copy.deepcopy(config)

    things.write(live, "force", "m1", spec)
    fieldmanager.update(live, config, kind=things.kind, manager="m1", time=NOW)

    assert live == before
    assert config == given_config


@anything
@given(steps=writes)
def test_whatever_was_written_has_an_owner(things: Things, steps: Any) -> None:
    live = things.after(steps)
    if live is None:
        return
    everybody: dict[str, Any] = {}
    for entry in read(live).values():
        everybody = union(everybody, entry.fields)

    leaves = owned({"spec": live.get("spec")}, things.kind.schema)

    assert is_subset(leaves, everybody)


@anything
@given(steps=writes, spec=specs)
def test_applying_without_force_takes_nothing_from_others(
    things: Things, steps: Any, spec: Any
) -> None:
    live = things.after(steps)
    after = things.write(live, "apply", "m1", spec)
    if live is None or after is live:
        return

    assert after is not None
    left = owned({"spec": after.get("spec")}, things.kind.schema)
    owners = read(after)
    for manager, entry in read(live).items():
        if manager.name != "m1":
            # Whoever brought in the item of a list takes it away with all that is in it.
            theirs = owners[manager].fields if manager in owners else {}
            assert is_subset(intersection(entry.fields, left), theirs)
