"""What is told of conditions that a write changed, as tables."""

from typing import Any

import orjson
import pytest
from structlog.testing import capture_logs

from certwright.kube import JsonObject
from certwright.runtime.writes import conditions
from certwright.runtime.writes.conditions import (
    ConditionReporter,
    changed_conditions,
    read_conditions,
)


def condition(type_: str, status: str, reason: str = "R", message: str = "m") -> JsonObject:
    return {"type": type_, "status": status, "reason": reason, "message": message}


def status(*entries: Any) -> JsonObject:
    return {"conditions": [*entries]}


CASES: dict[str, tuple[Any, Any, list[tuple[str, ...]]]] = {
    "the same": (status(condition("Ready", "True")), status(condition("Ready", "True")), []),
    "new": (None, status(condition("Ready", "True")), [("Ready", "True", "R", "m", "")]),
    "another status": (
        status(condition("Ready", "True")),
        status(condition("Ready", "False")),
        [("Ready", "False", "R", "m", "True")],
    ),
    "another reason": (
        status(condition("Ready", "False")),
        status(condition("Ready", "False", "S")),
        [("Ready", "False", "S", "m", "False")],
    ),
    "gone": (status(condition("Ready", "False")), status(), []),
    "nothing of the right shape": (
        {"conditions": "x"},
        status(7, {}, {"type": 1}, {"type": "Ready"}),
        [],
    ),
    "no status at all": ("x", None, []),
}


@pytest.mark.parametrize(("before", "after", "expected"), CASES.values(), ids=CASES.keys())
def test_what_changed(before: Any, after: Any, expected: list[tuple[str, ...]]) -> None:
    assert [tuple(change) for change in changed_conditions(before, after)] == expected


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (b'{"status": {"conditions": [1], "other": {"a": []}}}', {"conditions": [1]}),
        (b'{"metadata": {}}', {}),
        (b'{"status": "x"}', {}),
        (b"not JSON", {}),
        (b'{"x":' + b"[" * 10_000 + b"]" * 10_000 + b"}", {}),
    ],
    ids=["conditions", "no status", "a text", "not JSON", "deep"],
)
def test_conditions_are_read_from_the_bytes(obj: bytes, expected: JsonObject) -> None:
    assert read_conditions(obj) == expected


class Told:
    """A reporter that expects Applied and Ready, and what it told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, ...]] = []
        self.counted: list[tuple[str, str, str]] = []
        self.failed: dict[tuple[str, str], None] = {}
        self._before: Any = None
        self._reporter = ConditionReporter(
            "toys",
            ("Applied", "Ready"),
            count=lambda *labels: self.counted.append(labels),
            failed=self.failed,
            record=lambda _obj, *event: self.events.append(event),
        )

    def write(
        self, *entries: JsonObject, uid: str = "u", deleted: str = ""
    ) -> list[tuple[str, str, str]]:
        """Write conditions; return level, type and status of the lines of the log."""
        metadata = {"name": "a", "namespace": "n", "uid": uid, "deletionTimestamp": deleted}
        stored = {"kind": "Toy", "metadata": metadata}
        with capture_logs() as lines:
            self._reporter.written(self._before, {**stored, "status": status(*entries)})
        self._before = orjson.loads(orjson.dumps(status(*entries)))
        return [(line["log_level"], line["type"], line["status"]) for line in lines]


def test_first_conditions_that_are_well_are_no_news() -> None:
    told = Told()
    assert {level for level, _, _ in told.write(condition("Ready", "True"))} == {"debug"}
    assert told.events == []
    assert told.counted == [("Toy", "Ready", "True")]


def test_a_failure_is_a_warning_and_one_event_and_so_is_its_end() -> None:
    told = Told()
    logged = told.write(
        condition("Ready", "False", "Broken", "b; wait."),
        condition("Applied", "False", "Broken", "b"),
    )
    assert logged == [("warning", "Ready", "False"), ("warning", "Applied", "False")]
    assert told.events == [("Warning", "Broken", "b")]
    assert (
        told.write(
            condition("Ready", "False", "Broken", "b; wait."),
            condition("Applied", "False", "Broken", "b"),
        )
        == []
    )
    told.write(condition("Ready", "Unknown"), condition("Applied", "Progressing"))
    assert len(told.events) == 1
    logged = told.write(
        condition("Ready", "True", "W", "w"), condition("Applied", "True", "A", "a")
    )
    assert logged == [("info", "Ready", "True"), ("info", "Applied", "True")]
    assert told.events[1:] == [("Normal", "A", "a")]
    assert told.failed == {}


def test_work_in_between_is_no_news() -> None:
    told = Told()
    told.write(condition("Ready", "True"))
    logged = [*told.write(condition("Ready", "Unknown")), *told.write(condition("Ready", "True"))]
    assert logged == [("debug", "Ready", "Unknown"), ("debug", "Ready", "True")]
    assert told.events == []


def test_another_message_of_a_failure_is_told() -> None:
    told = Told()
    told.write(condition("Ready", "False", "Broken", "one"))
    told.write(condition("Ready", "False", "Broken", "two"))
    assert [note for _, _, note in told.events] == ["one", "two"]
    assert told.counted == [("Toy", "Ready", "False")]


def test_while_an_object_goes_only_the_first_condition_matters() -> None:
    told = Told()
    told.write(condition("Ready", "True"))
    deleted = "2026-01-01T00:00:00Z"
    assert told.write(condition("Ready", "False"), deleted=deleted) == [("debug", "Ready", "False")]
    assert told.events == []
    told.write(condition("Applied", "False"), deleted=deleted)
    assert [type_ for type_, _, _ in told.events] == ["Warning"]


def test_conditions_that_nothing_is_expected_of_are_logged_for_debugging() -> None:
    told = Told()
    told.write(condition("Busy", "True"))
    assert told.write(condition("Busy", "False")) == [("debug", "Busy", "False")]
    assert told.events == []


def test_tokens_stay_out_of_the_log() -> None:
    told = Told()
    with capture_logs() as lines:
        told._reporter.written(
            None,
            {
                "kind": "Toy",
                "metadata": {"name": "a"},
                "status": status(condition("Ready", "False", "R", "Bearer hunter2 " + "x" * 9999)),
            },
        )
    assert "hunter2" not in str(lines)
    assert len(lines[0]["message"]) < 600


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "MAX_FAILED", 3)
    told = Told()
    for number in range(10):
        told.write(condition("Ready", "False", f"R{number}"), uid=str(number))
    assert [*told.failed] == [("7", "Ready"), ("8", "Ready"), ("9", "Ready")]
