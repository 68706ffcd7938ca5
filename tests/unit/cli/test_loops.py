import asyncio
import os
import signal

import pytest

from certwright.cli.loops import run_to_end


def test_a_process_that_is_terminated_early_cleans_up() -> None:
    cleaned = []

    async def main() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(30)
        finally:
            cleaned.append(True)

    with pytest.raises(SystemExit) as ended:
        run_to_end(main())
    assert ended.value.code == 128 + signal.SIGTERM
    assert cleaned == [True]


def test_a_coroutine_runs_to_its_end() -> None:
    async def main() -> int:
        return 7

    assert run_to_end(main()) == 7
