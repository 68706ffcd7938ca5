"""The rules of state-of-the-world streams, one by one."""

import pytest
from tests.support.xds.models import NOW, a, contents_of, snapshot

from certwright.xds.protocol.observation import StreamResponse, SyncState
from certwright.xds.protocol.requests import StateRequest
from certwright.xds.protocol.stateoftheworld import StateStream
from certwright.xds.protocol.violation import MOST_TYPES, ProtocolViolation
from certwright.xds.snapshot import NodeSnapshot
from certwright.xds.typeurls import CLUSTER, ENDPOINTS, LISTENER, ROUTES, RUNTIME, SECRET


class Talk:
    """One stream, and the words to talk to it."""

    def __init__(self, first: NodeSnapshot | None = None) -> None:
        self.stream = StateStream()
        self.stream.update(first)

    def ask(
        self,
        type_url: str,
        *names: str,
        nonce: str = "",
        version: str = "",
        error: str | None = None,
    ) -> None:
        request = StateRequest(type_url, frozenset(names), nonce, version, error)
        self.stream.receive(request, NOW)

    def response(self) -> StreamResponse:
        found = self.stream.next_response(NOW)
        assert found is not None
        return found

    def nothing(self) -> bool:
        return self.stream.next_response(NOW) is None

    def accept(self, response: StreamResponse, *names: str) -> None:
        self.ask(response.type_url, *names, nonce=response.nonce, version=response.version)

    def reject(self, response: StreamResponse, *names: str, message: str = "bad") -> None:
        self.ask(response.type_url, *names, nonce=response.nonce, error=message)


def test_the_first_request_is_answered_although_the_version_is_the_current_one() -> None:
    talk = Talk(snapshot(CLUSTER, "v1", x="1"))
    talk.ask(CLUSTER, version="v1")
    assert contents_of(talk.response()) == ["1"]


def test_an_accepted_response_is_not_sent_again() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(CLUSTER)
    talk.accept(talk.response())
    assert talk.nothing()
    talk.stream.update(snapshot(CLUSTER, x="1"))
    assert talk.nothing()


def test_after_a_response_is_accepted_nothing_needs_a_look() -> None:
    talk = Talk(snapshot(CLUSTER, x="1", y="1"))
    talk.ask(CLUSTER)
    talk.accept(talk.response())
    assert not talk.stream.due
    talk.stream.update(snapshot(CLUSTER, x="2", y="1"))
    assert talk.stream.due == {CLUSTER}


def test_a_change_is_sent_without_being_asked_for() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(CLUSTER)
    talk.accept(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="2"))
    assert contents_of(talk.response()) == ["2"]


def test_changes_wait_for_the_verdict_and_only_the_last_is_sent() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(CLUSTER)
    first = talk.response()
    for number in range(2, 100):
        talk.stream.update(snapshot(CLUSTER, x=str(number)))
        assert talk.nothing()
    talk.accept(first)
    assert contents_of(talk.response()) == ["99"]
    assert talk.nothing()


def test_a_rejected_version_is_sent_once_however_often_it_is_asked_for() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(CLUSTER)
    bad = talk.response()
    for _ in range(1000):
        talk.reject(bad)
        assert talk.nothing()
    talk.stream.update(snapshot(CLUSTER, x="1"))
    assert talk.nothing()
    talk.stream.update(snapshot(CLUSTER, x="2"))
    assert contents_of(talk.response()) == ["2"]


def test_a_version_that_was_rejected_before_another_is_not_sent_again() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(CLUSTER)
    talk.reject(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="2"))
    talk.accept(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="1"))
    assert talk.nothing()


def test_after_a_rejection_the_version_before_is_sent_again() -> None:
    """Envoy applies the good parts of what it rejects: without it, a rollback would be half."""
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(CLUSTER)
    talk.accept(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="2"))
    talk.reject(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="1"))
    assert not talk.stream.observe()[0].in_sync
    again = talk.response()
    assert contents_of(again) == ["1"]
    talk.accept(again)
    assert talk.stream.observe()[0].in_sync


def test_a_stale_nonce_is_ignored() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(CLUSTER)
    first = talk.response()
    talk.accept(first)
    talk.stream.update(snapshot(CLUSTER, x="2"))
    second = talk.response()
    talk.ask(CLUSTER, nonce=first.nonce, error="too late")
    assert talk.stream.observe()[0].state is SyncState.SENT
    talk.accept(second)
    assert talk.stream.observe()[0].state is SyncState.ACKNOWLEDGED


def test_names_are_held_until_their_resource_exists() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(SECRET, "cert")
    assert talk.nothing()
    talk.stream.update(snapshot(SECRET, other="1"))
    assert talk.nothing()
    assert talk.stream.observe()[0].state is SyncState.WAITING
    talk.stream.update(snapshot(SECRET, cert="2", other="1"))
    assert contents_of(talk.response()) == ["2"]


def test_everything_waits_for_the_first_snapshot() -> None:
    talk = Talk()
    talk.ask(CLUSTER)
    assert talk.nothing()
    talk.stream.update(snapshot(CLUSTER, x="1"))
    assert contents_of(talk.response()) == ["1"]


def test_clients_keep_what_they_have_when_their_snapshot_is_gone() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask(CLUSTER)
    talk.accept(talk.response())
    talk.stream.update(None)
    assert talk.nothing()


@pytest.mark.parametrize("type_url", [CLUSTER, LISTENER])
def test_that_there_are_no_clusters_or_listeners_is_an_answer(type_url: str) -> None:
    talk = Talk(snapshot(SECRET, x="1"))
    talk.ask(type_url)
    response = talk.response()
    assert contents_of(response) == []
    talk.accept(response)
    assert talk.stream.observe()[0].in_sync


def test_removed_clusters_are_told_by_their_absence() -> None:
    talk = Talk(snapshot(CLUSTER, x="1", y="1"))
    talk.ask(CLUSTER)
    talk.accept(talk.response())
    talk.stream.update(snapshot(CLUSTER, x="1"))
    assert contents_of(talk.response()) == ["1"]


def test_removed_secrets_are_not_told_for_no_response_could() -> None:
    talk = Talk(snapshot(SECRET, x="1", y="2"))
    talk.ask(SECRET, "x", "y")
    talk.accept(talk.response(), "x", "y")
    talk.stream.update(snapshot(SECRET, x="1"))
    assert talk.nothing()


def test_changes_of_others_are_not_sent() -> None:
    talk = Talk(snapshot(SECRET, "v1", mine="1", other="1"))
    talk.ask(SECRET, "mine")
    talk.accept(talk.response(), "mine")
    talk.stream.update(snapshot(SECRET, "v2", mine="1", other="2"))
    assert talk.nothing()
    [seen] = talk.stream.observe()
    assert (seen.wanted, seen.held, seen.in_sync) == ("v2", "v2", True)


def test_a_further_name_is_answered() -> None:
    talk = Talk(snapshot(ENDPOINTS, x="1", y="2"))
    talk.ask(ENDPOINTS, "x")
    first = talk.response()
    assert contents_of(first) == ["1"]
    talk.accept(first, "x", "y")
    second = talk.response()
    assert contents_of(second) == ["1", "2"]
    talk.accept(second, "x", "y")
    assert talk.nothing()


def test_fewer_names_are_not_answered_and_a_name_that_returns_is() -> None:
    talk = Talk(snapshot(ENDPOINTS, x="1", y="2"))
    talk.ask(ENDPOINTS, "x", "y")
    first = talk.response()
    talk.accept(first, "x")
    assert talk.nothing()
    talk.accept(first, "x", "y")
    assert contents_of(talk.response()) == ["1", "2"]


def test_a_further_name_before_the_first_response_arrived_is_answered() -> None:
    talk = Talk(snapshot(ENDPOINTS, x="1", y="2"))
    talk.ask(ENDPOINTS, "x")
    first = talk.response()
    talk.ask(ENDPOINTS, "x", "y")  # crosses the response
    assert talk.nothing()
    talk.accept(first, "x", "y")
    assert contents_of(talk.response()) == ["1", "2"]


def test_a_further_name_after_a_rejection_brings_only_what_was_not_rejected() -> None:
    talk = Talk(snapshot(ENDPOINTS, "v1", x="1", y="2"))
    talk.ask(ENDPOINTS, "x")
    talk.reject(talk.response(), "x")
    talk.ask(ENDPOINTS, "x", "y", nonce="1")
    second = talk.response()
    assert contents_of(second) == ["2"]
    talk.accept(second, "x", "y")
    [seen] = talk.stream.observe()
    assert (seen.state, seen.held, seen.message) == (SyncState.REJECTED, "", "bad")
    assert not seen.in_sync


def test_what_was_rejected_together_is_sent_again_when_a_part_is_replaced() -> None:
    """Which part was bad is not known, nor whether the client took the others."""
    talk = Talk(snapshot(ROUTES, x="1", y="bad"))
    talk.ask(ROUTES, "x", "y")
    talk.reject(talk.response(), "x", "y")
    assert talk.nothing()
    talk.stream.update(snapshot(ROUTES, x="1", y="2"))
    mended = talk.response()
    assert contents_of(mended) == ["1", "2"]
    talk.accept(mended, "x", "y")
    assert talk.stream.observe()[0].in_sync


def test_after_a_return_to_the_version_before_the_good_parts_are_sent_again() -> None:
    talk = Talk(snapshot(ROUTES, x="1", y="1"))
    talk.ask(ROUTES, "x", "y")
    talk.accept(talk.response(), "x", "y")
    talk.stream.update(snapshot(ROUTES, x="2", y="bad"))
    talk.reject(talk.response(), "x", "y")
    talk.stream.update(snapshot(ROUTES, x="1", y="1"))
    back = talk.response()
    assert contents_of(back) == ["1", "1"]
    talk.accept(back, "x", "y")
    talk.stream.update(snapshot(ROUTES, x="2", y="3"))
    assert contents_of(talk.response()) == ["2", "3"]


def test_what_the_client_had_is_not_at_fault() -> None:
    talk = Talk(snapshot(ROUTES, x="1"))
    talk.ask(ROUTES, "x", "y")
    talk.accept(talk.response(), "x", "y")
    talk.stream.update(snapshot(ROUTES, x="1", y="bad"))
    refused = talk.response()
    assert contents_of(refused) == ["1", "bad"]
    talk.reject(refused, "x", "y")
    assert talk.nothing()
    talk.ask(ROUTES, "y", nonce=refused.nonce)
    assert talk.nothing()
    talk.ask(ROUTES, "x", "y", nonce=refused.nonce)
    assert contents_of(talk.response()) == ["1"]


def test_a_client_that_gives_up_what_it_rejected_is_in_sync() -> None:
    talk = Talk(snapshot(ROUTES, x="1", y="bad"))
    talk.ask(ROUTES, "x")
    first = talk.response()
    talk.ask(ROUTES, "x", "y", nonce=first.nonce)
    second = talk.response()
    talk.reject(second, "x", "y")
    assert talk.nothing()
    assert not talk.stream.observe()[0].in_sync
    talk.ask(ROUTES, "x", nonce=second.nonce)
    assert talk.nothing()
    assert talk.stream.observe()[0].in_sync


def test_all_are_wanted_if_none_was_ever_named() -> None:
    talk = Talk(snapshot(LISTENER, x="1", y="2"))
    talk.ask(LISTENER)
    response = talk.response()
    assert contents_of(response) == ["1", "2"]
    talk.accept(response)
    talk.stream.update(snapshot(LISTENER, x="1", y="2", z="3"))
    assert contents_of(talk.response()) == ["1", "2", "3"]


def test_an_empty_list_after_names_means_none() -> None:
    talk = Talk(snapshot(LISTENER, x="1", y="2"))
    talk.ask(LISTENER, "x")
    response = talk.response()
    assert contents_of(response) == ["1"]
    talk.accept(response)
    assert talk.nothing()
    talk.stream.update(snapshot(LISTENER, x="2", y="3"))
    assert talk.nothing()


def test_a_star_wants_all_also_beside_names() -> None:
    talk = Talk(snapshot(LISTENER, x="1", y="2"))
    talk.ask(LISTENER, "x")
    first = talk.response()
    talk.accept(first, "x", "*")
    second = talk.response()
    assert contents_of(second) == ["1", "2"]
    talk.accept(second)
    talk.stream.update(snapshot(LISTENER, x="5"))
    assert talk.nothing()


def test_pushes_have_an_order() -> None:
    types = (RUNTIME, SECRET, ROUTES, LISTENER, ENDPOINTS, CLUSTER)
    talk = Talk(NodeSnapshot.of([a(one, "x", "1") for one in types]))
    for one in types:
        talk.ask(one, "x")
    first = [talk.response() for _ in types]
    assert [one.type_url for one in first] == list(reversed(types))
    for response in first:
        talk.accept(response, "x")
    talk.stream.update(NodeSnapshot.of([a(one, "x", "2") for one in types]))
    assert [talk.response().type_url for _ in types] == list(reversed(types))


def test_types_do_not_wait_for_each_other() -> None:
    talk = Talk(NodeSnapshot.of([a(CLUSTER, "x", "1"), a(SECRET, "s", "1")]))
    talk.ask(CLUSTER)
    talk.ask(SECRET, "s")
    talk.response()
    secret = talk.response()
    talk.accept(secret, "s")
    talk.stream.update(NodeSnapshot.of([a(CLUSTER, "x", "2"), a(SECRET, "s", "2")]))
    assert talk.response().type_url == SECRET
    assert talk.nothing()


def test_a_type_that_no_one_serves_disturbs_no_other() -> None:
    talk = Talk(snapshot(CLUSTER, x="1"))
    talk.ask("type.googleapis.com/no.such.Type", "x")
    talk.ask(CLUSTER)
    assert talk.response().type_url == CLUSTER
    assert talk.nothing()


def test_a_request_without_a_type_and_too_many_types_end_the_stream() -> None:
    talk = Talk()
    with pytest.raises(ProtocolViolation, match="names no type"):
        talk.ask("")
    for number in range(MOST_TYPES):
        talk.ask(f"type-{number}")
    with pytest.raises(ProtocolViolation, match="more than 64 types"):
        talk.ask("one more")


def test_what_a_client_rejected_is_observed_with_its_words() -> None:
    talk = Talk(snapshot(CLUSTER, "v1", x="1"))
    talk.ask(CLUSTER)
    assert talk.stream.observe()[0].state is SyncState.WAITING
    talk.accept(talk.response())
    talk.stream.update(snapshot(CLUSTER, "v2", x="2"))
    talk.reject(talk.response(), message="no such cluster")
    [seen] = talk.stream.observe()
    assert (seen.wanted, seen.held, seen.rejected, seen.message) == (
        "v2",
        "v1",
        "v2",
        "no such cluster",
    )
    assert (seen.state, seen.rejections, seen.in_sync) == (SyncState.REJECTED, 1, False)
    talk.stream.update(snapshot(CLUSTER, "v3", x="3"))
    talk.accept(talk.response())
    [seen] = talk.stream.observe()
    assert (seen.wanted, seen.held, seen.rejected, seen.message) == ("v3", "v3", "", "")
    assert (seen.state, seen.rejections, seen.in_sync) == (SyncState.ACKNOWLEDGED, 1, True)


def test_endpoints_follow_a_cluster_that_changed() -> None:
    """Envoy waits for them before it uses the cluster, and before it accepts the response."""
    talk = Talk(NodeSnapshot.of([a(CLUSTER, "x", "1"), a(ENDPOINTS, "x", "1")]))
    talk.ask(CLUSTER)
    talk.ask(ENDPOINTS, "x")
    talk.accept(talk.response())
    talk.accept(talk.response(), "x")
    talk.stream.update(
        NodeSnapshot.of([a(CLUSTER, "x", "1"), a(CLUSTER, "new", "1"), a(ENDPOINTS, "x", "1")])
    )
    talk.accept(talk.response())
    assert talk.nothing()
    talk.stream.update(NodeSnapshot.of([a(CLUSTER, "x", "2"), a(ENDPOINTS, "x", "1")]))
    assert talk.response().type_url == CLUSTER
    endpoints = talk.response()
    assert contents_of(endpoints) == ["1"]
    talk.accept(endpoints, "x")
    assert talk.nothing()
