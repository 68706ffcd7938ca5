import contextlib
import sys

import pytest

from certwright.runtime import new_event_loop


def loop_made() -> str:
    with contextlib.closing(new_event_loop()) as loop:
        return type(loop).__module__.partition(".")[0]


def test_uvloop_is_used_if_it_is_installed() -> None:
    assert loop_made() == "uvloop"


def test_and_done_without_if_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_made() == "asyncio"
