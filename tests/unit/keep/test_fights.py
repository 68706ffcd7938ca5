import pytest
from hypothesis import given
from hypothesis import strategies as st

from certwright.keep.state import Fight, FightRules, Fights

RULES = FightRules()


def test_repairs_now_and_then_are_no_fight() -> None:
    fights: Fights[str] = Fights()
    for now in range(0, 3600, 20):
        assert not fights.repaired("a", float(now))
        assert fights.wait("a", float(now)) == 0


def test_the_fifth_repair_within_a_minute_is_a_fight() -> None:
    fights: Fights[str] = Fights()
    assert [fights.repaired("a", float(now)) for now in range(5)] == [False] * 4 + [True]
    assert fights.wait("a", 4.0) == 10
    assert fights.wait("a", 9.0) == 5
    assert fights.wait("a", 14.0) == 0


def test_pauses_double_up_to_five_minutes() -> None:
    fight, now, pauses = Fight(), 0.0, []
    for _ in range(12):
        fight = fight.repaired(now, RULES)
        pauses.append(fight.wait(now))
        now += max(fight.wait(now), 1.0)
    assert pauses == [0, 0, 0, 0, 10, 20, 40, 80, 160, 300, 300, 300]


def test_a_fight_is_told_once() -> None:
    fights: Fights[str] = Fights()
    now, told = 0.0, 0
    for _ in range(20):
        told += fights.repaired("a", now)
        now += max(fights.wait("a", now), 1.0)
    assert told == 1


def test_quiet_ends_it() -> None:
    fights: Fights[str] = Fights()
    for now in range(5):
        fights.repaired("a", float(now))
    assert not fights.repaired("a", 74.1)
    assert fights.wait("a", 74.1) == 0


def test_what_is_not_quiet_for_long_enough_goes_on() -> None:
    fights: Fights[str] = Fights()
    for now in range(5):
        fights.repaired("a", float(now))
    assert not fights.repaired("a", 74.0)
    assert fights.wait("a", 74.0) == 20


def test_objects_do_not_share_their_fights() -> None:
    fights: Fights[str] = Fights()
    for now in range(10):
        fights.repaired("a", float(now))
        assert fights.wait("b", float(now)) == 0


def test_what_is_over_is_forgotten() -> None:
    fights: Fights[str] = Fights()
    fights.repaired("a", 0.0)
    for now in range(60, 66):
        fights.repaired("b", float(now))
    fights.forget_quiet(65.0)
    assert len(fights) == 1
    assert fights.wait("b", 65.0) > 0


@pytest.mark.parametrize(
    "rules", [RULES, FightRules(repairs=2, within=5, first_pause=1, longest_pause=3)]
)
@given(gaps=st.lists(st.floats(0.01, 500), max_size=40))
def test_whatever_happens_pauses_stay_in_their_bounds(rules: FightRules, gaps: list[float]) -> None:
    fight, now = Fight(), 0.0
    for gap in gaps:
        now += gap
        fight = fight.repaired(now, rules)
        assert len(fight.repairs) <= rules.repairs
        assert fight.pause == 0 or rules.first_pause <= fight.pause <= rules.longest_pause
        assert fight.wait(now) == pytest.approx(fight.pause)


@given(gaps=st.lists(st.floats(0.01, 5), min_size=5, max_size=5))
def test_five_repairs_in_a_row_are_always_a_fight(gaps: list[float]) -> None:
    fight, now = Fight(), 0.0
    for gap in gaps:
        now += gap
        fight = fight.repaired(now, RULES)
    assert fight.pause == RULES.first_pause
