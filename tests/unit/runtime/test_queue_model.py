"""Any sequence of calls leaves the queue where a naive model of lists would be."""

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from certwright.kube.objects import Key
from certwright.runtime.queue.backoff import Backoff
from certwright.runtime.queue.queue import Priority, Queue
from certwright.testkit.time.virtual import VirtualLoop

KEYS = st.builds(Key, st.sampled_from(["red", "green", "blue"]), st.sampled_from("abcd"))
PRIORITIES = st.sampled_from(list(Priority))
SECONDS = st.sampled_from([0.0, 0.5, 1.0, 2.5, 10.0])


class Model:
    """The queue as plain lists, without a thought for speed."""

    def __init__(self) -> None:
        self.now = 0.0
        self.lanes: dict[Priority, list[tuple[str, list[Key]]]] = {p: [] for p in Priority}
        self.delayed: dict[Key, tuple[float, int, Priority]] = {}
        self.serial = 0
        self.working: dict[Key, Priority | None] = {}
        self.failures: dict[Key, int] = {}
        self.passed_over = 0

    def queued(self) -> dict[Key, Priority]:
        return {
            key: priority
            for priority, lane in self.lanes.items()
            for _, keys in lane
            for key in keys
        }

    def add(self, key: Key, priority: Priority) -> None:
        if key in self.working:
            known = self.working[key]
            self.working[key] = priority if known is None else min(known, priority)
            return
        present = self.queued().get(key)
        if present is not None:
            if present <= priority:
                return
            self.lanes[present] = [
                (namespace, rest)
                for namespace, keys in self.lanes[present]
                if (rest := [k for k in keys if k != key])
            ]
        for namespace, keys in self.lanes[priority]:
            if namespace == key.namespace:
                keys.append(key)
                return
        self.lanes[priority].append((key.namespace, [key]))

    def add_after(self, key: Key, seconds: float, priority: Priority) -> None:
        if seconds == 0:
            self.add(key, priority)
            return
        due = self.now + seconds
        known = self.delayed.get(key)
        if known is None:
            self.serial += 1
            self.delayed[key] = (due, self.serial, priority)
        elif known[0] <= due:
            self.delayed[key] = (known[0], known[1], min(priority, known[2]))
        else:
            self.serial += 1
            self.delayed[key] = (due, self.serial, min(priority, known[2]))

    def cancel_delay(self, key: Key) -> None:
        self.delayed.pop(key, None)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        due = sorted((when, n, k) for k, (when, n, _) in self.delayed.items() if when <= self.now)
        for _, _, key in due:
            self.add(key, self.delayed.pop(key)[2])

    def get(self) -> Key:
        fresh, rest = self.lanes[Priority.FRESH], self.lanes[Priority.RESYNC]
        if fresh and rest and self.passed_over < 16:
            lane, self.passed_over = fresh, self.passed_over + 1
        elif rest:
            lane, self.passed_over = rest, 0
        else:
            lane = fresh
        namespace, keys = lane.pop(0)
        key = keys.pop(0)
        if keys:
            lane.append((namespace, keys))
        self.working[key] = None
        return key

    def done(self, key: Key) -> None:
        again = self.working.pop(key)
        if again is not None:
            self.add(key, again)


class QueueMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner(loop_factory=VirtualLoop)
        self.queue: Queue[Key] = Queue(backoff=Backoff(base_seconds=1, cap_seconds=4, jitter=0))
        self.model = Model()

    def teardown(self) -> None:
        self.runner.close()

    def on_loop(self, call: Callable[..., Any], *arguments: Any) -> Any:
        async def main() -> Any:
            return call(*arguments)

        return self.runner.run(main())

    @rule(key=KEYS, priority=PRIORITIES)
    def add(self, key: Key, priority: Priority) -> None:
        self.on_loop(self.queue.add, key, priority)
        self.model.add(key, priority)

    @rule(key=KEYS, seconds=SECONDS, priority=PRIORITIES)
    def add_after(self, key: Key, seconds: float, priority: Priority) -> None:
        self.on_loop(self.queue.add_after, key, seconds, priority)
        self.model.add_after(key, seconds, priority)

    @rule(key=KEYS)
    def add_rate_limited(self, key: Key) -> None:
        failures = self.model.failures[key] = self.model.failures.get(key, 0) + 1
        expected = min(4, 2 ** (failures - 1))
        assert self.on_loop(self.queue.add_rate_limited, key) == expected
        self.model.add_after(key, expected, Priority.FRESH)

    @rule(key=KEYS)
    def cancel_delay(self, key: Key) -> None:
        self.on_loop(self.queue.cancel_delay, key)
        self.model.cancel_delay(key)

    @rule(key=KEYS)
    def forget(self, key: Key) -> None:
        self.queue.forget(key)
        self.model.failures.pop(key, None)

    @rule(seconds=SECONDS)
    def pass_time(self, seconds: float) -> None:
        self.runner.run(asyncio.sleep(seconds))
        self.model.pass_time(seconds)

    @precondition(lambda self: self.model.queued())
    @rule()
    def get(self) -> None:
        assert self.runner.run(self.queue.get()) == self.model.get()

    @precondition(lambda self: self.model.working)
    @rule(data=st.data())
    def done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.working)))
        self.on_loop(self.queue.done, key)
        self.model.done(key)

    @invariant()
    def agrees(self) -> None:
        assert len(self.queue) == len(self.model.queued())
        assert self.queue.delayed == len(self.model.delayed)
        assert set(self.on_loop(lambda: self.queue.working)) == set(self.model.working)
        assert self.queue.retrying == self.model.failures
        assert self.queue.idle == (not self.model.queued() and not self.model.working)


QueueMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestQueueModel = QueueMachine.TestCase
