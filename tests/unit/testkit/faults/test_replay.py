"""Naming a run so that it can be seen again."""

from certwright.testkit.faults.replay import Replay

HERE = {"PYTEST_CURRENT_TEST": "tests/faults/test_x.py::test_y[a b] (call)"}


def test_the_command_names_test_run_and_trace() -> None:
    command = Replay("crash_after_every_write/3", "0ab1").command(HERE)
    assert command == (
        "python -m pytest 'tests/faults/test_x.py::test_y[a b]' "
        "--certwright-replay=crash_after_every_write/3@0ab1"
    )


def test_a_run_of_a_campaign_is_found_in_a_campaign_only() -> None:
    command = Replay("stale_restart/3").command({**HERE, "CERTWRIGHT_SEEDS": "900"})
    assert command.endswith(" --certwright-seeds=900")


def test_what_is_asked_for_is_read_back() -> None:
    asked = Replay.asked_for({"CERTWRIGHT_REPLAY": "stale_restart/7@ff"})
    assert asked == Replay("stale_restart/7", "ff")
    assert Replay.asked_for({}) is None
    assert Replay.asked_for({"CERTWRIGHT_REPLAY": "17"}) == Replay("17", "")


def test_a_replay_that_took_another_way_says_so() -> None:
    assert Replay("1", "aa").compare("aa") == []
    assert Replay("1").compare("bb") == []
    assert Replay("1", "aa").compare("bb") == ["the replay took another way: trace bb, not aa"]


def test_the_number_of_seeds_can_be_asked_for() -> None:
    assert Replay.seeds(range(5), {}) == range(5)
    assert Replay.seeds(range(5), {"CERTWRIGHT_SEEDS": "3"}) == range(3)
    assert Replay.seeds(range(1, 5, 2), {"CERTWRIGHT_SEEDS": "9"}) == range(1, 9, 2)
