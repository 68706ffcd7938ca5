"""What a definition says about how its kind is served."""

from typing import Any

import pytest

from certwright.apply.kinds import is_of_kind, served_by
from certwright.kube import GroupVersionKind, NotFound, Resource

TOY = GroupVersionKind("example.com", "v1", "Toy")


def definition(
    *versions: tuple[str, bool], condition: str = "Established", kind: str = "Toy"
) -> dict[str, Any]:
    return {
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": "toys"},
            "versions": [{"name": name, "served": served} for name, served in versions],
        },
        "status": {"conditions": [{"type": condition, "status": "True"}]},
    }


@pytest.mark.parametrize(
    ("versions", "version"),
    [
        ([("v2", True), ("v1", True)], "v1"),
        ([("v1", False), ("v2", True)], "v2"),
        ([("v2", False), ("v1", False)], "v1"),  # its objects are there, and out of reach
    ],
)
def test_the_version_asked_for_comes_first_among_those_served(
    versions: list[tuple[str, bool]], version: str
) -> None:
    found = served_by(definition(*versions), TOY)
    assert found == Resource("example.com", version, "Toy", "toys", namespaced=True)


@pytest.mark.parametrize(
    ("condition", "served"),
    [("Established", True), ("NamesAccepted", True), ("Terminating", False)],
)
def test_names_that_are_not_accepted_stand_for_nothing(condition: str, *, served: bool) -> None:
    found = served_by(definition(("v1", True), condition=condition), TOY)
    assert (found is not None) is served


def test_other_kinds_of_the_group_are_others() -> None:
    assert served_by(definition(("v1", True), kind="Game"), TOY) is None


def test_an_object_that_was_not_found_is_named() -> None:
    assert not is_of_kind(NotFound("", details={"name": "a", "kind": "toys"}))
    assert is_of_kind(NotFound("404 page not found"))
