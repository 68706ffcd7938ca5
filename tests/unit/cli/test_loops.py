import asyncio
import sys

from certwright.cli.loops import run_to_end


def loop_used():
    used = []

    async def main():
        used.append(type(asyncio.get_running_loop()).__module__.partition(".")[0])

    run_to_end(main())
    return used[0]


def test_uvloop_is_used_if_it_is_installed():
    assert loop_used() == "uvloop"


def test_and_done_without_if_not(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert loop_used() == "asyncio"
