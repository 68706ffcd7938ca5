"""Plans: points that are named, and dice that repeat."""

from hypothesis import given
from hypothesis import strategies as st

from certwright.client import request
from certwright.client.request import Selection
from certwright.kube.kinds import ConfigMap
from certwright.kube.objects import Key
from certwright.testkit.faults.faults import CALM, At, Crash, DropEvent, Meddle, Refuse, Storm

WRITE = request.delete(ConfigMap, Key("n", "a"))
READ = request.list_page(ConfigMap, Selection())


def rolls(storm: Storm) -> list[object]:
    """Ask about a read, a write and an event in turn."""
    found: list[object] = []
    for n in range(1, 300):
        found += [storm.on_request(READ, 2 * n - 1, 0), storm.on_request(WRITE, 2 * n, n)]
        found.append(storm.on_event(n))
    return found


def test_named_points_strike_where_they_say() -> None:
    plan = At(writes={2: Crash()}, requests={7: Refuse(500)}, events={3: DropEvent()})
    assert plan.on_request(WRITE, 5, 2) == Crash()
    assert plan.on_request(READ, 7, 0) == Refuse(500)
    assert plan.on_request(WRITE, 6, 3) is None
    assert plan.on_event(3) == DropEvent()
    assert plan.on_event(2) is None
    assert str(plan) == (
        "Crash(answered=False, behind=0, hold_seconds=5.0) at write 2; "
        "Refuse(status=500, retry_after_seconds=0) at request 7; "
        "DropEvent(heal_seconds=30.0) at event 3"
    )


def test_nothing_goes_wrong_in_calm_weather() -> None:
    assert CALM.on_request(WRITE, 1, 1) is None
    assert CALM.on_event(1) is None
    assert str(CALM) == "nothing goes wrong"


@given(st.integers())
def test_a_storm_repeats_itself_and_ends(seed: int) -> None:
    first = rolls(Storm(seed, faults=9))
    assert rolls(Storm(seed, faults=9)) == first
    assert sum(fault is not None for fault in first) == 9


def test_storms_differ_and_leave_nothing_out() -> None:
    seen = {type(fault).__name__ for seed in range(60) for fault in rolls(Storm(seed))}
    assert seen - {"NoneType"} == {
        "Crash", "CutWatch", "DelayEvent", "DropEvent", "ExpireWatch", "FreezeWatch", "JumpClock",
        "LoseAnswer", "Refuse", "RepeatEvent", "Slow", "SwapEvents", "Unreachable",
    }  # fmt: skip


def test_another_client_meddles_where_there_is_one() -> None:
    plain = [fault for seed in range(60) for fault in rolls(Storm(seed))]
    crowded = [fault for seed in range(60) for fault in rolls(Storm(seed, meddles=True))]
    assert Meddle() not in plain
    assert Meddle() in crowded


def test_only_writes_kill_the_process() -> None:
    for seed in range(60):
        storm = Storm(seed)
        assert not any(isinstance(storm.on_request(READ, n, 0), Crash) for n in range(1, 200))
