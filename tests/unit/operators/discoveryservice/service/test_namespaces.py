"""Which namespaces are served, and which labels they need."""

import pytest
from tests.unit.operators.discoveryservice.service.test_render import plane

from certwright.operators.discoveryservice.service.namespaces import (
    FoundNamespace,
    NamespaceProblem,
    labels_to_remove,
    plan_namespaces,
)

OWNER, STATUS = "marin3r.3scale.net/discovery-service", "marin3r.3scale.net/status"
OURS = {OWNER: "x", STATUS: "enabled"}


def test_only_missing_labels_are_written() -> None:
    found = {
        "a": FoundNamespace({}),
        "b": FoundNamespace(OURS),
        "c": FoundNamespace({OWNER: "x", STATUS: "disabled"}),
    }
    plan = plan_namespaces(plane("a", "b", "c"), found, ())
    assert plan.served == ("a", "b", "c")
    assert plan.labels == (("a", OURS), ("c", {STATUS: "enabled"}))
    assert not plan.unlabelled


@pytest.mark.parametrize(
    ("name", "found", "problem"),
    [
        ("a", None, NamespaceProblem.MISSING),
        ("a", FoundNamespace(OURS, terminating=True), NamespaceProblem.TERMINATING),
        ("a", FoundNamespace({OWNER: "y"}), NamespaceProblem.OWNED),
        ("infra", FoundNamespace({}), NamespaceProblem.EXCLUDED),
        ("kube-system", FoundNamespace({}), NamespaceProblem.EXCLUDED),
        ("a", FoundNamespace({OWNER: "gone"}), None),
    ],
)
def test_why_a_namespace_is_not_served(
    name: str, found: FoundNamespace | None, problem: NamespaceProblem | None
) -> None:
    there = {name: found} if found is not None else {}
    plan = plan_namespaces(plane(name), there, ["y"])
    assert [one.problem for one in plan.unserved] == ([problem] if problem else [])
    assert plan.served == (() if problem else (name,))


def test_labels_go_where_a_namespace_is_not_enabled_any_more() -> None:
    found = {
        "a": FoundNamespace(OURS),
        "b": FoundNamespace({OWNER: "x"}),
        "c": FoundNamespace({OWNER: "y", STATUS: "enabled"}),
        "d": FoundNamespace({STATUS: "enabled"}),
    }
    assert labels_to_remove("x", found, ["a"]) == (("b", {OWNER: None}),)
    assert labels_to_remove("x", found) == (
        ("a", {OWNER: None, STATUS: None}),
        ("b", {OWNER: None}),
    )
