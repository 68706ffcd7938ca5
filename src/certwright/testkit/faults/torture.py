"""Every fault at every point: the exhaustive half of the simulation.

`survives` plays the scenario once in calm weather, asks each kind of torture where it could strike
in what happened, and plays it again for every such point. All of them must end alike.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from certwright.runtime import Controller, Declared, Operator
from certwright.testkit.faults.faults import (
    At,
    Crash,
    CutWatch,
    DelayEvent,
    DropEvent,
    EventFault,
    ExpireWatch,
    FreezeWatch,
    LoseAnswer,
    Plan,
    Refuse,
    RepeatEvent,
    RequestFault,
    SwapEvents,
    Unreachable,
)
from certwright.testkit.faults.replay import Replay
from certwright.testkit.faults.simulation import (
    EXTRA_WRITES_PER_FAULT,
    Play,
    Run,
    Scenario,
    expect_calm,
    judge,
    run,
)

Torture: TypeAlias = Callable[[Run], Iterator[Plan]]
"""Given a calm run, yields one plan for every point at which it could have gone wrong."""


def survives(
    scenario: Scenario,
    controllers: Declared | Sequence[Declared],
    *tortures: Torture,
    ignore: Sequence[str] = (),
    most: int | None = None,
    extra_writes: int = EXTRA_WRITES_PER_FAULT,
) -> int:
    """Require that the scenario ends the same whatever happens on the way.

    Returns how many runs that took. *ignore* names fields that may differ between runs, as
    ``Kind.path.to.field``. With *most*, of each torture only so many points are tried, evenly
    spread, unless ``--certwright-seeds`` asks for a campaign. Each fault may cost *extra_writes*
    more than a calm run makes. ``--certwright-replay`` plays only the run it names. Raises
    `SimulationFailed` if a run ended otherwise. The message holds the command to replay it.
    """
    chosen = (
        (controllers,) if isinstance(controllers, Controller | Operator) else tuple(controllers)
    )
    play = Play(scenario, chosen, ignore, extra_writes=extra_writes)
    calm = run(play)
    expect_calm(calm)
    replay = Replay.asked_for()
    runs = 0
    for torture in tortures:
        plans = list(enumerate(torture(calm), start=1))
        for number, plan in plans if replay else _spread(plans, most):
            name = f"{torture.__name__}/{number}"
            if replay is None or replay.name == name:
                judge(play, run(play, plan), calm, name, str(plan), replay)
                runs += 1
    return runs


def _spread(plans: list[tuple[int, Plan]], most: int | None) -> list[tuple[int, Plan]]:
    """Return at most so many of all plans, the first and the last among them."""
    if most is None or len(plans) <= most or Replay.is_campaign():
        return plans
    step = (len(plans) - 1) / (most - 1)
    return [plans[round(number * step)] for number in range(most)]


def crash_after_every_write(calm: Run) -> Iterator[Plan]:
    """Kill the process at each write: before it has the answer, and right after."""
    for number in range(1, calm.writes + 1):
        yield At(writes={number: Crash(answered=False)})
        yield At(writes={number: Crash(answered=True)})


def stale_restart(calm: Run) -> Iterator[Plan]:
    """Kill the process at each write and show its successor each earlier state it had seen."""
    for number, seen in enumerate(calm.seen_at_write, start=1):
        for behind in range(1, seen + 1):
            yield At(writes={number: Crash(behind=behind)})


def lose_every_answer(calm: Run) -> Iterator[Plan]:
    """Carry out each write and cut the connection before the answer; the process lives on."""
    yield from _each_write(calm, LoseAnswer())


def refuse_every_write(calm: Run) -> Iterator[Plan]:
    """Refuse each write once, in each way a server refuses what may work later."""
    for status in (409, 429, 500, 503):
        yield from _each_write(calm, Refuse(status, retry_after_seconds=int(status == 429)))
    yield from _each_write(calm, Unreachable())


def fail_every_request(calm: Run) -> Iterator[Plan]:
    """Let each request fail once, reads and watches included: refused, expired, unreachable."""
    for fault in (Refuse(500), Refuse(410), Unreachable()):
        for number in range(1, calm.requests + 1):
            yield At(requests={number: fault})


def drop_each_event(calm: Run) -> Iterator[Plan]:
    """Hide each watch event; what it told shows only in a later list."""
    yield from _each_event(calm, DropEvent())


def repeat_each_event(calm: Run) -> Iterator[Plan]:
    """Deliver each watch event twice."""
    yield from _each_event(calm, RepeatEvent())


def delay_each_event(calm: Run) -> Iterator[Plan]:
    """Let each watch event, and those behind it, come late; or after the one behind it."""
    yield from _each_event(calm, DelayEvent(20.0))
    yield from _each_event(calm, SwapEvents())


def break_each_watch(calm: Run) -> Iterator[Plan]:
    """End the watch before each of its events: cut, silent, or too old to go on."""
    for fault in (CutWatch(), FreezeWatch(), ExpireWatch()):
        yield from _each_event(calm, fault)


def _each_write(calm: Run, fault: RequestFault) -> Iterator[Plan]:
    for number in range(1, calm.writes + 1):
        yield At(writes={number: fault})


def _each_event(calm: Run, fault: EventFault) -> Iterator[Plan]:
    for number in range(1, calm.events + 1):
        yield At(events={number: fault})
