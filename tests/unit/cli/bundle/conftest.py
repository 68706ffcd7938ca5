"""The command line in this process, with a folder of its own."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.support.bundles.tools import Tools

from certwright.cli.main import main


class Done(NamedTuple):
    code: Any
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tools:
    """Programs of the test's own; those of this machine are out of sight."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    tools = Tools(tmp_path / "tools")
    monkeypatch.setenv("PATH", tools.environ["PATH"])
    return tools


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*words: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["certwright", "bundle", *map(str, words)])
        code: Any = 0
        try:
            main()
        except SystemExit as ending:
            code = ending.code or 0
        captured = capsys.readouterr()
        return Done(code, captured.out, captured.err)

    return run
