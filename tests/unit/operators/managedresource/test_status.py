from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import to_builtins

from certwright.api.managedresources import ObjectSummary
from certwright.apply import (
    Action,
    Change,
    ChangeSet,
    ObjectRef,
)
from certwright.apply.changeset import LastWriter
from certwright.apply.health import Health, Verdict
from certwright.kube import JsonObject
from certwright.operators.managedresource import messages
from certwright.operators.managedresource.inventory import reference_to
from certwright.operators.managedresource.status import (
    MOST_OBJECTS,
    Report,
    Update,
    changed,
    updated,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def ref(name: str, kind: str = "ConfigMap") -> ObjectRef:
    return ObjectRef("v1", kind, "x", name)


def entry(name: str, action: Action, reason: str = "") -> Change:
    return Change(ref(name), action, reason)


def verdict(name: str, health: Health, message: str = "") -> Verdict:
    return Verdict(ref(name), health, f"ConfigMap{health}", message)


CHANGES = ChangeSet.of(
    [
        entry("a", Action.CREATED),
        entry("b", Action.UNCHANGED),
        entry("bb", Action.UNCHANGED),
        entry("c", Action.BLOCKED, "waits"),
        entry("d", Action.FAILED, "boom"),
        entry("e", Action.CONFIGURED),
        entry("f", Action.RECREATED),
        entry("g", Action.DELETED),
        entry("h", Action.KEPT),
    ]
)


def test_objects_in_numbers() -> None:
    report = Report.of(CHANGES, total=6)
    assert report.summary == ObjectSummary(total=6, applied=5, failed=1, blocked=1)
    assert [(item.name, item.action, item.message) for item in report.objects] == [
        ("d", "failed", "boom"),
        ("c", "blocked", "waits"),
    ]


def test_health_joins_what_was_done() -> None:
    health = [
        verdict("a", Health.HEALTHY),
        verdict("b", Health.UNHEALTHY, "sick"),
        verdict("c", Health.MISSING, "gone"),
    ]
    progress = [
        verdict("a", Health.PROGRESSING, "soon"),
        verdict("b", Health.PROGRESSING, "soon"),
        verdict("c", Health.HEALTHY),
    ]
    report = Report.of(CHANGES, total=3).with_health(health, progress)
    assert report.summary == ObjectSummary(
        total=3, applied=5, failed=1, blocked=1, healthy=1, progressing=2
    )
    assert [(i.name, i.action, i.health, i.message) for i in report.objects] == [
        ("d", "failed", "", "boom"),
        ("c", "blocked", "Missing", "waits"),
        ("b", "", "Unhealthy", "sick"),
        ("a", "", "Progressing", "soon"),
    ]


def test_a_later_look_replaces_health_and_keeps_what_was_done() -> None:
    first = Report.of(CHANGES, total=3).with_health([verdict("b", Health.MISSING)], [])
    status = updated({}, Update(report=first), NOW)
    again = Report.recorded(status)
    assert again == first
    later = again.with_health([verdict("a", Health.HEALTHY), verdict("b", Health.HEALTHY)], [])
    assert [item.name for item in later.objects] == ["d", "c"]
    assert later.summary.healthy == 2


@pytest.mark.parametrize("status", [{}, {"summary": "x"}, {"objects": [7]}])
def test_a_status_without_a_report_of_ours(status: dict[str, Any]) -> None:
    assert Report.recorded(status) == Report(ObjectSummary())


def test_reports_are_bounded_and_do_not_depend_on_the_order_of_things() -> None:
    entries = [entry(f"o{n:04}", Action.FAILED, "x" * 5000) for n in range(500)]
    one, other = Report.of(ChangeSet.of(entries), 500), Report.of(ChangeSet.of(entries[::-1]), 500)
    assert one == other
    assert one.summary.failed == 500
    assert len(one.objects) == MOST_OBJECTS
    assert all(len(item.message) <= 256 for item in one.objects)


def test_the_last_writer_is_named() -> None:
    changes = ChangeSet.of(
        [Change(ref("a"), Action.BLOCKED, "fight", writer=LastWriter("autoscaler", "Update", ""))]
    )
    assert Report.of(changes, 1).objects[0].last_writer == "autoscaler"


def test_a_whole_update() -> None:
    update = Update(
        conditions=[messages.applied()],
        resources=[reference_to(ref("a"), {"l": "1"})],
        checksum="00",
        observed_generation=3,
        report=Report(ObjectSummary(total=1)),
    )
    status = updated({"future": {"a": 1}}, update, NOW)
    assert status == {
        "future": {"a": 1},
        "conditions": [
            {
                "type": "ResourcesApplied",
                "status": "True",
                "reason": "ApplySucceeded",
                "message": "All resources are applied.",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "lastUpdateTime": "2026-01-01T00:00:00Z",
            }
        ],
        "resources": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "namespace": "x",
                "name": "a",
                "labels": {"l": "1"},
            }
        ],
        "secretsDataChecksum": "00",
        "observedGeneration": 3,
        "summary": {"total": 1},
    }
    later = datetime(2027, 1, 1, tzinfo=UTC)
    assert updated(status, update, later) == status


def test_nothing_said_changes_nothing() -> None:
    status = {"resources": [{"name": "a"}], "observedGeneration": 1}
    assert updated(status, Update(), NOW) == status
    assert updated(None, Update(), NOW) == {}


def test_what_is_empty_is_absent() -> None:
    before = {"resources": [{"name": "a"}], "objects": [{"name": "a"}]}
    update = Update(resources=[], report=Report(ObjectSummary()))
    assert updated(before, update, NOW) == {}


def test_an_inventory_that_says_the_same_in_other_words_is_not_written_again() -> None:
    raw = [{**to_builtins(reference_to(ref("a"))), "labels": {}, "uid": ""}]
    status = {"resources": raw}
    assert updated(status, Update(resources=[reference_to(ref("a"))]), NOW) == status


def test_an_inventory_of_a_wrong_shape_is_replaced() -> None:
    status = updated({"resources": ["x"]}, Update(resources=[reference_to(ref("a"))]), NOW)
    assert [item["name"] for item in status["resources"]] == ["a"]


def test_an_empty_inventory_stays_as_it_is_spelt() -> None:
    assert updated({"resources": []}, Update(resources=[]), NOW) == {"resources": []}


SUMMARY = Report(ObjectSummary(total=2))


@pytest.mark.parametrize(
    ("before", "update", "patch"),
    [
        ({}, Update(report=SUMMARY), {"summary": {"total": 2}}),
        ({"summary": {"total": 1}}, Update(report=SUMMARY), {"summary": {"total": 2}}),
        ({"objects": [{"name": "a"}]}, Update(report=SUMMARY),
         {"summary": {"total": 2}, "objects": None}),
        ({"observedGeneration": 1}, Update(report=SUMMARY), {}),
        ({"observedGeneration": 1}, Update(observed_generation=2, report=SUMMARY),
         {"observedGeneration": 2, "summary": {"total": 2}}),
    ],
    ids=["nothing is there", "another number", "only objects", "dropped before", "sent along"],
)  # fmt: skip
def test_what_the_server_may_drop_is_no_reason_to_write(
    before: JsonObject, update: Update, patch: JsonObject
) -> None:
    assert changed(before, update, NOW)[1] == patch


def test_health_that_was_told_stays_beside_what_was_done_since() -> None:
    said = {
        "summary": {"total": 2, "applied": 1, "healthy": 1, "progressing": 1, "failed": 1},
        "objects": [
            {"apiVersion": "v1", "kind": "Pod", "name": "a", "health": "Unhealthy"},
            {"apiVersion": "v1", "kind": "Pod", "name": "b", "action": "failed"},
        ],
    }
    now = Report(ObjectSummary(total=2, applied=2)).with_health_of(Report.recorded(said))
    assert now.summary == ObjectSummary(total=2, applied=2, healthy=1, progressing=1)
    assert [item.name for item in now.objects] == ["a"]
