"""Which changes wake whom."""

from collections.abc import Callable
from typing import Any

import msgspec
import orjson
import pytest

from certwright.issuer.run import predicates
from certwright.issuer.run.predicates import Outline
from certwright.kube import JsonObject, Key
from certwright.runtime import Entry
from certwright.runtime.cache.entries import Meta

pytestmark = pytest.mark.scenario("ISS-100")

Condition = dict[str, Any]


def one(type_: str, status: str = "True", reason: str = "", observed: int = 0) -> Condition:
    made = {"type": type_, "status": status, "reason": reason, "observedGeneration": observed}
    return {name: value for name, value in made.items() if value}


def obj(
    *conditions: Condition,
    annotations: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    generation: int = 0,
) -> dict[str, Any]:
    metadata = {"annotations": annotations, "labels": labels, "generation": generation}
    return {
        "metadata": {name: value for name, value in metadata.items() if value},
        "status": {"conditions": list(conditions)},
    }


def wakes(changed: Callable[..., Any], old: JsonObject | None, new: JsonObject | None) -> bool:
    def read(side: JsonObject | None) -> msgspec.Struct | None:
        return None if side is None else msgspec.convert(side, Outline)

    value: bool = changed(read(old), read(new))
    return value


REQUEST_ROWS = {
    "nil": (None, None, True),
    "label-changed": (obj(labels={"a": "1"}), obj(labels={"a": "2"}), False),
    "annotation-added": (obj(), obj(annotations={"a": "1"}), True),
    "ready-condition-changed": (obj(one("Ready", "False")), obj(one("Ready", "True")), False),
    "ready-condition-added": (obj(), obj(one("Ready")), True),
    "ready-condition-added-other-removed": (obj(one("Random")), obj(one("Ready")), True),
    "approved-condition-changed": (obj(one("Approved", "False")), obj(one("Approved")), True),
    "approved-condition-changed-only-reason": (obj(one("Approved", reason="a")), obj(one("Approved", reason="b")), False),
}  # fmt: skip
SIGNING_ROWS = {
    "nil": (None, None, True),
    "label-changed": (obj(labels={"a": "1"}), obj(labels={"a": "2"}), False),
    "annotation-added": (obj(), obj(annotations={"a": "1"}), True),
    "failed-condition-changed": (obj(one("Failed", "False")), obj(one("Failed")), True),
    "failed-condition-added": (obj(), obj(one("Failed")), True),
    "failed-condition-added-other-removed": (obj(one("Random")), obj(one("Failed")), True),
    "approved-condition-changed": (obj(one("Approved", "False")), obj(one("Approved")), True),
    "approved-condition-changed-only-reason": (obj(one("Approved", reason="a")), obj(one("Approved", reason="b")), False),
}  # fmt: skip
LINKED_ROWS = {
    "nil": (None, None, True),
    "random-condition-changed": (obj(one("Ready"), one("Random", "False")), obj(one("Ready"), one("Random")), False),
    "ready-status-nil": (obj(one("Ready")), obj(), True),
    "ready-condition-added": (obj(), obj(one("Ready")), True),
    "ready-condition-identical": (obj(one("Ready", reason="a")), obj(one("Ready", reason="b")), False),
    "ready-condition-identical-new-observed-generation": (obj(one("Ready", observed=1)), obj(one("Ready", observed=2)), True),
    "ready-condition-changed": (obj(one("Ready", "False")), obj(one("Ready")), True),
}  # fmt: skip
ISSUER_ROWS = {
    "nil": (None, None, True),
    "identical-generations": (obj(generation=80), obj(generation=80), False),
    "changed-generations": (obj(generation=80), obj(generation=2), True),
    "changed-annotations": (obj(annotations={"a": "1"}), obj(annotations={"a": "2"}), True),
    "ready-condition-added": (obj(), obj(one("Ready")), True),
}  # fmt: skip


@pytest.mark.parametrize("row", REQUEST_ROWS)
def test_certificate_requests(row: str) -> None:
    old, new, expected = REQUEST_ROWS[row]
    assert wakes(predicates.request_changed, old, new) is expected


@pytest.mark.parametrize("row", SIGNING_ROWS)
def test_signing_requests(row: str) -> None:
    old, new, expected = SIGNING_ROWS[row]
    assert wakes(predicates.signing_request_changed, old, new) is expected


@pytest.mark.scenario("ISS-24")
@pytest.mark.parametrize("row", LINKED_ROWS)
def test_linked_issuers(row: str) -> None:
    old, new, expected = LINKED_ROWS[row]
    assert wakes(predicates.readiness_changed, old, new) is expected


@pytest.mark.parametrize("row", ISSUER_ROWS)
def test_issuers(row: str) -> None:
    old, new, expected = ISSUER_ROWS[row]
    assert wakes(predicates.issuer_changed, old, new) is expected


WRONG_TYPE = {"metadata": {"annotations": "none"}, "status": {"conditions": "none"}}


@pytest.mark.parametrize(
    "changed",
    [predicates.request_changed, predicates.signing_request_changed, predicates.issuer_changed],
)
def test_wrong_type_wakes(changed: Callable[..., Any]) -> None:
    def entry(content: JsonObject) -> Entry:
        return Entry(Key("", "a"), Meta(), orjson.dumps(content))

    predicate = predicates.on_entries(changed)
    assert predicate(entry(WRONG_TYPE), entry(obj()))
    assert not predicate(entry(obj()), entry(obj()))


def test_our_own_doing_does_not_wake_us() -> None:
    """Ready comes from us: adding it must not be a reason to sign again at once."""
    changed = predicates.foreign_part_changed
    assert not wakes(changed, obj(), obj(one("Ready")))
    assert not wakes(changed, obj(one("Ready")), obj(one("Ready", "False")))
    assert wakes(changed, obj(one("Ready")), obj(one("Ready"), one("Approved")))
    assert wakes(changed, obj(one("Ready"), one("X")), obj(one("Ready"), one("X", "False")))
    assert wakes(changed, obj(), obj(annotations={"a": "b"}))
    assert wakes(changed, None, obj())
