"""What the queue promises workers, one promise per test."""

import asyncio
from contextlib import suppress

import pytest
import uvloop

from certwright.kube.objects import Key
from certwright.runtime.queue.backoff import Backoff
from certwright.runtime.queue.queue import TURN_LIMIT, Priority, Queue, QueueShutDown
from certwright.testkit.time.virtual import VirtualLoop

A, B, C = Key("one", "a"), Key("one", "b"), Key("two", "c")


@pytest.fixture
def queue() -> Queue[Key]:
    return Queue(backoff=Backoff(base_seconds=1, cap_seconds=8, jitter=0))


async def take(queue: Queue[Key], count: int) -> list[Key]:
    taken = []
    for _ in range(count):
        key = await queue.get()
        queue.done(key)
        taken.append(key)
    return taken


async def test_a_key_waits_only_once(queue: Queue[Key], virtual_loop: VirtualLoop) -> None:
    for _ in range(3):
        queue.add(A)
    assert len(queue) == 1
    assert await take(queue, 1) == [A]
    assert queue.idle


async def test_a_key_added_while_worked_on_comes_back_after(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    queue.add(A)
    assert await queue.get() == A
    queue.add(A)
    assert len(queue) == 0, "nobody else gets it meanwhile"
    assert not queue.idle
    queue.done(A)
    assert await queue.get() == A
    queue.done(A)
    assert queue.idle


async def test_fresh_changes_overtake_the_resync(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    queue.add(A, Priority.RESYNC)
    queue.add(B, Priority.RESYNC)
    queue.add(C)
    queue.add(B)
    assert await take(queue, 3) == [C, B, A]


async def test_endless_changes_do_not_starve_the_resync(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    waiting = [Key("quiet", "x"), Key("quiet", "y")]
    for key in waiting:
        queue.add(key, Priority.RESYNC)
    served: list[Key] = []
    for n in range(40):
        queue.add(Key("busy", f"{n}"))
        queue.add(Key("busy", f"{n}-again"))
        served += await take(queue, 1)
    assert [served.index(key) for key in waiting] == [16, 33]


async def test_a_worse_priority_does_not_move_a_key_back(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    queue.add(A)
    queue.add(A, Priority.RESYNC)
    queue.add(C, Priority.RESYNC)
    queue.add(B)
    assert await take(queue, 3) == [A, B, C]


async def test_namespaces_take_turns(queue: Queue[Key], virtual_loop: VirtualLoop) -> None:
    crowd = [Key("crowd", str(n)) for n in range(1000)]
    for key in crowd:
        queue.add(key)
    queue.add(Key("quiet", "x"))
    queue.add(Key("quiet", "y"))
    assert await take(queue, 4) == [crowd[0], Key("quiet", "x"), crowd[1], Key("quiet", "y")]


async def test_a_delay_is_kept_and_the_earliest_wins(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    queue.add_after(A, 60)
    queue.add_after(A, 10)
    queue.add_after(A, 30)
    assert queue.delayed == 1
    assert queue.due == {A: 10}
    assert queue.idle
    assert await take(queue, 1) == [A]
    assert virtual_loop.time() == 10
    assert queue.delayed == 0


async def test_an_earlier_delay_of_another_key_moves_the_timer(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    queue.add_after(A, 60)
    queue.add_after(B, 10)
    assert await take(queue, 2) == [B, A]
    assert virtual_loop.time() == 60


async def test_a_delay_of_nothing_is_now(queue: Queue[Key], virtual_loop: VirtualLoop) -> None:
    queue.add_after(A, 0)
    assert len(queue) == 1


async def test_a_delay_that_was_called_off_never_ends(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    queue.add_after(A, 10)
    queue.add_after(B, 60)
    queue.cancel_delay(A)
    queue.cancel_delay(A)
    assert queue.delayed == 1
    assert await take(queue, 1) == [B]
    assert len(queue) == 0


async def test_of_delays_that_were_called_off_nothing_stays(queue: Queue[Key]) -> None:
    for number in range(1000):
        key = Key("shop", str(number))
        queue.add_after(key, 300)
        queue.cancel_delay(key)
    assert len(queue._delays._heap) < 100


async def test_many_shortened_delays_do_not_pile_up(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    for seconds in range(10_000, 0, -1):
        queue.add_after(A, seconds)
    assert len(queue._delays._heap) < 200
    assert await take(queue, 1) == [A]
    assert virtual_loop.time() == 1


async def test_failures_wait_longer_each_time_until_forgotten(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    assert [queue.add_rate_limited(A) for _ in range(5)] == [1, 2, 4, 8, 8]
    assert queue.failures(A) == 5
    assert queue.retrying == {A: 5}
    assert queue.failures(B) == 0
    queue.forget(A)
    assert queue.failures(A) == 0
    assert queue.add_rate_limited(A) == 1


async def test_a_waiting_worker_is_woken(queue: Queue[Key], virtual_loop: VirtualLoop) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(queue.get())
        second = group.create_task(queue.get())
        await asyncio.sleep(1)
        queue.add(A)
        queue.add(B)
    assert {first.result(), second.result()} == {A, B}


async def test_a_worker_cancelled_as_it_is_woken_passes_the_key_on(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(queue.get())
        second = group.create_task(queue.get())
        await asyncio.sleep(1)
        queue.add(A)
        first.cancel()
        with suppress(asyncio.CancelledError):
            await first
        assert await asyncio.wait_for(second, 1) == A


async def test_a_worker_cancelled_while_it_waits_takes_no_wake_up_with_it(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    async with asyncio.TaskGroup() as group:
        first = group.create_task(queue.get())
        second = group.create_task(queue.get())
        await asyncio.sleep(1)
        first.cancel()
        await asyncio.sleep(1)
        queue.add(A)
        assert await asyncio.wait_for(second, 1) == A


async def test_shutting_down_tells_waiting_workers_and_drops_the_rest(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(expect_end(queue))
        queue.add_after(B, 5)
        await asyncio.sleep(1)
        queue.shut_down()
        await waiting
    queue.add(A)
    queue.add_after(A, 1)
    assert len(queue) == 0
    assert queue.delayed == 0
    await expect_end(queue)


async def test_a_worker_may_finish_after_the_shutdown(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    queue.add(A)
    queue.add(B)
    key = await queue.get()
    queue.add(key)
    queue.shut_down()
    queue.done(key)
    assert queue.working == {}
    await expect_end(queue)


async def expect_end(queue: Queue[Key]) -> None:
    with pytest.raises(QueueShutDown):
        await queue.get()


async def test_it_tells_how_long_workers_have_had_their_keys(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    queue.add(A)
    await queue.get()
    await asyncio.sleep(3)
    assert queue.working == {A: 3}


class Ledger:
    def __init__(self) -> None:
        self.lines: list[tuple[str, float]] = []

    def on_add(self) -> None:
        self.lines.append(("add", 0))

    def on_get(self, waited_seconds: float) -> None:
        self.lines.append(("get", waited_seconds))

    def on_done(self, worked_seconds: float) -> None:
        self.lines.append(("done", worked_seconds))

    def on_retry(self) -> None:
        self.lines.append(("retry", 0))


async def test_metrics_tell_the_story(virtual_loop: VirtualLoop) -> None:
    ledger = Ledger()
    queue: Queue[Key] = Queue(backoff=Backoff(base_seconds=1, jitter=0), metrics=ledger)
    queue.add(A)
    queue.add(A)
    await asyncio.sleep(2)
    key = await queue.get()
    await asyncio.sleep(3)
    queue.add_rate_limited(key)
    queue.done(key)
    await queue.get()
    assert ledger.lines == [
        ("add", 0), ("get", 2), ("retry", 0), ("done", 3), ("add", 0), ("get", 0),
    ]  # fmt: skip


async def test_workers_that_never_wait_let_others_run(
    queue: Queue[Key], virtual_loop: VirtualLoop
) -> None:
    keys = [Key("one", str(n)) for n in range(10 * TURN_LIMIT)]
    for key in keys:
        queue.add(key)
    depths = []

    async def other() -> None:
        while len(queue):
            depths.append(len(queue))
            await asyncio.sleep(0)

    async with asyncio.TaskGroup() as group:
        group.create_task(take(queue, len(keys)))
        group.create_task(other())
    assert len(depths) >= 9


def test_delays_work_on_uvloop_too() -> None:
    """Its timers do not tell when they are due, and call at once what is due within 1 ms."""

    async def main() -> list[Key]:
        queue: Queue[Key] = Queue()
        for key, seconds in ((A, 0.02), (B, 0.0001), (C, 0.01)):
            queue.add_after(key, seconds)
        queue.add_rate_limited(A)
        return sorted(await take(queue, 3))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(main()) == [A, B, C]
