"""Whole runs of a scenario in virtual time: one (`run`), or a campaign of seeds (`simulate`).

A scenario is what users do: an async function that creates, changes and deletes objects and
lets the controllers settle in between. Nothing outside a run can influence it, so the same
arguments give the same trace. These functions make their own loops: call them from ordinary
functions, not from coroutines.
"""

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass, field
from functools import partial
from io import StringIO
from typing import TypeAlias

from certwright.kube.objects import JsonObject
from certwright.runtime import Declared, Metrics
from certwright.runtime.serve import logs
from certwright.testkit.embedded import EmbeddedCluster
from certwright.testkit.faults.endstate import differences, end_state
from certwright.testkit.faults.faults import CALM, Plan, Storm
from certwright.testkit.faults.interference import Interference
from certwright.testkit.faults.replay import Replay
from certwright.testkit.time.virtual import VirtualLoop

Scenario: TypeAlias = Callable[[EmbeddedCluster], Awaitable[None]]

SHOWN_DIFFERENCES = 20
SHOWN_STEPS = 60

EXTRA_WRITES_PER_FAULT = 4
"""A fault may cost a repeated write or two and a status when trouble begins and ends; what costs
more is a controller that writes blindly. Only one that restarts into the past may do everything
over. Events do not count: they tell what happens, and more happens."""
EXTRA_WRITES_FOR_ORDER = 2
"""What another order of the same things may cost."""


class SimulationFailed(AssertionError):
    """A run did not end as it should. The message says how to see it again."""


@dataclass(frozen=True, slots=True)
class Play:
    """What is played: users' actions, the controllers under test, and what may differ."""

    scenario: Scenario
    controllers: tuple[Declared, ...]
    ignore: Sequence[str] = ()
    """Fields of the end state that may differ, as ``Kind.path.to.field``."""
    meddle: Scenario | None = None
    """What another client does at random moments of a storm; the end must be the same."""
    extra_writes: int = EXTRA_WRITES_PER_FAULT
    """How many writes more than in calm weather each fault may cost."""
    metrics: Metrics = field(default_factory=Metrics, repr=False, compare=False)
    """What all runs count together: it is not read, and setting it up anew takes time."""


@dataclass(frozen=True, slots=True)
class Run:
    """How one run went."""

    state: Mapping[str, JsonObject]
    requests: int
    writes: int
    announcements: int
    """How many of the writes were Events."""
    events: int
    crashes: int
    faults: int
    event_faults: int
    stale_restarts: int
    blind_writes: Sequence[str]
    """Unconditional deletions and replacements by a process that saw an old state."""
    seen_at_write: Sequence[int]
    """How many versions of the world the process had seen at each of its writes."""
    digest: str
    trace: Sequence[str]
    failure: str = ""
    """What went wrong when the run did not reach its end."""

    def differences_from(
        self, calm: "Run", extra_writes: int = EXTRA_WRITES_PER_FAULT
    ) -> list[str]:
        """Return what is wrong with this run, given how the calm one went."""
        if self.failure:
            return [self.failure]
        found = [*self.blind_writes, *differences(calm.state, self.state)]
        if self.event_faults:  # a controller that sees old news may act on it again and again
            return found
        made, enough = (run.writes - run.announcements for run in (self, calm))
        extra = extra_writes * self.faults + EXTRA_WRITES_FOR_ORDER
        if made > enough * (1 + self.stale_restarts) + extra:
            found.append(f"{made} writes, where {enough} do it in calm weather")
        return found


def run(play: Play, plan: Plan = CALM, *, seed: int = 0, shuffle: bool = False) -> Run:
    """Play once. With *shuffle*, the seed decides the order in which ready tasks run.

    What the controllers print is shown in a replay only: thousands of runs say little.
    """
    with ExitStack() as stack:
        stack.enter_context(_without_collector())
        if Replay.asked_for() is None:
            stack.enter_context(redirect_stdout(StringIO()))
            stack.enter_context(logs.silence())
        loop_factory = partial(VirtualLoop, seed, shuffle=shuffle)
        runner = stack.enter_context(asyncio.Runner(loop_factory=loop_factory))
        # Not `Runner.run`, which changes the handler of Ctrl-C and back: it ends a run anyway
        return runner.get_loop().run_until_complete(_play(play, plan, seed))


@contextmanager
def _without_collector() -> Iterator[None]:
    """Put off the garbage collector, which ends what a crashed process left at any moment."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


async def _play(play: Play, plan: Plan, seed: int) -> Run:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    interference = Interference(plan, loop.trace, loop.clock.jump)
    async with EmbeddedCluster(
        play.controllers, interference=interference, seed=seed, metrics=play.metrics
    ) as cluster:
        if play.meddle is not None:
            interference.meddle = partial(play.meddle, cluster)
        # A failure is part of the result: its trace is what people need to see.
        [failure] = await asyncio.gather(_act(play, cluster), return_exceptions=True)
        state = end_state(cluster.server.objects(), play.ignore)
        crashes = cluster.crashes
    return Run(
        state=state,
        requests=interference.requests,
        writes=interference.writes,
        announcements=interference.announcements,
        events=interference.events,
        crashes=crashes,
        faults=interference.faults,
        event_faults=interference.event_faults,
        stale_restarts=interference.stale_restarts,
        blind_writes=tuple(interference.blind_writes),
        seen_at_write=tuple(interference.seen_at_write),
        digest=loop.trace.digest(),
        trace=tuple(loop.trace.lines()),
        failure=f"{type(failure).__name__}: {failure}" if failure else "",
    )


async def _act(play: Play, cluster: EmbeddedCluster) -> None:
    await play.scenario(cluster)
    await cluster.settle()


def storm(play: Play, seed: int) -> Run:
    """Play once under random faults and in random order, all drawn from one seed."""
    plan = Storm(seed, meddles=play.meddle is not None)
    return run(play, plan, seed=seed, shuffle=True)


@dataclass(frozen=True, slots=True)
class Campaign:
    """What a campaign covered."""

    runs: int
    requests: int
    events: int
    crashes: int
    faults: int

    def __str__(self) -> str:
        return (
            f"{self.runs} runs, {self.requests} requests, {self.events} events, "
            f"{self.faults} faults, {self.crashes} crashes"
        )


def simulate(
    scenario: Scenario,
    *controllers: Declared,
    seeds: range = range(100),
    ignore: Sequence[str] = (),
    meddle: Scenario | None = None,
) -> Campaign:
    """Play a scenario under every seed and require the end of a calm run every time.

    *meddle* is what another client does now and then, which the controllers have to undo.
    ``--certwright-seeds N`` moves the end of *seeds* to N, ``--certwright-replay`` runs only the
    one it names. Raises `SimulationFailed` if a run ended otherwise; its message holds the command
    to replay it.
    """
    play = Play(scenario, controllers, ignore, meddle)
    calm = run(play)
    expect_calm(calm)
    replay = Replay.asked_for()
    chosen: Sequence[int] = Replay.seeds(seeds)
    if replay is not None:  # a run of `survives` in the same test has another kind of name
        chosen = [int(replay.name)] if replay.name.isdecimal() else []
    runs = []
    for seed in chosen:
        result = storm(play, seed)
        judge(play, result, calm, str(seed), f"the storm of seed {seed}", replay)
        runs.append(result)
    return Campaign(
        len(runs),
        sum(r.requests for r in runs),
        sum(r.events for r in runs),
        sum(r.crashes for r in runs),
        sum(r.faults + r.event_faults for r in runs),
    )


def expect_calm(calm: Run) -> None:
    """Refuse to go on when the scenario fails without any fault."""
    if calm.failure:
        raise SimulationFailed(f"the scenario fails in calm weather: {calm.failure}")


def judge(play: Play, result: Run, calm: Run, name: str, plan: str, replay: Replay | None) -> None:
    """Raise if a run did not end like the calm one, with what it takes to see it again."""
    wrong = result.differences_from(calm, play.extra_writes)
    if replay is not None:
        wrong += replay.compare(result.digest)
    if not wrong:
        return
    raise SimulationFailed(
        "\n".join(
            [
                f"after {plan} the world is not as it should be:",
                *(f"  {line}" for line in wrong[:SHOWN_DIFFERENCES]),
                f"the last of {len(result.trace)} steps:",
                *(f"  {line}" for line in result.trace[-SHOWN_STEPS:]),
                f"replay with: {Replay(name, result.digest).command()}",
            ]
        )
    )
