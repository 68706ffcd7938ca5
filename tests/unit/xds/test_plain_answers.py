"""What is said to clients that speak HTTP but not gRPC: bytes in, bytes out."""

from collections.abc import Mapping

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, Event, ResponseReceived, StreamEnded
from h2.settings import SettingCodes

from certwright.xds.grpc.connection import GrpcConnection
from certwright.xds.grpc.limits import GrpcLimits
from certwright.xds.grpc.status import CallRefused, StatusCode

WORDS = b"Discovery services are served here, by gRPC only.\n"


class Talk:
    """A client and a connection that serves nothing."""

    def __init__(self, window: int = 65535) -> None:
        self.reasons: list[str] = []
        stranger = CallRefused(StatusCode.UNAUTHENTICATED, "stranger", "who?")
        self.server = GrpcConnection(
            {}, stranger, "peer", GrpcLimits(), wake=lambda: None,
            refused=lambda _path, reason: self.reasons.append(reason), now=0,
        )  # fmt: skip
        self.client = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.client.initiate_connection()
        self.client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})

    def call(self, method: str, *, end: bool = True, more: Mapping[str, str] | None = None) -> int:
        stream_id = self.client.get_next_available_stream_id()
        headers = {":method": method, ":scheme": "https", ":path": "/", ":authority": "x"}
        headers |= more or {}
        self.client.send_headers(stream_id, list(headers.items()), end_stream=end)
        return stream_id

    def exchange(self) -> list[Event]:
        self.server.receive(self.client.data_to_send(), 0)
        events: list[Event] = []
        while data := self.server.take_output(room=True):
            events += self.client.receive_data(data)
        return events


def status_of(events: list[Event]) -> str | None:
    for event in events:
        if isinstance(event, ResponseReceived):
            return dict[str, str](event.headers or ())[":status"]  # type: ignore[arg-type]
    return None


def body_of(events: list[Event]) -> bytes:
    return b"".join(event.data or b"" for event in events if isinstance(event, DataReceived))


def has_ended(events: list[Event]) -> bool:
    return any(isinstance(event, StreamEnded) for event in events)


@pytest.mark.parametrize(("method", "status"), [("GET", "405"), ("PUT", "405"), ("POST", "415")])
def test_what_is_not_grpc_is_told_so_in_words(method: str, status: str) -> None:
    talk = Talk()
    talk.call(method)
    events = talk.exchange()
    assert (status_of(events), body_of(events), has_ended(events)) == (status, WORDS, True)
    assert talk.reasons == ["not_grpc"]
    assert talk.server.open_calls == 0


def test_the_words_wait_for_room() -> None:
    talk = Talk(window=10)
    stream_id = talk.call("GET")
    events = talk.exchange()
    assert (body_of(events), has_ended(events)) == (WORDS[:10], False)
    talk.client.increment_flow_control_window(1000, stream_id)
    events = talk.exchange()
    assert (body_of(events), has_ended(events)) == (WORDS[10:], True)


def test_the_answer_to_head_has_no_words() -> None:
    talk = Talk()
    talk.call("HEAD")
    events = talk.exchange()
    assert (status_of(events), body_of(events), has_ended(events)) == ("405", b"", True)


def test_a_body_that_goes_on_is_not_waited_for() -> None:
    talk = Talk()
    stream_id = talk.call("PUT", end=False)
    talk.client.send_data(stream_id, b"not a message of gRPC")
    events = talk.exchange()
    assert (body_of(events), has_ended(events)) == (WORDS, True)
    assert talk.server.open_calls == 0
    talk.client.send_data(stream_id, b"and more of it", end_stream=True)
    assert talk.exchange() == []
    talk.call("GET")
    assert status_of(talk.exchange()) == "405"


def test_a_body_of_another_length_than_said_ends_the_connection_also_after_the_answer() -> None:
    talk = Talk()
    stream_id = talk.call("POST", end=False, more={"content-length": "1"})
    assert status_of(talk.exchange()) == "415"
    talk.client.send_data(stream_id, b"more than one", end_stream=True)
    [end] = talk.exchange()
    assert isinstance(end, ConnectionTerminated)
    assert end.error_code == ErrorCodes.PROTOCOL_ERROR
