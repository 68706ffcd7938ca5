import asyncio
import json
import os
import signal
from enum import IntEnum
from pathlib import Path

import pytest

from certwright.kube import JsonObject
from certwright.runtime import on_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_first_signal_stops_and_the_second_is_no_longer_ours(number: IntEnum) -> None:
    stopped = asyncio.Event()
    before = signal.getsignal(number)
    with on_signals(stopped.set, dict):
        assert signal.getsignal(number) is not before
        os.kill(os.getpid(), number)
        async with asyncio.timeout(5):
            await stopped.wait()
        in_a_hurry = signal.getsignal(number)
        assert in_a_hurry in {signal.SIG_DFL, signal.default_int_handler}


async def test_usr1_dumps_and_nothing_stops(tmp_path: Path) -> None:
    target = tmp_path / "dump.json"
    stopped, asked = asyncio.Event(), asyncio.Event()

    def dump() -> JsonObject:
        asyncio.get_running_loop().call_soon(asked.set)
        return {"queued": 3}

    with on_signals(stopped.set, dump, target):
        os.kill(os.getpid(), signal.SIGUSR1)
        async with asyncio.timeout(5):
            await asked.wait()
    assert json.loads(target.read_text()) == {"queued": 3}
    assert not stopped.is_set()
