"""DATA frames that the h2 library does not see: the client cannot tell, whatever it sends."""

from collections.abc import Iterator, Sequence

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, Event, StreamEnded
from h2.settings import SettingCodes
from hpack import Encoder
from hyperframe.frame import (
    ContinuationFrame,
    DataFrame,
    Frame,
    HeadersFrame,
    PingFrame,
    PriorityFrame,
    RstStreamFrame,
    SettingsFrame,
    WindowUpdateFrame,
)
from hypothesis import given
from hypothesis import strategies as st

from certwright.clock import SYSTEM
from certwright.xds.access import ClientIdentity
from certwright.xds.grpc.call import GrpcCall
from certwright.xds.grpc.connection import GrpcConnection
from certwright.xds.grpc.dataframes import LARGEST_FRAME, plain_data
from certwright.xds.grpc.envelope import prefix
from certwright.xds.grpc.limits import GrpcLimits

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
WINDOW = 65_535
KEPT_BACK = 32_767 + 16_384
"""So much room at most is taken and not given back: what h2 keeps back, and what we do."""
IDENTITY = ClientIdentity("instance", "shop", "ab", SYSTEM.now())
HEADERS = {
    ":method": "POST", ":scheme": "https", ":path": "/echo", ":authority": "x",
    "content-type": "application/grpc", "te": "trailers",
}  # fmt: skip


def message(body: bytes) -> bytes:
    return prefix(len(body)) + body


class Echo:
    """Answers each message with as many bytes as its first four say, and notes what happens."""

    def __init__(self, call: GrpcCall, log: list[tuple[str, int, bytes]]) -> None:
        self._call = call
        self._log = log
        self._answers: list[bytes] = []
        self._done = False

    def receive(self, message: bytes) -> None:
        self._log.append(("message", self._call.stream_id, message))
        self._answers.append(b"a" * int.from_bytes(message[:4], "big"))

    def half_closed(self) -> None:
        self._log.append(("half closed", self._call.stream_id, b""))
        self._done = True

    def next_message(self) -> Sequence[bytes] | None:
        return [self._answers.pop(0)] if self._answers else None

    def has_news(self) -> bool:
        return bool(self._answers) or self._done

    def is_done(self) -> bool:
        return self._done

    def closed(self) -> None:
        self._log.append(("closed", self._call.stream_id, b""))


class Server:
    """A connection that echoes."""

    def __init__(self, limits: GrpcLimits | None = None) -> None:
        self.log: list[tuple[str, int, bytes]] = []
        self.connection = GrpcConnection(
            {"/echo": lambda call, _identity: Echo(call, self.log)}, IDENTITY, "peer",
            limits or GrpcLimits(message_bytes=30_000, buffered_bytes=40_000),
            wake=lambda: None, now=0,
            refused=lambda path, reason: self.log.append((f"refused {path} {reason}", 0, b"")),
        )  # fmt: skip

    def exchange(self, data: bytes) -> bytes:
        self.connection.receive(data, 0)
        parts = []
        while part := self.connection.take_output(room=True):
            parts.append(part)
        return b"".join(parts)


# What passes by


def data_frame(size: int, flags: Sequence[str] = (), stream_id: int = 1) -> bytes:
    return DataFrame(stream_id, b"x" * size, flags=flags).serialize()


def test_only_one_whole_frame_of_plain_data_passes() -> None:
    assert plain_data(data_frame(1)) == 1
    assert plain_data(data_frame(LARGEST_FRAME, stream_id=2**31 - 1)) == 2**31 - 1
    for other in [
        b"",
        data_frame(0),
        data_frame(LARGEST_FRAME + 1),
        data_frame(5, ["END_STREAM"]),
        data_frame(5, ["PADDED"]),
        data_frame(5)[:-1],
        data_frame(5) + b"\0",
        data_frame(5) * 2,
        PingFrame(0, b"12345678").serialize(),
        WindowUpdateFrame(1, 5).serialize(),
    ]:
        assert plain_data(other) == 0, other
    reserved = b"\x00\x00\x01\x00\x00\x80\x00\x00\x01x"
    assert plain_data(reserved) not in {0, 1}  # no call has such a number: it is h2's to judge


# The same as without


def frames() -> st.SearchStrategy[list[Frame]]:
    """Return what clients might send: mostly good, now and then not."""
    stream = st.sampled_from([1, 1, 3, 3, 5])
    body = st.builds(lambda size, more: size.to_bytes(4, "big") + b"m" * more,
                     st.sampled_from([0, 10, 20_000, 70_000]), st.integers(0, 40))  # fmt: skip
    odd = st.sampled_from([b"\0\0\0\0\5abc", b"\1\0\0\0\0", b"\0\xff\0\0\0", b"\0\0", b""])
    flags = st.sampled_from([[], [], [], [], ["END_STREAM"], ["PADDED"]])
    data = st.builds(
        lambda number, payload, marks: DataFrame(
            number, payload, flags=marks, pad_length=3 if "PADDED" in marks else 0
        ),
        stream,
        st.one_of(body.map(message), body.map(message), odd),
        flags,
    )
    others = st.one_of(
        st.builds(lambda number, code: RstStreamFrame(number, code), stream, st.just(8)),
        st.builds(lambda size: SettingsFrame(0, {4: size}), st.sampled_from([0, 9, 2**31 - 1])),
        st.builds(WindowUpdateFrame, st.sampled_from([0, 1, 3]), st.sampled_from([5, 2**31 - 1])),
        st.builds(lambda number: PriorityFrame(number, 0, 3), stream),
        st.just(PingFrame(0, b"12345678")),
        st.builds(lambda number: ContinuationFrame(number, b""), stream),
    )
    length = st.sampled_from([{}, {}, {}, {"content-length": "12"}])
    ends = st.sampled_from([["END_HEADERS"]] * 6 + [["END_HEADERS", "END_STREAM"], []])
    headers = st.builds(
        lambda number, more, marks: HeadersFrame(
            number, Encoder().encode(list((HEADERS | more).items())), flags=marks
        ),
        stream,
        length,
        ends,
    )
    good = HeadersFrame(3, Encoder().encode(list(HEADERS.items())), flags=["END_HEADERS"])
    first = headers.filter(lambda frame: frame.stream_id == 1).map(lambda frame: [frame, good])
    rest = st.lists(st.one_of(data, data, data, headers, others), max_size=12)
    return st.tuples(first, rest).map(lambda both: both[0] + both[1])


def parsed(data: bytes) -> Iterator[tuple[object, ...]]:
    """Yield the frames that a server sent, but for windows."""
    view = memoryview(data)
    while view:
        frame, length = Frame.parse_frame_header(view[:9])
        if not isinstance(frame, WindowUpdateFrame):
            yield type(frame), frame.stream_id, sorted(frame.flags), bytes(view[9 : 9 + length])
        view = view[9 + length :]


@given(frames())
def test_a_client_sees_the_same_whether_its_frames_pass_by_or_not(script: list[Frame]) -> None:
    parts = [PREFACE + SettingsFrame(0).serialize(), *(frame.serialize() for frame in script)]
    whole, cut = Server(), Server()
    for place, part in enumerate(parts):
        following = parts[place + 1] if place + 1 < len(parts) else b""
        other = part if place == 0 else part[1:]  # its first byte came with the frame before
        seen = list(parsed(whole.exchange(part)))
        assert seen == list(parsed(cut.exchange(other + following[:1])))
        assert whole.log == cut.log
        assert whole.connection.closing == cut.connection.closing
    assert whole.connection.open_calls == cut.connection.open_calls


# Windows


class Talk:
    """A client on the h2 library, which holds the server to the rules."""

    def __init__(self, limits: GrpcLimits | None = None, window: int = WINDOW) -> None:
        self.server = Server(limits)
        self.client = H2Connection(H2Configuration(client_side=True))
        self.client.initiate_connection()
        self.client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: window})

    def call(self, **more: str) -> int:
        stream_id = self.client.get_next_available_stream_id()
        added = {name.replace("_", "-"): value for name, value in more.items()}
        self.client.send_headers(stream_id, list((HEADERS | added).items()))
        return stream_id

    def exchange(self) -> list[Event]:
        return self.client.receive_data(self.server.exchange(self.client.data_to_send()))

    def send(self, stream_id: int, data: bytes, *, pad: int | None = None) -> list[Event]:
        self.client.send_data(stream_id, data, pad_length=pad)
        return self.exchange()


def received(events: list[Event]) -> int:
    return sum(len(event.data or b"") for event in events if isinstance(event, DataReceived))


@given(st.lists(st.tuples(st.integers(5, LARGEST_FRAME), st.booleans(), st.booleans()),
                min_size=20, max_size=40))  # fmt: skip
def test_a_client_always_has_room_for_one_more_frame(
    sent: list[tuple[int, bool, bool]],
) -> None:
    talk = Talk()
    calls = talk.call(), talk.call()
    talk.exchange()
    for size, second, padded in sent:  # those with padding are seen by h2
        room = min(talk.client.local_flow_control_window(call) for call in calls)
        assert WINDOW >= room >= WINDOW - KEPT_BACK >= LARGEST_FRAME
        body = message(b"\0" * max(0, size - 5 - padded))
        talk.send(calls[second], body, pad=0 if padded else None)
    assert not talk.server.connection.closing


def test_room_is_given_back_to_the_connection_also_for_calls_that_ended() -> None:
    talk = Talk()
    for _ in range(40):
        call = talk.call()
        talk.exchange()
        talk.send(call, message(b"\0" * 9_000))
        talk.client.reset_stream(call)
        talk.exchange()
    assert talk.client.outbound_flow_control_window >= WINDOW - KEPT_BACK
    assert not talk.server.connection.closing


def test_nothing_is_sent_over_the_window_of_the_client() -> None:
    talk = Talk(window=10_000)
    call = talk.call()
    talk.exchange()
    assert received(talk.send(call, message((30_000).to_bytes(4, "big")))) == 10_000
    talk.client.increment_flow_control_window(5_000, call)
    assert received(talk.exchange()) == 5_000
    talk.client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 4_000})  # below nothing
    talk.client.increment_flow_control_window(5_000, call)
    assert received(talk.exchange()) == 0
    talk.client.increment_flow_control_window(50_000, call)
    events = talk.exchange()
    assert received(events) == 30_005 - 15_000
    talk.client.end_stream(call)
    assert any(isinstance(event, StreamEnded) for event in talk.exchange())


def test_nothing_is_sent_over_the_window_of_the_connection() -> None:
    talk = Talk(window=2**20)
    calls = [talk.call() for _ in range(3)]
    talk.exchange()
    got = sum(received(talk.send(call, message((30_000).to_bytes(4, "big")))) for call in calls)
    assert got == WINDOW
    talk.client.increment_flow_control_window(2**20)
    assert received(talk.exchange()) == 3 * 30_005 - WINDOW


# What does not pass


@pytest.mark.parametrize("length", ["4", "400"])
def test_a_length_that_was_announced_is_held_to(length: str) -> None:
    talk = Talk()
    call = talk.call(content_length=length)
    talk.exchange()
    talk.client.send_data(call, message(b"\0" * 8))
    talk.client.end_stream(call)
    [end] = [one for one in talk.exchange() if isinstance(one, ConnectionTerminated)]
    assert end.error_code == ErrorCodes.PROTOCOL_ERROR


def opened() -> Server:
    """Return a server with an open call."""
    server = Server()
    headers = HeadersFrame(1, Encoder().encode(list(HEADERS.items())), flags=["END_HEADERS"])
    server.exchange(PREFACE + SettingsFrame(0).serialize() + headers.serialize())
    assert server.connection.open_calls == 1
    return server


@pytest.mark.parametrize("place", range(1, 10))
def test_what_looks_like_a_frame_inside_another_is_not_taken_for_one(place: int) -> None:
    server = opened()
    inner = DataFrame(1, message(b"\0\0\0\0")).serialize()
    outer = len(inner).to_bytes(3, "big") + b"\xfa\0\0\0\0\0" + inner  # of a kind that h2 ignores
    server.exchange(outer[:place])
    server.exchange(outer[place:])
    assert server.log == []
    server.exchange(outer[:9])
    server.exchange(inner)
    assert server.log == []
    server.exchange(inner)
    assert server.log == [("message", 1, b"\0\0\0\0")]


def test_what_follows_the_beginning_of_a_header_belongs_to_it() -> None:
    server = opened()
    server.exchange(b"\0")
    server.exchange(DataFrame(1, message(b"\0\0\0\0")).serialize())
    assert [what for what, _, _ in server.log] == ["refused  frame_size", "closed"]


def test_data_between_headers_ends_the_connection() -> None:
    server = opened()
    server.exchange(HeadersFrame(3, b"\x82").serialize())
    server.exchange(data_frame(5))
    assert server.connection.closing
    assert ("refused  protocol", 0, b"") in server.log


def test_data_after_the_end_of_a_call_ends_the_connection() -> None:
    server = opened()
    asked = message((70_000).to_bytes(4, "big"))  # more than there is room for
    server.exchange(DataFrame(1, asked, flags=["END_STREAM"]).serialize())
    assert server.connection.open_calls == 1
    server.exchange(DataFrame(1, asked).serialize())
    assert [what for what, _, _ in server.log] == ["message", "half closed", "closed"]
