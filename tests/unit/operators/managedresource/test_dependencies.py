from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.operators.managedresource.conftest import Make

from certwright.kube import JsonObject
from certwright.managed.dependencies import (
    Blocked,
    blocked_by,
    dependencies,
    find_cycle,
    unready,
)

GOOD = {
    "observedGeneration": 1,
    "conditions": [
        {"type": "ResourcesApplied", "status": "True"},
        {"type": "ResourcesHealthy", "status": "True"},
    ],
}


def conditions(applied: str, healthy: str) -> dict[str, Any]:
    return {
        "observedGeneration": 1,
        "conditions": [
            {"type": "ResourcesApplied", "status": applied},
            {"type": "ResourcesHealthy", "status": healthy},
        ],
    }


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({"status": GOOD}, ""),
        ({"status": GOOD, "generation": 2}, "is not applied yet"),
        ({}, "is not applied yet"),
        ({"status": conditions("False", "True")}, "is not applied"),
        ({"status": conditions("Progressing", "True")}, "is not applied"),
        ({"status": conditions("True", "False")}, "is not healthy"),
        ({"status": conditions("True", "Unknown")}, "is not healthy"),
        ({"status": GOOD, "deletionTimestamp": "2026-01-01T00:00:00Z"}, "is being deleted"),
    ],
)
def test_what_others_wait_for(make: Make, parts: JsonObject, why: str) -> None:
    assert unready(make(**parts)) == why


def test_what_does_not_exist() -> None:
    assert unready(None) == "does not exist"


def graph(make: Callable[..., Any], **edges: str) -> Any:
    made = {
        name: make(name=name, spec={"dependsOn": [{"name": n} for n in needs.split()]}, status=GOOD)
        for name, needs in edges.items()
    }
    return made.get


@pytest.mark.parametrize(
    ("edges", "start", "cycle"),
    [
        ({"a": ""}, "a", ()),
        ({"a": "b", "b": ""}, "a", ()),
        ({"a": "a"}, "a", ("a", "a")),
        ({"a": "b", "b": "a"}, "a", ("a", "b", "a")),
        ({"a": "b", "b": "a"}, "b", ("a", "b", "a")),
        ({"c": "b", "b": "a", "a": "c"}, "b", ("a", "c", "b", "a")),
        ({"a": "b c", "b": "d", "c": "d", "d": ""}, "a", ()),
        ({"a": "b", "b": "c", "c": "b"}, "a", ()),
        ({"a": "x b", "b": "a"}, "a", ("a", "b", "a")),
    ],
    ids=[
        "alone",
        "chain",
        "itself",
        "two",
        "two from the other side",
        "three",
        "diamond",
        "beside a cycle",
        "missing",
    ],
)
def test_cycles(make: Make, edges: JsonObject, start: str, cycle: tuple[Any, ...]) -> None:
    assert find_cycle(start, graph(make, **edges)) == cycle


def test_a_long_chain_needs_no_deep_stack(make: Make) -> None:
    edges = {f"n{i}": f"n{i + 1}" for i in range(3000)} | {"n3000": "n0"}
    assert len(find_cycle("n0", graph(make, **edges))) == 3002


def test_a_dense_graph_is_walked_once(make: Make) -> None:
    names = [f"n{i}" for i in range(60)]
    calls = 0
    known = graph(make, **{name: " ".join(names[i + 1 :]) for i, name in enumerate(names)})

    def lookup(name: str) -> Any:
        nonlocal calls
        calls += 1
        return known(name)

    assert find_cycle("n0", lookup) == ()
    assert calls == 60


def test_nothing_hinders_when_all_is_ready(make: Make) -> None:
    lookup = graph(make, a="b c", b="", c="")
    assert blocked_by(lookup("a"), lookup) is None


def test_everything_that_is_not_ready_is_named(make: Make) -> None:
    lookup = graph(make, a="b missing b", b="")
    lookup("b").status.conditions.clear()
    assert blocked_by(lookup("a"), lookup) == Blocked(
        "Waiting for other ManagedResources: b is not applied, missing does not exist."
    )


def test_a_cycle_is_told_by_everybody_on_it_in_the_same_words(make: Make) -> None:
    lookup = graph(make, a="b", b="a")
    expected = Blocked("The dependencies form a cycle: a → b → a.", cyclic=True)
    assert blocked_by(lookup("a"), lookup) == blocked_by(lookup("b"), lookup) == expected


def test_who_depends_on_a_cycle_waits(make: Make) -> None:
    lookup = graph(make, z="a", a="b", b="a")
    lookup("a").status.conditions.clear()
    found = blocked_by(lookup("z"), lookup)
    assert found is not None
    assert not found.cyclic


@pytest.mark.parametrize(
    ("text", "names"),
    [("", ["a"]), ("b", ["a", "b"]), (" b , a,, c ", ["a", "b", "c"]), (",", ["a"])],
)
def test_an_annotation_names_others_besides(make: Make, text: str, names: list[str]) -> None:
    noted = {"resources.certwright.dev/depends-on": text}
    assert dependencies(make(annotations=noted, spec={"dependsOn": [{"name": "a"}]})) == names
    assert set(dependencies(make(annotations=noted))) >= set(names) - {"a"}
