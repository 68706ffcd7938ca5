from collections.abc import Callable
from typing import Any

from certwright.apiserver.crds import accept, prepare
from certwright.kube import JsonObject

NOW, LATER = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def conditions(definition: JsonObject) -> dict[str, tuple[str, str, str]]:
    return {
        c["type"]: (c["status"], c["reason"], c["lastTransitionTime"])
        for c in definition["status"]["conditions"]
    }


def test_free_names_are_accepted(crd: Callable[..., Any]) -> None:
    definition = crd({"type": "object"})

    accept(definition, NOW)

    assert conditions(definition) == {
        "NamesAccepted": ("True", "NoConflicts", NOW),
        "Established": ("True", "InitialNamesAccepted", NOW),
    }
    assert definition["status"]["acceptedNames"] == definition["spec"]["names"]


def test_accepting_again_changes_no_times(crd: Callable[..., Any]) -> None:
    definition = crd({"type": "object"})
    accept(definition, NOW)

    accept(definition, LATER)

    assert {time for _, _, time in conditions(definition).values()} == {NOW}


def test_taken_names_are_not(crd: Callable[..., Any]) -> None:
    first = crd({"type": "object"})
    accept(first, NOW)
    second = crd({"type": "object"})
    second["metadata"]["name"] = "gadgets.x.dev"
    second["spec"]["names"] |= {
        "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList", "shortNames": [],
    }  # fmt: skip

    accept(second, NOW, [first, second])

    assert conditions(second) == {
        "NamesAccepted": ("False", "KindConflict", NOW),
        "Established": ("False", "NotAccepted", NOW),
    }


def test_versions_once_stored_are_remembered(crd: Callable[..., Any]) -> None:
    old = crd({"type": "object"})
    new = crd({"type": "object"}, name="v2")
    new["status"] = dict(old["status"])

    prepare(new, old)

    assert new["status"]["storedVersions"] == ["v1", "v2"]
