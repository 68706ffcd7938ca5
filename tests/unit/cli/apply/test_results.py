"""What became of objects, as it is printed, and what scripts learn from it."""

import io
import json
from contextlib import suppress
from datetime import datetime

import pytest

from certwright.apply import (
    Action,
    Change,
    ChangeSet,
    Diff,
    FieldChange,
    ObjectRef,
)
from certwright.apply.changeset import LastWriter
from certwright.cli.apply.results import code_of_apply, code_of_diff, differences, rendered
from certwright.cli.options import Output
from certwright.cli.terminal.progress import ProgressLine

REF = ObjectRef("v1", "ConfigMap", "ns", "a")


def changes(*actions: Action) -> ChangeSet:
    return ChangeSet.of(Change(REF, action) for action in actions)


@pytest.mark.parametrize(
    ("actions", "of_diff", "of_apply"),
    [
        ([], 0, 0),
        ([Action.UNCHANGED, Action.KEPT], 0, 0),
        ([Action.CREATED], 1, 0),
        ([Action.CONFIGURED, Action.UNCHANGED], 1, 0),
        ([Action.DELETED], 1, 0),
        ([Action.BLOCKED], 1, 2),
        ([Action.FAILED], 2, 2),
        ([Action.FAILED, Action.CREATED], 2, 2),
    ],
)
def test_exit_codes(actions: list[Action], of_diff: int, of_apply: int) -> None:
    assert code_of_diff(changes(*actions)) == of_diff
    assert code_of_apply(changes(*actions)) == of_apply


def test_the_table_ends_with_the_counts() -> None:
    entry = Change(REF, Action.CONFIGURED, "because", writer=LastWriter("kubectl", "Update", ""))
    text = rendered(ChangeSet.of([entry]), Output.TABLE)
    assert text.splitlines() == [
        "KIND        NAME   ACTION       WHY",
        "ConfigMap   ns/a   configured   because (last written by kubectl)",
        "1 configured",
    ]


def test_programs_get_everything() -> None:
    found = json.loads(rendered(changes(Action.CREATED), Output.JSON))
    assert found["summary"] == "1 created"
    assert found["changes"][0]["name"] == "a"


def test_what_did_not_happen_is_not_told_as_if_it_had() -> None:
    planned = changes(Action.CREATED, Action.UNCHANGED, Action.FAILED)
    text = rendered(planned, Output.TABLE, dry_run=True)
    assert "ns/a   would be created" in text
    assert text.endswith("1 would be created, 1 unchanged, 1 failed (dry run: nothing was changed)")
    found = json.loads(rendered(planned, Output.JSON, dry_run=True))
    assert [change["action"] for change in found["changes"]] == ["created", "unchanged", "failed"]
    assert found["dryRun"] is True
    assert json.loads(rendered(planned, Output.JSON))["dryRun"] is False


def test_reasons_say_what_is_wrong_before_the_line_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    why = f'error during apply of object "{REF.id}": {"x" * 150} the point'
    (_, line, _) = rendered(ChangeSet.of([Change(REF, Action.FAILED, why)]), Output.TABLE).split(
        "\n"
    )
    assert line.endswith("the point")
    assert "error during apply" not in line
    log = io.StringIO()
    ProgressLine(1, log)(Change(REF, Action.FAILED, why), None)
    assert log.getvalue().startswith("[1/1] ConfigMap ns/a failed: xxx")
    compared = differences(ChangeSet.of([Change(REF, Action.FAILED, why)]), Output.TABLE)
    assert compared.startswith("ConfigMap ns/a failed: xxx")


def test_differences_leave_out_what_is_the_same() -> None:
    diff = Diff((FieldChange("data.k", "1", "2"),))
    found = ChangeSet.of([Change(REF, Action.UNCHANGED), Change(REF, Action.CONFIGURED, diff=diff)])
    text = differences(found, Output.TABLE)
    assert text.splitlines()[0] == "ConfigMap ns/a would be configured"
    assert "data.k" in text
    assert differences(changes(Action.UNCHANGED), Output.TABLE) == "nothing differs"


class Time:
    seconds = 0.0

    def now(self) -> datetime:
        raise NotImplementedError

    def monotonic(self) -> float:
        return self.seconds


def test_progress_of_what_is_quick_is_not_told() -> None:
    log, time = io.StringIO(), Time()
    progress = ProgressLine(2, log, dry_run=True, quiet_seconds=2, clock=time)
    progress(Change(REF, Action.CREATED), None)
    assert log.getvalue() == ""
    time.seconds = 2.0
    progress.done(ObjectRef("v1", "ConfigMap", "ns", "b"), "looked at")
    assert log.getvalue() == "[2/2] looked at\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_lines_in_a_log() -> None:
    log = io.StringIO()
    progress = ProgressLine(2, log)
    progress(Change(REF, Action.CREATED), None)
    progress.show("and\nso on")
    progress.end()
    assert log.getvalue() == "[1/2] ConfigMap ns/a created\nand so on\n"


@pytest.mark.parametrize(("stream", "told"), [(io.StringIO, 2), (Terminal, 3)])
def test_a_log_gets_the_first_word_on_a_topic(stream: type[io.StringIO], told: int) -> None:
    place = stream()
    progress = ProgressLine(1, place)
    progress.show("a is held for 0s", topic={"a"})
    progress.show("a is held for 5s", topic={"a"})
    progress.show("b is held for 0s", topic={"b"})
    assert place.getvalue().count("is held") == told


def test_progress_is_one_line_on_a_terminal() -> None:
    terminal = Terminal()
    progress = ProgressLine(0, terminal)
    progress(Change(REF, Action.FAILED, "x" * 500), None)
    progress.end()
    shown = terminal.getvalue().split("\r\x1b[K")
    assert shown[1].startswith("[1/1] ConfigMap ns/a failed: xxx")
    assert len(shown[1]) == 100
    assert shown[2] == ""


@pytest.mark.parametrize(
    ("stream", "told"),
    [
        (io.StringIO, "comparing each object with the cluster\n"),
        (Terminal, "\r\x1b[K[1] looked at\r\x1b[K[2] looked at"),
    ],
)
def test_progress_towards_a_number_that_is_not_known(stream: type[io.StringIO], told: str) -> None:
    place = stream()
    progress = ProgressLine(None, place)
    for name in ("a", "b"):
        progress.done(ObjectRef("v1", "ConfigMap", "ns", name), "looked at")
    assert place.getvalue() == told


def test_progress_leaves_a_clean_line_to_an_error() -> None:
    terminal = Terminal()
    with suppress(ValueError), ProgressLine(1, terminal) as progress:
        progress.show("waiting")
        raise ValueError
    assert terminal.getvalue() == "\r\x1b[Kwaiting\r\x1b[K"


def test_what_says_nothing_leaves_the_terminal_alone() -> None:
    terminal = Terminal()
    with ProgressLine(1, terminal):
        pass
    assert terminal.getvalue() == ""
