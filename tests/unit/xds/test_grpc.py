"""Framing, floods and identities, decided from bytes and values alone."""

from datetime import UTC, datetime
from itertools import pairwise

import pytest
from h2.errors import ErrorCodes
from hypothesis import given
from hypothesis import strategies as st

from certwright.xds.access import admit_node, client_uri, identify_client
from certwright.xds.grpc.envelope import MessageReader, prefix
from certwright.xds.grpc.floods import Flood, FrameInspector
from certwright.xds.grpc.status import CallRefused, StatusCode, status_headers
from certwright.xds.messages import DiscoveryRequest, Undecodable
from certwright.xds.protocol.requests import read_delta_request, read_state_request

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RESET, SETTINGS, PING, WINDOW = 0, 1, 3, 4, 6, 8


def frame(kind: int, length: int = 0) -> bytes:
    return length.to_bytes(3, "big") + bytes([kind, 0, 0, 0, 0, 1]) + b"\xff" * length


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[one:two] for one, two in pairwise(edges)]


@given(
    st.lists(st.binary(max_size=300), max_size=6),
    st.lists(st.integers(min_value=0, max_value=2000), max_size=8),
)
def test_messages_are_the_same_however_they_are_cut(
    messages: list[bytes], places: list[int]
) -> None:
    data = b"".join(prefix(len(one)) + one for one in messages)
    reader = MessageReader(limit=300)
    found = [message for part in cut(data, places) for message in reader.feed(part)]
    assert found == messages
    assert len(reader) == 0


def test_a_message_that_is_too_large_is_refused_by_its_prefix() -> None:
    reader = MessageReader(limit=10)
    assert list(reader.feed(prefix(10) + b"x" * 10)) == [b"x" * 10]
    with pytest.raises(CallRefused, match="11 bytes") as refused:
        list(reader.feed(prefix(11)))
    assert refused.value.code is StatusCode.RESOURCE_EXHAUSTED


@given(st.lists(st.integers(min_value=0, max_value=5000), max_size=12))
def test_frames_are_followed_however_they_are_cut(places: list[int]) -> None:
    good = PREFACE + frame(SETTINGS, 30) + frame(HEADERS, 1000) + frame(DATA, 3000) + frame(PING, 8)
    inspector = FrameInspector(burst=3, per_second=0, now=0)
    for part in cut(good, places):
        inspector.inspect(part, 0)
    with pytest.raises(Flood) as flood:  # two were paid for, and a quarter for the headers
        inspector.inspect(frame(PING, 8), 0)
    assert flood.value.error is ErrorCodes.ENHANCE_YOUR_CALM


def test_what_costs_work_is_paid_for_over_time() -> None:
    inspector = FrameInspector(burst=10, per_second=2, now=0)
    inspector.inspect(PREFACE, 0)
    for second in range(100):
        inspector.inspect(frame(PING, 8) * 2, second)
    inspector.inspect(frame(RESET, 4) * 2, 100)
    with pytest.raises(Flood):
        inspector.inspect(frame(DATA) * 11, 100)


def test_windows_that_are_opened_for_our_data_cost_nothing() -> None:
    inspector = FrameInspector(burst=5, per_second=0, now=0)
    inspector.inspect(PREFACE, 0)
    for _ in range(1000):
        inspector.sent()
        inspector.inspect(frame(WINDOW, 4) * 2, 0)
    with pytest.raises(Flood):
        inspector.inspect(frame(WINDOW, 4) * 2000, 0)


def test_a_frame_over_the_size_that_is_allowed_is_refused_by_its_header() -> None:
    inspector = FrameInspector(burst=5, per_second=0, now=0)
    inspector.inspect(PREFACE + frame(DATA, 16384), 0)
    with pytest.raises(Flood) as flood:
        inspector.inspect((16385).to_bytes(3, "big") + b"\0\0\0\0\0\1", 0)
    assert flood.value.error is ErrorCodes.FRAME_SIZE_ERROR


def test_words_of_a_status_survive_the_header() -> None:
    [code, message] = status_headers(StatusCode.INTERNAL, "50 % of 'ü'\n")
    assert code == ("grpc-status", "13")
    assert message == ("grpc-message", "50 %25 of '%C3%BC'%0A")


def certificate(*uris: str) -> dict[str, object]:
    return {
        "subjectAltName": (("DNS", "x"), *(("URI", uri) for uri in uris)),
        "notAfter": "Jan  5 09:34:43 2030 GMT",
        "serialNumber": "0ABC",
    }


def test_the_namespace_comes_from_the_uri_of_the_certificate() -> None:
    found = identify_client(certificate("https://elsewhere", client_uri("instance", "shop")))
    assert (found.service, found.namespace, found.serial) == ("instance", "shop", "abc")
    assert found.not_after == datetime(2030, 1, 5, 9, 34, 43, tzinfo=UTC)


@pytest.mark.parametrize(
    "uris",
    [
        (),
        ("spiffe://instance/ns/",),
        ("spiffe://instance/ns/shop/../other",),
        ("spiffe://instance/ns/shop/sa/default",),
        ("spiffe://instance/ns/Shop",),
        ("spiffe://instance/ns/shop\n",),
        ("spiffe://instance/ns/shop", "spiffe://instance/ns/other"),
        ("xspiffe://instance/ns/shop",),
    ],
)
def test_a_certificate_whose_namespace_is_not_clear_is_refused(uris: tuple[str, ...]) -> None:
    with pytest.raises(CallRefused, match="names no namespace") as refused:
        identify_client(certificate(*uris))
    assert refused.value.code is StatusCode.UNAUTHENTICATED


def test_no_certificate_is_refused() -> None:
    with pytest.raises(CallRefused, match="required"):
        identify_client(None)


@pytest.mark.parametrize(("service", "namespace"), [("a/b", "c"), ("a", "b/ns/c"), ("a", "")])
def test_a_uri_is_made_of_names_only(service: str, namespace: str) -> None:
    with pytest.raises(ValueError, match="not the name of an object"):
        client_uri(service, namespace)


def test_a_node_is_admitted_in_its_own_namespace_or_where_no_one_has_it() -> None:
    identity = identify_client(certificate(client_uri("instance", "shop")))
    assert admit_node(identity, "n", {"shop", "other"}) == ("shop", "n")
    assert admit_node(identity, "n", ()) == ("shop", "n")
    with pytest.raises(CallRefused, match="'shop', which has no node-id 'n'"):
        admit_node(identity, "n", {"other"})
    with pytest.raises(CallRefused, match="names no node-id"):
        admit_node(identity, "", ())


def test_requests_are_bounded_and_errors_cut() -> None:
    request = DiscoveryRequest(type_url="t", resource_names=["a", "a"], response_nonce="1")
    request.error_detail.message = "x" * 10_000
    request.node.id = "n"
    request.node.user_agent_name = "envoy"
    request.node.user_agent_build_version.version.major_number = 1
    request.node.user_agent_build_version.version.minor_number = 40
    found = read_state_request(request.SerializeToString())
    assert found.names == {"a"}
    assert found.error is not None
    assert len(found.error) == 2048
    assert found.node is not None
    assert found.node.user_agent == "envoy 1.40.0"
    request.resource_names.append("n" * 5000)
    with pytest.raises(Undecodable, match="5000 characters"):
        read_state_request(request.SerializeToString())
    with pytest.raises(Undecodable):
        read_delta_request(b"\xff\xff")


def test_a_rejection_without_words_is_one() -> None:
    request = DiscoveryRequest(type_url="t", response_nonce="1")
    request.error_detail.code = 3
    assert read_state_request(request.SerializeToString()).error == "code 3"
    request.error_detail.Clear()
    request.error_detail.SetInParent()
    assert read_state_request(request.SerializeToString()).error == "code 0"
