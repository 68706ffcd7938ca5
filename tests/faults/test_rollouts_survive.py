"""Restarts under faults at every point: never more of them than new contents, and none is lost.

Each scenario is played under a few faults; a campaign (``--certwright-seeds``) plays it under all.
"""

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.faults.rolloutscenarios import (
    IGNORE,
    LEAN,
    ONE_AT_A_TIME,
    OPERATOR,
    SCENARIOS,
    WITH_JOBS,
    a_recreated_job,
    a_short_renewal,
    one_renewal,
    one_secret_of_three,
)

from certwright.testkit import (
    crash_after_every_write,
    delay_each_event,
    drop_each_event,
    lose_every_answer,
    refuse_every_write,
    simulate,
    stale_restart,
    survives,
)
from certwright.testkit.faults.replay import Replay

MOST = 2
SEEDS = 200
"""Of a short scenario. A campaign of 5,000 plays so many, and as many over all others together."""
PARTS = 4


@pytest.mark.parametrize("number", range(len(SCENARIOS)), ids=lambda one: SCENARIOS[one].__name__)
def test_crashes_stale_views_and_lost_events(number: int) -> None:
    scenario = SCENARIOS[number]
    others = (stale_restart, drop_each_event)
    faults = (
        crash_after_every_write,
        *(others if Replay.is_campaign() else others[number % 2 :][:1]),
    )
    survives(scenario, OPERATOR, *faults, ignore=IGNORE, most=MOST)


@pytest.mark.parametrize("number", range(len(SCENARIOS)), ids=lambda one: SCENARIOS[one].__name__)
def test_a_storm_over_each(number: int) -> None:
    seeds = range(number, len(SCENARIOS), len(SCENARIOS))
    simulate(SCENARIOS[number], OPERATOR, seeds=seeds, ignore=IGNORE)


@pytest.mark.parametrize("part", range(PARTS))
def test_many_storms_over_a_short_one(part: int) -> None:
    simulate(a_short_renewal, LEAN, seeds=range(part, SEEDS, PARTS), ignore=IGNORE)


TORTURES: list[Callable[..., Any]] = [delay_each_event, lose_every_answer, refuse_every_write]


@pytest.mark.parametrize("torture", TORTURES, ids=lambda one: one.__name__)
def test_late_events_lost_answers_and_refusals(torture: Callable[..., Any]) -> None:
    survives(one_renewal, OPERATOR, torture, ignore=IGNORE, most=6)
    survives(one_secret_of_three, OPERATOR, torture, ignore=IGNORE, most=MOST)


def test_no_job_is_lost() -> None:
    tortures = (crash_after_every_write, lose_every_answer, refuse_every_write)
    survives(a_recreated_job, WITH_JOBS, *tortures, ignore=IGNORE, most=4)


def test_one_at_a_time() -> None:
    tortures = (crash_after_every_write, drop_each_event)
    survives(one_secret_of_three, ONE_AT_A_TIME, *tortures, ignore=IGNORE, most=6)
