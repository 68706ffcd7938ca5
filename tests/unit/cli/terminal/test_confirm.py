"""Asking before something goes that does not come back."""

import io
import sys

import pytest

from certwright.cli.errors import UsageError
from certwright.cli.terminal.confirm import confirm


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("answer", ["yes\n", "Y\n", "YES"])
def test_a_yes_is_enough(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    confirm("12 objects go", yes=False)
    assert capsys.readouterr().err == "12 objects go\nType yes to go on: "


@pytest.mark.parametrize("answer", ["no\n", "\n", ""])
def test_anything_else_is_a_no(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    with pytest.raises(UsageError, match="nothing was changed"):
        confirm("12 objects go", yes=False)


def test_scripts_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
    with pytest.raises(UsageError, match="add --yes"):
        confirm("12 objects go", yes=False)


def test_who_said_yes_is_not_bothered(capsys: pytest.CaptureFixture[str]) -> None:
    confirm("12 objects go", yes=True)
    assert capsys.readouterr().err == ""
