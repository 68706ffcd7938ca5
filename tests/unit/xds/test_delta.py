"""The rules of delta streams, one by one."""

import pytest
from tests.support.xds.models import NOW, a, delta_of, snapshot

from certwright.xds.protocol.delta import DeltaStream
from certwright.xds.protocol.observation import StreamResponse, SyncState
from certwright.xds.protocol.requests import DeltaRequest
from certwright.xds.protocol.violation import MOST_NAMES, ProtocolViolation
from certwright.xds.snapshot import NodeSnapshot
from certwright.xds.typeurls import CLUSTER, ENDPOINTS, LISTENER, SECRET


class Talk:
    """One stream, and the words to talk to it."""

    def __init__(self, first: NodeSnapshot | None = None) -> None:
        self.stream = DeltaStream()
        self.stream.update(first)

    def ask(
        self,
        type_url: str,
        *names: str,
        drop: tuple[str, ...] = (),
        held: dict[str, str] | None = None,
        nonce: str = "",
        error: str | None = None,
    ) -> None:
        request = DeltaRequest(
            type_url, frozenset(names), frozenset(drop), held or {}, nonce, error
        )
        self.stream.receive(request, NOW)

    def response(self) -> StreamResponse:
        found = self.stream.next_response(NOW)
        assert found is not None
        return found

    def nothing(self) -> bool:
        return self.stream.next_response(NOW) is None

    def accept(self, response: StreamResponse) -> None:
        self.ask(response.type_url, nonce=response.nonce)

    def reject(self, response: StreamResponse, message: str = "bad") -> None:
        self.ask(response.type_url, nonce=response.nonce, error=message)


def test_only_what_changed_is_sent() -> None:
    talk = Talk(snapshot(CLUSTER, x="1", y="1"))
    talk.ask(CLUSTER)
    first = talk.response()
    assert delta_of(first) == ({"x": "1", "y": "1"}, [])
    talk.accept(first)
    assert talk.nothing()
    talk.stream.update(snapshot(CLUSTER, x="2", z="1"))
    assert delta_of(talk.response()) == ({"x": "2", "z": "1"}, ["y"])


def test_after_a_response_is_accepted_nothing_needs_a_look() -> None:
    talk = Talk(snapshot(CLUSTER, x="1", y="1"))
    talk.ask(CLUSTER)
    talk.accept(talk.response())
    assert not talk.stream.due
    talk.stream.update(snapshot(CLUSTER, x="2", y="1"))
    assert talk.stream.due == {CLUSTER}


def test_everything_waits_for_the_first_snapshot() -> None:
    talk = Talk()
    talk.ask(CLUSTER)
    assert talk.nothing()
    talk.stream.update(snapshot(CLUSTER, x="1"))
    assert delta_of(talk.response()) == ({"x": "1"}, [])


def test_what_a_client_holds_from_an_earlier_stream_is_not_sent_again() -> None:
    talk = Talk(snapshot(CLUSTER, x="1", y="2"))
    talk.ask(CLUSTER, held={"x": "1", "y": "1", "gone": "1"})
    assert delta_of(talk.response()) == ({"y": "2"}, ["gone"])


def test_the_first_request_is_answered_although_nothing_changed() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(CLUSTER, held={"x": "1"})
    response = talk.response()
    assert delta_of(response) == ({}, [])
    talk.accept(response)
    assert talk.nothing()
    assert talk.stream.observe()[0].in_sync


def test_names_are_held_until_their_resource_exists() -> None:
    talk = Talk(snapshot(SECRET, other="1"))
    talk.ask(SECRET, "cert")
    assert talk.nothing()
    talk.stream.update(snapshot(SECRET, other="1", cert="2"))
    response = talk.response()
    assert delta_of(response) == ({"cert": "2"}, [])
    talk.accept(response)
    talk.stream.update(snapshot(SECRET, other="1"))
    assert delta_of(talk.response()) == ({}, ["cert"])


def test_a_removed_resource_that_returns_is_sent() -> None:
    talk = Talk(snapshot(SECRET, cert="1"))
    talk.ask(SECRET, "cert")
    talk.accept(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="1"))
    removal = talk.response()
    assert delta_of(removal) == ({}, ["cert"])
    talk.accept(removal)
    talk.stream.update(snapshot(SECRET, cert="1"))
    assert delta_of(talk.response()) == ({"cert": "1"}, [])


def test_a_name_that_is_subscribed_to_again_is_sent_again() -> None:
    talk = Talk(snapshot(SECRET, cert="1"))
    talk.ask(SECRET, "cert")
    talk.accept(talk.response())
    talk.ask(SECRET, "cert")
    assert delta_of(talk.response()) == ({"cert": "1"}, [])


def test_a_name_that_is_given_up_is_neither_sent_nor_removed() -> None:
    talk = Talk(snapshot(SECRET, cert="1", other="1"))
    talk.ask(SECRET, "cert", "other")
    talk.accept(talk.response())
    talk.ask(SECRET, drop=("cert",))
    talk.stream.update(snapshot(SECRET, other="2"))
    assert delta_of(talk.response()) == ({"other": "2"}, [])


def test_a_star_can_be_given_up_and_names_stay() -> None:
    talk = Talk(snapshot(LISTENER, x="1", y="1"))
    talk.ask(LISTENER, "*", "x")
    talk.accept(talk.response())
    talk.ask(LISTENER, drop=("*",))
    talk.stream.update(snapshot(LISTENER, x="2", y="2"))
    assert delta_of(talk.response()) == ({"x": "2"}, [])


def test_a_name_that_the_star_still_covers_is_sent_anew_when_given_up() -> None:
    talk = Talk(snapshot(LISTENER, x="1", y="1"))
    talk.ask(LISTENER, "*", "x")
    talk.accept(talk.response())
    talk.ask(LISTENER, drop=("x",))
    assert delta_of(talk.response()) == ({"x": "1"}, [])


def test_no_name_means_all_only_in_the_first_request() -> None:
    talk = Talk(snapshot(LISTENER, x="1", y="1"))
    talk.ask(LISTENER, "x")
    talk.accept(talk.response())
    assert talk.nothing()


def test_rejected_versions_are_not_sent_again_but_others_are() -> None:
    talk = Talk(snapshot(CLUSTER, "v1", x="1", y="1"))
    talk.ask(CLUSTER)
    talk.accept(talk.response())
    talk.stream.update(snapshot(CLUSTER, "v2", x="bad", y="1"))
    talk.reject(talk.response(), "no")
    assert talk.nothing()
    talk.ask(CLUSTER, "x")
    assert talk.nothing()
    talk.stream.update(snapshot(CLUSTER, "v3", x="bad", y="2"))
    third = talk.response()
    assert delta_of(third) == ({"y": "2"}, [])
    talk.accept(third)
    [seen] = talk.stream.observe()
    assert (seen.state, seen.held, seen.rejected, seen.message) == (
        SyncState.REJECTED,
        "v1",
        "v2",
        "no",
    )
    talk.stream.update(snapshot(CLUSTER, "v4", x="1", y="2"))
    fourth = talk.response()
    assert delta_of(fourth) == ({"x": "1"}, [])
    talk.accept(fourth)
    [seen] = talk.stream.observe()
    assert (seen.held, seen.message, seen.in_sync) == ("v4", "", True)


def test_what_was_rejected_together_is_sent_again_when_a_part_is_replaced() -> None:
    """Which part was bad is not known, nor whether the client took the others."""
    talk = Talk(snapshot(CLUSTER, x="1", y="bad", z="1"))
    talk.ask(CLUSTER)
    talk.reject(talk.response())
    assert talk.nothing()
    talk.stream.update(snapshot(CLUSTER, x="1", y="2", z="1"))
    mended = talk.response()
    assert delta_of(mended) == ({"x": "1", "y": "2", "z": "1"}, [])
    talk.accept(mended)
    assert talk.stream.observe()[0].in_sync


def test_a_good_part_that_went_with_a_bad_one_returns() -> None:
    talk = Talk(snapshot(CLUSTER, x="1", y="bad"))
    talk.ask(CLUSTER)
    talk.reject(talk.response())
    talk.stream.update(snapshot(CLUSTER, z="1"))
    moved = talk.response()
    assert delta_of(moved) == ({"z": "1"}, ["x", "y"])
    talk.accept(moved)
    talk.stream.update(snapshot(CLUSTER, x="1", z="1"))
    assert delta_of(talk.response()) == ({"x": "1"}, [])


def test_a_good_part_is_sent_again_when_the_bad_one_is_given_up() -> None:
    talk = Talk(snapshot(SECRET, x="1", y="bad"))
    talk.ask(SECRET, "x", "y")
    talk.reject(talk.response())
    talk.ask(SECRET, drop=("y",))
    again = talk.response()
    assert delta_of(again) == ({"x": "1"}, [])
    talk.accept(again)
    assert talk.stream.observe()[0].in_sync


def test_after_a_return_to_the_version_before_the_good_parts_are_sent_again() -> None:
    talk = Talk(snapshot(CLUSTER, x="1", y="1"))
    talk.ask(CLUSTER)
    talk.accept(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="2", y="bad"))
    talk.reject(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="1", y="1"))
    talk.accept(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="2", y="3"))
    assert delta_of(talk.response()) == ({"x": "2", "y": "3"}, [])


def test_removals_are_not_held_up_by_what_was_rejected_together() -> None:
    talk = Talk(snapshot(CLUSTER, x="1", y="1", z="1"))
    talk.ask(CLUSTER)
    talk.accept(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="2", y="bad", z="1"))
    talk.reject(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="2", y="bad"))
    removal = talk.response()
    assert delta_of(removal) == ({}, ["z"])
    talk.accept(removal)
    assert talk.nothing()
    assert talk.stream.observe()[0].state is SyncState.REJECTED


def test_a_name_that_returns_while_it_is_under_way_is_removed_when_it_is_gone() -> None:
    talk = Talk(snapshot(SECRET, x="1", y="1"))
    talk.ask(SECRET, "x", "y")
    first = talk.response()
    talk.ask(SECRET, drop=("x",))
    talk.ask(SECRET, "x")
    talk.stream.update(snapshot(SECRET, y="1"))
    talk.accept(first)
    assert delta_of(talk.response()) == ({}, ["x"])


def test_a_stale_nonce_is_no_verdict_but_its_names_count() -> None:
    talk = Talk(snapshot(SECRET, x="1", y="1"))
    talk.ask(SECRET, "x")
    response = talk.response()
    talk.ask(SECRET, "y", nonce="stale", error="too late")
    assert talk.stream.observe()[0].state is SyncState.SENT
    assert talk.nothing()
    talk.accept(response)
    assert delta_of(talk.response()) == ({"y": "1"}, [])


def test_changes_wait_for_the_verdict_and_only_the_last_is_sent() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(CLUSTER)
    first = talk.response()
    for number in range(2, 50):
        talk.stream.update(snapshot(CLUSTER, x=str(number)))
        assert talk.nothing()
    talk.accept(first)
    assert delta_of(talk.response()) == ({"x": "49"}, [])


def test_pushes_have_an_order() -> None:
    talk = Talk(NodeSnapshot.of([a(one, "x", "1") for one in (SECRET, LISTENER, CLUSTER)]))
    for one in (SECRET, LISTENER, CLUSTER):
        talk.ask(one, "x")
    assert [talk.response().type_url for _ in range(3)] == [CLUSTER, LISTENER, SECRET]


def test_changes_of_others_are_not_sent_and_the_client_is_in_sync() -> None:
    talk = Talk(snapshot(SECRET, "v1", mine="1", other="1"))
    talk.ask(SECRET, "mine")
    talk.accept(talk.response())
    talk.stream.update(snapshot(SECRET, "v2", mine="1", other="2"))
    assert talk.nothing()
    [seen] = talk.stream.observe()
    assert (seen.wanted, seen.held, seen.resources) == ("v2", "v2", 1)


def test_too_many_names_end_the_stream() -> None:
    talk = Talk()
    with pytest.raises(ProtocolViolation, match="names no type"):
        talk.ask("")
    with pytest.raises(ProtocolViolation, match="are asked for"):
        talk.ask(SECRET, *map(str, range(MOST_NAMES + 1)))
    with pytest.raises(ProtocolViolation, match="are held"):
        talk.ask(SECRET, held={str(number): "" for number in range(MOST_NAMES + 1)})


def test_endpoints_follow_a_cluster_that_changed() -> None:
    """Envoy waits for them before it uses the cluster, and before it accepts the response."""
    talk = Talk(NodeSnapshot.of([a(CLUSTER, "x", "1"), a(ENDPOINTS, "x", "1")]))
    talk.ask(CLUSTER)
    talk.ask(ENDPOINTS, "x")
    talk.accept(talk.response())
    talk.accept(talk.response())
    talk.stream.update(
        NodeSnapshot.of([a(CLUSTER, "x", "1"), a(CLUSTER, "new", "1"), a(ENDPOINTS, "x", "1")])
    )
    talk.accept(talk.response())
    assert talk.nothing()
    talk.stream.update(NodeSnapshot.of([a(CLUSTER, "x", "2"), a(ENDPOINTS, "x", "1")]))
    assert talk.response().type_url == CLUSTER
    assert delta_of(talk.response()) == ({"x": "1"}, [])
    assert talk.nothing()
