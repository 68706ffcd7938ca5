from certwright.operators.discoveryservice.connected.attendance import (
    HOLD_SECONDS,
    Attendance,
    EnvoyId,
)
from certwright.xds.observations import ShownCertificate
from certwright.xds.snapshot import NodeKey

GATEWAY = NodeKey("shop", "gateway")
ASKED = {"shop": "new"}


def shown(
    serial: str, host: str = "10.0.0.7", port: int = 1, node: NodeKey = GATEWAY
) -> ShownCertificate:
    return ShownCertificate(node, f"{host}:{port}", serial)


def test_who_shows_another_certificate_is_late() -> None:
    here = Attendance(0)
    here.look([shown("new"), shown("old", "10.0.0.8")], 100)
    assert here.late(ASKED) == [EnvoyId(GATEWAY, "10.0.0.8")]


def test_of_namespaces_of_which_nothing_is_asked_none_is_late() -> None:
    here = Attendance(0)
    here.look([shown("old", node=NodeKey("other", "gateway"))], 100)
    assert here.late(ASKED) == []


def test_an_envoy_with_an_older_connection_besides_is_late() -> None:
    here = Attendance(0)
    here.look([shown("old", port=1), shown("new", port=2)], 100)
    assert here.late(ASKED) == [EnvoyId(GATEWAY, "10.0.0.7")]


def test_who_left_counts_until_another_process_must_have_reported_it() -> None:
    here = Attendance(0)
    here.look([shown("old")], 100)
    here.look([], 110)
    assert here.late(ASKED) == [EnvoyId(GATEWAY, "10.0.0.7")]
    assert here.late(ASKED, connected=True) == []
    assert here.sleep(120) == HOLD_SECONDS - 10
    here.look([], 110 + HOLD_SECONDS - 1)
    assert here.late(ASKED) == [EnvoyId(GATEWAY, "10.0.0.7")]
    here.look([], 110 + HOLD_SECONDS)
    assert here.late(ASKED) == []
    assert here.sleep(200) is None


def test_who_comes_back_with_the_new_certificate_is_not_late_any_more() -> None:
    here = Attendance(0)
    here.look([shown("old", port=1)], 100)
    here.look([], 101)
    here.look([shown("new", port=2)], 102)
    assert here.late(ASKED) == []
    here.look([], 103)
    assert here.late(ASKED) == []


def test_a_process_that_has_just_begun_does_not_know_all() -> None:
    here = Attendance(100)
    assert not here.is_settled(100 + HOLD_SECONDS - 1)
    assert here.sleep(110) == HOLD_SECONDS - 10
    assert here.is_settled(100 + HOLD_SECONDS)
    assert here.sleep(100 + HOLD_SECONDS) is None
